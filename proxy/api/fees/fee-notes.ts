/**
 * Keeps the openings of fee notes before the attestation of their statement leaves the house: whoever holds
 * that can have the statement executed. What is not executed by its deadline is forgotten again.
 */
import type { ChainDataStore } from "../../base/store/chain-data.ts";
import type { FeeNote, FeeNoteStore } from "../../base/store/fee-notes.ts";

/** A day after its deadline no reorganisation brings a statement back. */
const DOUBT_SECS = 24 * 3600;
/** Each keep settles up to so many old statements, so those that came to nothing cannot pile up. */
const SWEEP = 8;

export type FeeNotes = ReturnType<typeof createFeeNotes>;

export function createFeeNotes(store: FeeNoteStore, data: Pick<ChainDataStore, "tip" | "execution">) {
  return {
    /** Resolves when they are on disk. */
    async keep(notes: readonly FeeNote[]): Promise<void> {
      if (notes.length === 0) return;
      await store.keep(notes);
      // By the chain's time: while the index is being rebuilt nothing is past, and nothing is forgotten.
      const tip = data.tip();
      if (tip === undefined) return;
      const old = await store.unsettled(tip.timestamp - DOUBT_SECS, SWEEP);
      if (old.length === 0) return;
      await store.settle(
        old.map((statement) => ({ statement, executed: data.execution(statement) !== undefined })),
      );
    },
  };
}

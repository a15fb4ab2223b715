// The attester at work: looks at each chain in turn, signs what is due and keeps the book. It waits for the chains'
// own blocks; its clock only says when to look again.
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CctpMessage } from "../../../../shared/protocol/host/cctp.ts";
import { RpcError } from "../json-rpc.ts";
import { StateFile } from "../state-file.ts";
import { altchainSource } from "./altchain-source.ts";
import type { AttesterApi } from "./api.ts";
import { afterLook, afterReattest, bookShape, EMPTY_BOOK, type Attesting, type Book } from "./book.ts";
import type { Terms } from "./completing.ts";
import { evmSource } from "./evm-source.ts";
import { openKeys } from "./keys.ts";
import { fastFeeBps, type AttesterSettings } from "./settings.ts";
import type { Source } from "./sources.ts";

export interface Attester extends AttesterApi {
  /** Ends after the look that is under way. */
  stop(): Promise<void>;
}

/** `onFault`: a look failed; it is made again. */
export async function runAttester(
  folder: string,
  settings: AttesterSettings,
  onFault: (domain: number, error: unknown) => void,
): Promise<Attester> {
  const keys = await openKeys(folder);
  const file = new StateFile(path.join(folder, "book.json"), bookShape);
  let book: Book = (await file.load()) ?? EMPTY_BOOK;
  let awayUntil = 0;
  let isStopping = false;
  const sources: readonly Source[] = [
    ...settings.chains.map(evmSource),
    ...(settings.altchain === null ? [] : [altchainSource(settings.altchain, settings.chains)]),
  ];
  const blocks = new Map<number, number>();

  const attesting: Attesting = {
    attest: keys.attest,
    termsFor: ({ sourceDomain, destinationDomain }: CctpMessage): Terms => ({
      fastFeeBps: fastFeeBps(settings, sourceDomain, destinationDomain),
      destinationBlock: blocks.get(destinationDomain),
      expiresAfterBlocks: settings.expires_after_blocks,
    }),
  };

  // One change after the other: each is made from the book that the one before it left.
  let last: Promise<unknown> = Promise.resolve();
  function change(next: (book: Book) => Book | undefined): Promise<boolean> {
    const done = last.then(async () => {
      const changed = next(book);
      if (changed === undefined) return false;
      if (changed !== book) await file.save(changed);
      book = changed;
      return true;
    });
    last = done.catch(() => undefined);
    return done;
  }

  const isAway = (): boolean => Date.now() / 1_000 < awayUntil;

  async function lookAt(source: Source): Promise<void> {
    try {
      const look = await source.look(book.positions[String(source.domain)]);
      blocks.set(source.domain, look.block);
      if (!isAway()) await change((now) => afterLook(now, source.domain, look, attesting));
    } catch (error) {
      // Of a chain that is away nobody knows the block, and an expiry reckoned from an old one may lie behind it.
      blocks.delete(source.domain);
      if (!(error instanceof RpcError)) throw error;
      onFault(source.domain, error);
    }
  }

  async function work(): Promise<void> {
    while (!isStopping) {
      if (!isAway()) await Promise.all(sources.map(lookAt));
      await sleep(settings.poll_ms);
    }
  }
  const working = work();

  return {
    settings,
    publicKeys: keys.publicKeys,
    entries: () => book.entries,
    isAway,
    away: (until) => {
      awayUntil = until;
    },
    reattest: async (nonce) => {
      if (!book.entries.some((one) => one.nonce === nonce && one.on_chain)) return "unknown";
      return (await change((now) => afterReattest(now, nonce, attesting))) ? "done" : "refused";
    },
    stop: async () => {
      isStopping = true;
      await working;
      await last;
    },
  };
}

// What honest people do when no service is left: they read their notes from the chain, prove on their device, and send
// the proof itself. Uses the client library's statements, and the watcher's tree for the paths.
import type { Fees } from "../../../shared/client/statements/fees.ts";
import { parseSnarkjsProof, encodeProof } from "../../../shared/protocol/host/proofs.ts";
import { readExecuted } from "../../../shared/protocol/host/executed-log.ts";
import {
  prepareSpend,
  type SpendInput,
  type SpendPlan,
} from "../../../shared/client/statements/statements.ts";
import { applyEvent } from "../../../shared/client/history/scanner.ts";
import { WalletState, type OwnedNote } from "../../../shared/client/state/state.ts";
import type { SpendingKey } from "../../../shared/notes/keys.ts";
import { mustField, type Field } from "../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import type { Ledger } from "../../watch/ledger.ts";
import { unsigned, type PoolTransaction } from "../../stack/pool-transaction.ts";
import type { StolenKeyStage as Stage } from "./stage.ts";

export const NO_FEES: Fees = { service: undefined, developer: undefined, total: 0n };
const HOUR_SECS = 3_600;

/** By the chain's clock, which the demonstration puts forward. */
export async function deadlineOf(stage: Stage): Promise<number> {
  return (await stage.now()) + HOUR_SECS;
}

/** Unspent, and in the tree: a leaf that is void is nobody's. */
export async function notesOf(stage: Stage, { viewing }: SpendingKey): Promise<OwnedNote[]> {
  const { deployment_block: fromBlock, pool: address } = stage.entry;
  const state = new WalletState();
  for (const log of await stage.chain.getLogs({ address, fromBlock, toBlock: "latest" })) {
    const executed = readExecuted(log);
    if (executed === undefined) continue;
    const at = { tx_hash: log.transactionHash, block_number: log.blockNumber };
    for (const [output, commitment] of executed.commitments.entries()) {
      const sealed = {
        ephemeral_key: toHex(executed.ephemeralKey),
        ciphertext: toHex(executed.ciphertexts[output]!),
      };
      const source = executed.kind === "deposit-shield" ? "deposit" : "spend";
      const leaf = { index: executed.firstLeafIndex + output, commitment: toHex(word(commitment)), output };
      applyEvent(state, viewing, {
        kind: "leaf",
        id: undefined,
        data: { ...leaf, ...sealed, source, ...at },
      } as never);
    }
  }
  const unspent: OwnedNote[] = [];
  for (const note of state.notes.values()) {
    const isGone =
      (await stage.ask<boolean>("isSpent", note.nullifier)) ||
      (await stage.ask<boolean>("isVoid", note.leafIndex));
    if (!isGone) unspent.push(note);
  }
  return unspent;
}

export async function balanceOf(stage: Stage, keys: SpendingKey): Promise<bigint> {
  return (await notesOf(stage, keys)).reduce((sum, { value }) => sum + value, 0n);
}

/** From the largest note, under the newest root, with the proof that the pool itself verifies. */
export async function payAlone(
  stage: Stage,
  ledger: Ledger,
  keys: SpendingKey,
  payment: SpendPlan["payment"],
): Promise<PoolTransaction> {
  const notes = (await notesOf(stage, keys)).filter(
    ({ leafIndex }) => BigInt(leafIndex) < ledger.rootedCount,
  );
  const [note] = notes.sort((a, b) => (a.value < b.value ? 1 : -1));
  if (note === undefined) throw new Error("no note in the tree");
  const inputs = [{ note, path: ledger.tree.path(note.leafIndex) }];
  return proved(stage, { keys, root: mustField(ledger.roots.newest.announced), inputs, payment });
}

interface Plan {
  readonly keys: SpendingKey;
  readonly root: Field;
  readonly inputs: readonly SpendInput[];
  readonly payment: SpendPlan["payment"];
}

export async function proved(stage: Stage, plan: Plan): Promise<PoolTransaction> {
  const { home, usdc: asset } = stage;
  const deadline = await deadlineOf(stage);
  const { statement, witness } = prepareSpend({ ...plan, home, asset, fees: NO_FEES, deadline });
  const proof = parseSnarkjsProof(await (await stage.prover()).prove(statement, witness));
  if (proof === undefined) throw new Error("the prover gave no proof");
  return { ...unsigned(statement, encodeProof(proof)), attestations: "0x" };
}

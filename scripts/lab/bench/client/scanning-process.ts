// A wallet that reads other people's outputs, and one of its own now and then, in a process of its own. What a stream's text
// costs to parse is not in it.
import { x25519 } from "@noble/curves/ed25519.js";
import type { StreamEvent } from "../../../../shared/api/data.ts";
import { applyEvent, prepareEvent, verifiedRoot } from "../../../../shared/client/history/scanner.ts";
import { WalletState } from "../../../../shared/client/state/state.ts";
import { OutputSealer } from "../../../../shared/notes/encryption.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { NoteTree } from "../../../../shared/notes/merkle.ts";
import { noteCommitment, randomField } from "../../../../shared/notes/note.ts";
import type { Address, Field } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";
import { CIPHERTEXT_BYTES, KINDS } from "../../../../shared/protocol/statements.ts";
import { answer } from "../answering.ts";

export type ScanQuestion = { readonly type: "make"; readonly outputs: number } | { readonly type: "scan" };

export interface Scanned {
  readonly outputs: number;
  /** Found among them. */
  readonly own: number;
  readonly cpuSeconds: number;
  /** Of this process since it began, the events included. */
  readonly peakMb: number;
}

const IN_STATEMENT = KINDS.spend.leaves;
/** One statement in so many pays this wallet. */
const OWN_EVERY = 250;
/** Leaves between two looks at the root, as a proxy's full call leaves them. */
const ROOT_EVERY = 256;
const ASSET = `0x${"bb".repeat(20)}` as Address;

const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(4)).viewing;
/** With the roots that a service tells of: what it takes to find them is not the wallet's work. */
let events: StreamEvent[] = [];
let outputs = 0;
let own = 0;

answer(async (question: ScanQuestion): Promise<Scanned> => {
  if (question.type === "make") make(question.outputs);
  const began = process.cpuUsage();
  const state = new WalletState();
  if (question.type === "scan") {
    for (const event of events) {
      await prepareEvent(keys, event);
      applyEvent(state, keys, event);
    }
    // As a wallet does when it has caught up: the newest root is over all that came before.
    if (verifiedRoot(state) === undefined) throw new Error("no root was told");
    if (state.notes.size !== own)
      throw new Error(`found ${String(state.notes.size)} of ${String(own)} notes`);
  }
  const { user, system } = process.cpuUsage(began);
  return {
    ...{ outputs, own: state.notes.size, cpuSeconds: (user + system) / 1e6 },
    peakMb: process.resourceUsage().maxRSS / 1e3,
  };
});

function make(count: number): void {
  events = [];
  [outputs, own] = [0, 0];
  const tree = new NoteTree();
  while (outputs < count) {
    for (const { event, commitment } of statement(outputs)) {
      events.push(event);
      tree.append(commitment);
      outputs += 1;
      if (outputs % ROOT_EVERY !== 0) continue;
      const root = toHex(word(tree.root(outputs)));
      const block = blockOf(outputs - 1);
      events.push({
        ...{ kind: "root", id: `${String(block)}-0-1.0` },
        data: { root, leaf_count: outputs, block_number: block },
      });
    }
  }
}

const blockOf = (leaf: number): number => 1 + Math.floor(leaf / ROOT_EVERY);

/** The outputs of one statement: all of strangers, or the first one ours. */
function statement(first: number): { readonly event: StreamEvent; readonly commitment: Field }[] {
  const isOurs = (first / IN_STATEMENT) % OWN_EVERY === 0;
  const sealer = new OutputSealer();
  const ephemeralKey = isOurs
    ? sealer.ephemeralKey
    : x25519.getPublicKey(crypto.getRandomValues(new Uint8Array(32)));
  return Array.from({ length: IN_STATEMENT }, (_, output) => {
    let commitment = randomField();
    let ciphertext: Uint8Array = crypto.getRandomValues(new Uint8Array(CIPHERTEXT_BYTES));
    if (isOurs && output === 0) {
      commitment = noteCommitment(keys.owner, sealer.seal(keys.address, ASSET, 5n));
      ciphertext = sealer.ciphertexts[0]!;
      own += 1;
    }
    const index = first + output;
    const event: StreamEvent = {
      kind: "leaf",
      id: `${String(blockOf(index))}-0-0.${String(index)}`,
      data: {
        ...{ index, commitment: toHex(word(commitment)), ephemeral_key: toHex(ephemeralKey), output },
        ...{ ciphertext: toHex(ciphertext), source: "spend", tx_hash: toHex(word(1n)) },
        block_number: blockOf(index),
      },
    };
    return { event, commitment };
  });
}

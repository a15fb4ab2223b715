// What a thief does with one signing key: it vouches for whatever it likes, and the pool believes it.
import { bn254 } from "@noble/curves/bn254.js";
import {
  prepareDeposit,
  prepareSpend,
  type SpendInput,
  type SpendPlan,
} from "../../../shared/client/statements/statements.ts";
import type { Fees } from "../../../shared/client/statements/fees.ts";
import { NoteTree } from "../../../shared/notes/merkle.ts";
import { newNote, noteCommitment, type Note } from "../../../shared/notes/note.ts";
import { SpendingKey, newSeed } from "../../../shared/notes/keys.ts";
import { mustField, type Address, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import { encodeProof, parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { compressProof } from "../../../shared/protocol/proof.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { nextHead, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { committedKeyHashes } from "../../deploy/pool.ts";
import type { Ledger } from "../../watch/ledger.ts";
import {
  attested,
  attester,
  sealUpdate,
  unsigned,
  type PoolRootUpdate,
  type PoolTransaction,
} from "../../stack/pool-transaction.ts";
import type { StolenKeyStage as Stage } from "./stage.ts";

const NO_FEES: Fees = { service: undefined, developer: undefined, total: 0n };
const HOUR_SECS = 3_600;

/** Points of the curve that satisfy no equation: the form is right, so only a pairing tells. */
export const NO_PROOF = compressProof({
  a: [1n, 2n],
  b: [pair(bn254.G2.Point.BASE.x), pair(bn254.G2.Point.BASE.y)],
  c: [1n, 2n],
});

function pair({ c0, c1 }: { readonly c0: bigint; readonly c1: bigint }): [bigint, bigint] {
  return [c0, c1];
}

export class Thief {
  /** The stolen key. */
  readonly signer = attester(666);
  readonly seed = newSeed();
  readonly keys = SpendingKey.fromSeed(this.seed);
  readonly #stage: Stage;
  readonly #keyHash: Bytes32;

  private constructor(stage: Stage, keyHash: Bytes32) {
    this.#stage = stage;
    this.#keyHash = keyHash;
  }

  static async of(stage: Stage): Promise<Thief> {
    return new Thief(stage, (await committedKeyHashes()).spend);
  }

  /** Of a note that is nowhere, with a proof that proves nothing, under the stolen key's word. */
  async forge(payment: SpendPlan["payment"]): Promise<PoolTransaction> {
    const { home, usdc } = this.#stage;
    const path = Array.from({ length: TREE_DEPTH }, () => Array.from({ length: 3 }, () => mustField(0n)));
    const note = { ...newNote(usdc, payment.value), leafIndex: 0 };
    const [root] = await this.#stage.ask<[bigint]>("currentRoot");
    const { statement } = prepareSpend({
      ...(await this.#terms()),
      ...{ root: mustField(root), inputs: [{ note, path }], payment },
    });
    return attested(home, this.#keyHash, unsigned(statement, NO_PROOF), [this.signer]);
  }

  /** Somebody else's deposit, which is true, with a proof that proves nothing. */
  async spoil(seed: Uint8Array, depositor: Address, amount: bigint): Promise<PoolTransaction> {
    const { home } = this.#stage;
    const terms = await this.#terms();
    const { statement } = prepareDeposit({
      ...{ ...terms, keys: SpendingKey.fromSeed(seed), amount, depositor },
      ...{ validAfter: 0, validBefore: terms.deadline + 1 },
    });
    const keyHash = (await committedKeyHashes())["deposit-shield"];
    return attested(home, keyHash, unsigned(statement, NO_PROOF), [this.signer]);
  }

  /** With a true proof of what is under this root. */
  async prove(plan: Pick<SpendPlan, "root" | "inputs" | "payment">): Promise<PoolTransaction> {
    const { statement, witness } = prepareSpend({ ...(await this.#terms()), ...plan });
    const proof = parseSnarkjsProof(await (await this.#stage.prover()).prove(statement, witness));
    if (proof === undefined) throw new Error("the prover gave no proof");
    return { ...unsigned(statement, encodeProof(proof)), attestations: "0x" };
  }

  /** Over the leaves of this one too: the queue is as it is, but in the tree the last leaf is a note of the thief's. */
  forgeRoot(
    ledger: Ledger,
    { signals }: PoolTransaction,
    value: bigint,
  ): { readonly update: PoolRootUpdate; readonly root: Field; readonly input: SpendInput } {
    const more = signals.slice(-KINDS.spend.outputs).map(mustField);
    const leaves = [...ledger.leavesBetween(0, Number(ledger.leafCount)), ...more];
    const note: Note = newNote(this.#stage.usdc, value);
    const tree = new NoteTree();
    for (const leaf of [...leaves.slice(0, -1), noteCommitment(this.keys.owner, note)]) tree.append(leaf);
    const leafIndex = leaves.length - 1;
    const message = {
      ...{ oldRoot: mustField(ledger.roots.newest.announced), newRoot: tree.root() },
      ...{ fromIndex: ledger.rootedCount, toIndex: BigInt(leaves.length) },
      ...{ headBefore: ledger.rootedHead, headAfter: more.reduce<Bytes32>(nextHead, ledger.head) },
    };
    return {
      update: sealUpdate(this.#stage.home, message, [this.signer]),
      root: message.newRoot,
      input: { note: { ...note, leafIndex }, path: tree.path(leafIndex, leaves.length) },
    };
  }

  /** The deadline by the chain's clock, which the demonstration puts forward. */
  async #terms() {
    const { home, usdc: asset } = this.#stage;
    const deadline = (await this.#stage.now()) + HOUR_SECS;
    return { home, keys: this.keys, asset, fees: NO_FEES, deadline };
  }
}

/**
 * A history of the pool as an indexer logs it, made without a chain: statements of strangers, payments to a wallet, what it
 * spends, credited notes, roots and refutations. What a test does not say is drawn at random.
 */
import { randomBytes } from "node:crypto";
import { CommitmentTree } from "../../proxy/api/merkle/tree.ts";
import type {
  ChainDataStore,
  ChainEvent,
  IndexedBlock,
  LoggedEvent,
  NoteOpening,
} from "../../proxy/base/store/chain-data.ts";
import type { ShieldedAddress } from "../../shared/notes/address.ts";
import { OutputSealer } from "../../shared/notes/encryption.ts";
import { noteCommitment, npkOf, randomField } from "../../shared/notes/note.ts";
import type { Address, Bytes32, Field } from "../../shared/protocol/brands.ts";
import { toBytes32 } from "../../shared/protocol/bytes.ts";
import { emptyNode } from "../../shared/protocol/tree.ts";

export const ASSET = `0x${"bb".repeat(20)}` as Address;

export interface MadeBlock {
  readonly block: IndexedBlock;
  readonly events: readonly LoggedEvent[];
}

/** Undefined: of a stranger. */
export type Payee = { readonly to: ShieldedAddress; readonly value: bigint } | undefined;

export interface MadeStatement {
  readonly statement: Bytes32;
  readonly firstLeafIndex: number;
  readonly leafCount: number;
  readonly nullifiers: readonly Field[];
  readonly commitments: readonly Field[];
}

const hash = (): Bytes32 => toBytes32(randomBytes(32));

export class MadeHistory {
  readonly blocks: MadeBlock[] = [];
  /** As the pool has it: a void leaf is empty. */
  readonly tree = new CommitmentTree();
  #events: { readonly txHash: Bytes32; readonly event: ChainEvent }[] = [];
  #txHash = hash();
  #sequence = 0;

  get height(): number {
    return this.blocks.at(-1)?.block.number ?? 0;
  }

  /** Its nullifiers are drawn unless they are given. */
  statement(payees: readonly Payee[], spent?: readonly Field[]): MadeStatement {
    this.#txHash = hash();
    // Its key is a point and takes a millisecond: of strangers any bytes do.
    const sealer = payees.some((payee) => payee !== undefined)
      ? new OutputSealer(randomBytes(32))
      : undefined;
    const ephemeralKey = sealer?.ephemeralKey ?? randomBytes(32);
    const nullifiers = spent ?? [randomField(), randomField()];
    const firstLeafIndex = this.tree.leafCount;
    const made = payees.map((payee) => sealed(sealer, payee));
    const about = {
      statement: hash(),
      firstLeafIndex,
      leafCount: made.length,
      nullifiers,
      proofHash: hash(),
    };
    this.#log({ kind: "executed", ...about });
    for (const nullifier of nullifiers) this.#log({ kind: "nullifier", nullifier });
    for (const [output, { commitment, ciphertext }] of made.entries()) {
      this.#leaf({
        ...{ kind: "leaf", index: firstLeafIndex + output, commitment, source: "spend" },
        sealed: { ephemeralKey, output, ciphertext },
        isLast: output === made.length - 1,
      });
    }
    return { ...about, commitments: made.map(({ commitment }) => commitment) };
  }

  /** A note that the pool hashed itself. */
  credit(to: ShieldedAddress, value: bigint): void {
    this.#txHash = hash();
    const sealer = new OutputSealer(randomBytes(32));
    const { blinding } = sealer.seal(to, ASSET, 0n);
    const opening: NoteOpening = { npk: npkOf(to.owner, blinding), asset: ASSET, value };
    this.#leaf({
      ...{ kind: "leaf", index: this.tree.leafCount, source: "forwarder", isLast: true, opening },
      commitment: noteCommitment(to.owner, { asset: ASSET, value, blinding }),
      sealed: { ephemeralKey: sealer.ephemeralKey, output: 0, ciphertext: sealer.ciphertexts[0]! },
    });
  }

  refute({ statement, firstLeafIndex, leafCount, nullifiers }: MadeStatement): void {
    this.#txHash = hash();
    this.#log({ kind: "voided", statement, firstLeafIndex, leafCount, nullifiers });
    for (let i = 0; i < leafCount; i++) this.tree.replace(firstLeafIndex + i, emptyNode(0));
  }

  /** Over the first so many leaves. */
  root(leafCount = this.tree.leafCount): void {
    this.#log({
      ...{ kind: "root", root: this.tree.root(leafCount), leafCount, sequence: ++this.#sequence },
    });
  }

  /** All that was made since the last one, in a block of its own. */
  mine(): void {
    const number = this.height + 1;
    const block = { number, hash: hash(), timestamp: number };
    const events = this.#events.map(({ txHash, event }, logIndex): LoggedEvent => ({
      ...{ position: { block: number, logIndex, part: 0 }, blockHash: block.hash, txHash, event },
    }));
    this.#events = [];
    this.blocks.push({ block, events });
  }

  /** Statements of strangers, four leaves each, so many in a block, a root in each block. */
  strangers(statements: number, inBlock = 8): void {
    for (let left = statements; left > 0; left -= inBlock) {
      for (let i = 0; i < Math.min(left, inBlock); i++)
        this.statement([undefined, undefined, undefined, undefined]);
      this.root();
      this.mine();
    }
  }

  /** Blocks without an event. */
  pass(blocks: number): void {
    for (let i = 0; i < blocks; i++) this.mine();
  }

  #leaf(event: Extract<ChainEvent, { kind: "leaf" }>): void {
    this.tree.append(event.commitment);
    this.#log(event);
  }

  #log(event: ChainEvent): void {
    this.#events.push({ txHash: this.#txHash, event });
  }
}

/** As an indexer does, so many blocks at once. */
export async function appendTo(
  data: Pick<ChainDataStore, "append">,
  blocks: readonly MadeBlock[],
  atOnce = 7,
): Promise<void> {
  for (let at = 0; at < blocks.length; at += atOnce) {
    const some = blocks.slice(at, at + atOnce);
    await data.append(
      some.map(({ block }) => block),
      some.flatMap(({ events }) => events),
    );
  }
}

function sealed(
  sealer: OutputSealer | undefined,
  payee: Payee,
): { commitment: Field; ciphertext: Uint8Array } {
  if (payee === undefined || sealer === undefined) {
    // A place is taken all the same: what follows is sealed for the next one.
    sealer?.seal({ owner: randomField(), viewingKey: sealer.ephemeralKey }, ASSET, 1n);
    return { commitment: randomField(), ciphertext: randomBytes(53) };
  }
  const note = sealer.seal(payee.to, ASSET, payee.value);
  return { commitment: noteCommitment(payee.to.owner, note), ciphertext: sealer.ciphertexts.at(-1)! };
}

/**
 * What a validator of Hyperlane signs: that a message is in the tree of messages of its chain, under which root and at
 * which place. The tree is computed here from the chain's events, not asked for.
 */
import { concat, getBytes, keccak256, solidityPacked, zeroPadValue, type Wallet } from "ethers";

const DEPTH = 32;
const EMPTY = `0x${"00".repeat(32)}`;
const pair = (left: string, right: string): string => keccak256(concat([left, right]));

/** Hashes of empty subtrees, by height. */
const ZEROS = Array.from({ length: DEPTH - 1 }).reduce<string[]>(
  (zeros) => [...zeros, pair(zeros.at(-1)!, zeros.at(-1)!)],
  [EMPTY],
);

export class MessageTree {
  readonly #branch: string[] = [...ZEROS];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  insert(leaf: string): void {
    this.#count += 1;
    let node = leaf;
    for (let height = 0, size = this.#count; height < DEPTH; height += 1, size >>>= 1) {
      if ((size & 1) === 1) {
        this.#branch[height] = node;
        return;
      }
      node = pair(this.#branch[height]!, node);
    }
  }

  root(): string {
    return ZEROS.reduce(
      (node, zero, height) =>
        ((this.#count >>> height) & 1) === 1 ? pair(this.#branch[height]!, node) : pair(node, zero),
      EMPTY,
    );
  }
}

export interface Checkpoint {
  /** Domain of the chain that the message leaves. */
  readonly origin: number;
  readonly merkleTreeHook: string;
  readonly root: string;
  readonly index: number;
  readonly messageId: string;
}

/** What the receiving mailbox is given beside the message: checkpoint and signature. */
export function signedMetadata(checkpoint: Checkpoint, validator: Wallet): string {
  const { origin, merkleTreeHook, root, index, messageId } = checkpoint;
  const hook = zeroPadValue(merkleTreeHook, 32);
  const domain = keccak256(solidityPacked(["uint32", "bytes32", "string"], [origin, hook, "HYPERLANE"]));
  const digest = keccak256(
    solidityPacked(["bytes32", "bytes32", "uint32", "bytes32"], [domain, root, index, messageId]),
  );
  const signature = validator.signMessageSync(getBytes(digest));
  return solidityPacked(["bytes32", "bytes32", "uint32", "bytes"], [hook, root, index, signature]);
}

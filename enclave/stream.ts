/**
 * What goes between the program and a verifying process, of whichever verifier: messages both ways, each length[4]
 * big-endian and so many bytes. The first sets the process up and is answered by an empty one; the others are batches.
 */
import { bytesToUint, concatBytes, uintToBytes } from "../shared/protocol/bytes.ts";

/** Of randomness for each claim of a batch. */
export const WEIGHT_BYTES = 16;

/** The program's half of a verifier. */
export interface VerifierKind<Claim, Verdict> {
  readonly setUp: Uint8Array;
  /** Of randomness 16 bytes a claim, drawn after the claims were fixed; without it each is verified alone. */
  encode(claims: readonly Claim[], randomness: Uint8Array | undefined): Uint8Array;
  /** One verdict a claim; undefined for all else. A verifier reads hostile bytes, so what it answers is hostile. */
  decode(answer: Uint8Array, claims: readonly Claim[]): readonly Verdict[] | undefined;
}

export function framed(message: Uint8Array): Uint8Array {
  return concatBytes(uintToBytes(BigInt(message.length), 4), message);
}

/** Cuts a stream into messages. What it holds back is bounded by the longest of them and one chunk. */
export class MessageSplitter {
  readonly #mostBytes: number;
  #held: Uint8Array = new Uint8Array(0);

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The messages that became complete; undefined when a longer one than may be is announced. */
  push(chunk: Uint8Array): Uint8Array[] | undefined {
    this.#held = concatBytes(this.#held, chunk);
    const messages: Uint8Array[] = [];
    while (this.#held.length >= 4) {
      const end = 4 + Number(bytesToUint(this.#held.subarray(0, 4)));
      if (end > 4 + this.#mostBytes) return undefined;
      if (this.#held.length < end) break;
      messages.push(this.#held.slice(4, end));
      this.#held = this.#held.slice(end);
    }
    return messages;
  }
}

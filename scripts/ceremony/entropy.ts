// Where a contribution's secret comes from: always the operating system, and on top of it whatever the party
// types or pipes in, so that a weak generator alone does not give the secret away. Nothing secret passes
// through arguments or environment, which other programs of the machine can read.

import { createHash, randomBytes } from "node:crypto";

interface Terminal extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
  setRawMode?(mode: boolean): unknown;
}

const ENTER = 0x0d;
const NEWLINE = 0x0a;
const END_OF_INPUT = 0x04;
const INTERRUPT = 0x03;
const BACKSPACE = 0x7f;
const MOST_BYTES = 65_536;

/** One line from a terminal without showing it; from anything else all there is. Undefined when interrupted. */
export async function readUnseen(input: Terminal, prompt: () => void): Promise<Buffer | undefined> {
  const isTerminal = input.isTTY === true && input.setRawMode !== undefined;
  const collected = Buffer.alloc(MOST_BYTES);
  let length = 0;
  if (isTerminal) {
    // Raw before the question: what somebody types ahead must not be shown either.
    input.setRawMode?.(true);
    prompt();
  }
  try {
    for await (const chunk of input) {
      const bytes = chunk as Buffer;
      for (const byte of bytes) {
        if (isTerminal && byte === INTERRUPT) {
          bytes.fill(0);
          collected.fill(0);
          return undefined;
        }
        if (isTerminal && [ENTER, NEWLINE, END_OF_INPUT].includes(byte)) {
          bytes.fill(0);
          return take(collected, length);
        }
        if (isTerminal && byte === BACKSPACE) length = Math.max(0, length - 1);
        else if (length < MOST_BYTES) collected[length++] = byte;
      }
      bytes.fill(0);
    }
    return take(collected, length);
  } finally {
    if (isTerminal) input.setRawMode?.(false);
  }
}

function take(collected: Buffer, length: number): Buffer {
  const taken = Buffer.from(collected.subarray(0, length));
  collected.fill(0);
  return taken;
}

/** Fresh for every circuit. snarkjs hashes it once more, together with 64 bytes of its own from the system. */
export function drawEntropy(circuit: string, own: Buffer | undefined): string {
  const system = randomBytes(64);
  const hash = createHash("sha512").update(system).update(circuit);
  if (own !== undefined) hash.update(own);
  system.fill(0);
  return hash.digest("hex");
}

/**
 * The program of one verifying process: keys come first, then batches of claims; each message is answered by one. It
 * holds no signing key, is the only place where bn254.wasm runs, and has a user of its own and nothing but descriptor 3,
 * a stream to the program that asked for it, which it trusts.
 */
import { Socket } from "node:net";
import { answerOf, readBatch, readKeys } from "./claims.ts";
import { framed, MessageSplitter } from "./stream.ts";
import { buildGroth16, type Groth16 } from "./verify.ts";

const program = new Socket({ fd: 3, readable: true, writable: true });
const splitter = new MessageSplitter(2 ** 32);
let groth16: Groth16 | undefined;

// It ends with the stream: nobody is left to answer.
for await (const chunk of program as AsyncIterable<Uint8Array>) {
  for (const message of splitter.push(chunk) ?? []) {
    if (groth16 === undefined) {
      groth16 = await buildGroth16(readKeys(message));
      program.write(framed(new Uint8Array(0)));
      continue;
    }
    const { claims, randomness } = readBatch(message);
    program.write(framed(answerOf(groth16.verdicts(claims, randomness))));
  }
}

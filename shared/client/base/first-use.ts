/**
 * What hashes and curves compute when they are first used: constants and tables, ten to thirty milliseconds each. Opening a
 * wallet needs nearly all of them, and one after the other would be one long task; here each is a piece of its own.
 * Nothing secret is in it.
 */
import { x25519 } from "@noble/curves/ed25519.js";
import { mustField } from "../../protocol/brands.ts";
import { poseidon2, poseidon4 } from "../../protocol/host/poseidon.ts";
import { Turns } from "./turns.ts";

const ZERO = mustField(0n);
const WORK: readonly (() => unknown)[] = [
  () => poseidon2(ZERO, ZERO),
  () => poseidon4(ZERO, ZERO, ZERO, ZERO),
  () => x25519.getPublicKey(new Uint8Array(32).fill(1)),
];

/** Takes no time when it was done before. */
export async function prepareArithmetic(): Promise<void> {
  const turns = new Turns();
  for (const work of WORK) {
    work();
    await turns.pause();
  }
}

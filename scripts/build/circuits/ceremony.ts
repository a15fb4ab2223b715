// What every key script needs around snarkjs: its refusals as errors, and the end of its worker threads.

import type { SnarkLogger } from "snarkjs";

/** Several functions of snarkjs answer `false`, or −1, for bad arguments instead of throwing. */
export async function mustNotBeFalse(step: string, result: Promise<unknown>): Promise<void> {
  const answer = await result;
  if (answer === false || answer === -1) throw new Error(`${step} failed`);
}

/** Ends the worker threads that snarkjs keeps for its curve; without it the process never exits. */
export async function releaseCurve(): Promise<void> {
  const held = globalThis as { curve_bn128?: { terminate(): Promise<void> } | null };
  await held.curve_bn128?.terminate();
}

/** At most one line of progress every five seconds; faults at once. */
export function progress(name: string): SnarkLogger {
  let lastMs = Date.now();
  const now = (text: string): void => {
    console.error(`${name}: ${text}`);
  };
  const seldom = (text: string): void => {
    if (Date.now() - lastMs < 5_000) return;
    lastMs = Date.now();
    // Some texts are hashes over several lines; the first says enough.
    console.log(`  ${name}: ${text.split("\n")[0] ?? ""}`);
  };
  return { info: seldom, debug: seldom, warn: now, error: now };
}

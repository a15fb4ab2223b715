/**
 * Verification keys for benchmarks, drawn from a public phrase with all that a ceremony destroys. Whoever has
 * this file can prove anything under them. Each carries a mark by which production refuses it, whatever phrase
 * it was drawn from (proxy/base/chain/development-keys.ts).
 */
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { buildBn128 } from "ffjavascript";
import { benchmarkKeyAmong } from "../../../../proxy/base/chain/development-keys.ts";
import { FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../../shared/protocol/statements.ts";
import { parseVerificationKey } from "../../../../shared/protocol/verification-key.ts";

export const BENCHMARK_PHRASE = "Cloister benchmark keys: public, and everything can be proved with them";
/** Not the caller's phrase: gamma is the mark. */
const MARK = draw("Cloister: a key whose trapdoor is known", "gamma");

/** Discrete logarithms of a key's points, each in [1, r). */
export interface Trapdoor {
  readonly alpha: bigint;
  readonly beta: bigint;
  readonly gamma: bigint;
  readonly delta: bigint;
  /** One more than the kind has public signals. */
  readonly ic: readonly bigint[];
}

export function trapdoorOf(kind: Kind, phrase = BENCHMARK_PHRASE): Trapdoor {
  const named = (name: string): bigint => draw(phrase, `${kind} ${name}`);
  return {
    alpha: named("alpha"),
    beta: named("beta"),
    gamma: MARK,
    delta: named("delta"),
    ic: Array.from({ length: signalCount(kind) + 1 }, (_, i) => named(`IC ${String(i)}`)),
  };
}

/** In the form of shared/protocol/verification-keys/, member for member as snarkjs writes them. */
export async function trapdoorKeys(phrase = BENCHMARK_PHRASE): Promise<Readonly<Record<Kind, object>>> {
  const curve = await buildBn128(true);
  const { G1, G2, Gt } = curve;
  const g1 = (scalar: bigint): Uint8Array => G1.toAffine(G1.timesScalar(G1.g, scalar));
  const g2 = (scalar: bigint): Uint8Array => G2.toAffine(G2.timesScalar(G2.g, scalar));
  const keyOf = (kind: Kind): object => {
    const { alpha, beta, gamma, delta, ic } = trapdoorOf(kind, phrase);
    return inText({
      protocol: "groth16",
      curve: "bn128",
      nPublic: signalCount(kind),
      vk_alpha_1: G1.toObject(g1(alpha)),
      vk_beta_2: G2.toObject(g2(beta)),
      vk_gamma_2: G2.toObject(g2(gamma)),
      vk_delta_2: G2.toObject(g2(delta)),
      vk_alphabeta_12: Gt.toObject(curve.pairing(g1(alpha), g2(beta))),
      IC: ic.map((scalar) => G1.toObject(g1(scalar))),
    });
  };
  const keys = Object.fromEntries(KIND_NAMES.map((kind) => [kind, keyOf(kind)])) as Record<Kind, object>;
  // Whatever is changed here: a key that production would not know for what it is never leaves.
  for (const kind of KIND_NAMES) {
    if (benchmarkKeyAmong(new Map([[kind, parseVerificationKey(keys[kind])]])) === undefined)
      throw new Error(`the ${kind} key does not carry the mark of a benchmark key`);
  }
  return keys;
}

/** Written into a folder of keys: the manifest that a proxy wants beside them. */
export const TRAPDOOR_MANIFEST = "manifest.json";

/**
 * A folder for `startStack({ verificationKeys })`: `<kind>.json` and a manifest. There are no proving keys, and
 * no client could use any; the manifest has zeros for their hashes.
 */
export async function writeTrapdoorKeys(folder: string, phrase = BENCHMARK_PHRASE): Promise<void> {
  const keys = await trapdoorKeys(phrase);
  await mkdir(folder, { recursive: true });
  const none = { sha256: "0".repeat(64) };
  const circuits: Record<string, object> = {};
  for (const kind of KIND_NAMES) {
    const text = `${JSON.stringify(keys[kind], null, 1)}\n`;
    await writeFile(path.join(folder, `${kind}.json`), text);
    const sha256 = createHash("sha256").update(text).digest("hex");
    circuits[kind] = { wasm: none, zkey: none, verificationKey: { sha256 } };
  }
  const manifest = { purpose: "development benchmarks only: the keys' trapdoor is public", circuits };
  await writeFile(path.join(folder, TRAPDOOR_MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** From 512 bits, so that no residue is likelier than another. */
function draw(phrase: string, label: string): bigint {
  const stream = createHash("shake256", { outputLength: 64 }).update(`${phrase}\0${label}`);
  return (BigInt(`0x${stream.digest("hex")}`) % (FIELD_ORDER - 1n)) + 1n;
}

/** Numbers as decimal text; the count of signals stays a number, as snarkjs has it. */
function inText(value: object): object {
  const text = JSON.stringify(value, (_, member: unknown) =>
    typeof member === "bigint" ? member.toString() : member,
  );
  return JSON.parse(text) as object;
}

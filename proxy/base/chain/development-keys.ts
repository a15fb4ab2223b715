/**
 * The verification keys that came with the sources for development, and those that benchmarks draw from a public
 * phrase. Pools in production must not go by either: who kept the randomness of the former can forge any payment,
 * and with the latter everybody can. Trusts the files of this tree.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
  type VerificationKey,
} from "../../../shared/protocol/verification-key.ts";
import type { Pool } from "./pool.ts";
import { ChainUnreachable } from "./json-rpc.ts";

const manifestShape = z.object({
  purpose: z.literal("development only"),
  circuits: z.record(
    z.string(),
    z.object({
      verificationKey: z
        .object({
          sha256: z.string().regex(/^[0-9a-f]{64}$/),
          keyHash: z
            .string()
            .regex(/^0x[0-9a-f]{64}$/)
            .optional(),
        })
        .optional(),
    }),
  ),
});

/** By kind, as pools name them. Folders are URLs that end with a slash; `keyFolder` holds `<kind>.json`. */
export type KeyHashes = ReadonlyMap<string, string>;

const DEVELOPMENT_KEYS = new URL("../../../shared/circuits/keys/development/", import.meta.url);
const VERIFICATION_KEYS = new URL("../../../shared/protocol/verification-keys/", import.meta.url);

/**
 * The hashes that the development manifest names; where it has a file's SHA-256 only, the key in `keyFolder` is
 * hashed. Throws rather than overlook a key.
 */
export async function developmentKeyHashes(
  manifestFolder: URL = DEVELOPMENT_KEYS,
  keyFolder: URL = VERIFICATION_KEYS,
): Promise<KeyHashes> {
  const text = await readFile(new URL("manifest.json", manifestFolder), "utf8");
  const { circuits } = manifestShape.parse(JSON.parse(text));
  const found = new Map<string, string>();
  for (const [kind, { verificationKey }] of Object.entries(circuits)) {
    // A circuit that is newer than its keys: nothing can be proven with it.
    if (verificationKey === undefined) continue;
    found.set(kind, verificationKey.keyHash ?? (await hashOf(kind, verificationKey.sha256, keyFolder)));
  }
  return found;
}

async function hashOf(kind: string, sha256: string, keyFolder: URL): Promise<string> {
  const bytes = await readFile(new URL(`${kind}.json`, keyFolder));
  if (createHash("sha256").update(bytes).digest("hex") !== sha256)
    throw new Error(`the development manifest does not name the hash of its ${kind} key`);
  return verificationKeyHash(parseVerificationKey(JSON.parse(bytes.toString("utf8"))));
}

/**
 * Any development key counts, whatever kind it was made for, and any benchmark key of the usual phrase: a pool
 * tells no more than hashes. Undefined when there is none.
 */
export function developmentKeyAmong(keys: KeyHashes, development: KeyHashes): string | undefined {
  const known = new Set([...development.values(), ...BENCHMARK_KEYS].map((hash) => hash.toLowerCase()));
  return [...keys].find(([, hash]) => known.has(hash.toLowerCase()))?.[0];
}

/** Hashes of what scripts/lab/bench/trapdoor/keys.ts makes from its own phrase, in order of kind id. */
const BENCHMARK_KEYS: readonly string[] = [
  "0xdf74438930e3e3f5f8e6b1b0668e21e70456c31a3944a9ccbc66d029516e6a67",
  "0xebed5dabee14c66b4e080ba1cb3a025f6e36bdbb30424d0bfb799e22907d9e2c",
  "0x73bc1f796cb289751994cf8d8e76e3eae18d6f2672fa1887661b3eb40e598a7d",
  "0x140e9672614685f4f714425e006fd26f202cc8cd51f2b9847b016345707610a4",
];

/**
 * Gamma of every key that scripts/lab/bench/trapdoor/keys.ts makes, from whatever phrase; in a ceremony's keys it is the
 * generator of G2. A mark against mistakes: who wants to deceive has no need of that file.
 */
const BENCHMARK_GAMMA: VerificationKey["gamma"] = [
  [
    4064354953456645275675116401136583055438039035677240891675712162763022395625n,
    4321691301007907577593547618271029798239263859788666560627323546238038063657n,
  ],
  [
    154524085135602389689722069740406535112312923263326574964679920897290623151n,
    8012942445258525955207946042771213238262483400071372326529187116745828104763n,
  ],
];

/** The first whose trapdoor everybody knows, with its kind as the caller has it. */
export function benchmarkKeyAmong<K extends string>(keys: ReadonlyMap<K, VerificationKey>): K | undefined {
  const mark = BENCHMARK_GAMMA.flat().join();
  return [...keys].find(([, { gamma }]) => gamma.flat().join() === mark)?.[0];
}

/**
 * For production. Our own keys are looked at first, so that the refusal does not depend on a node that is
 * unreachable; while it is, a pool of other keys than ours cannot execute anything that we attest.
 */
export async function requireNoDevelopmentKeys(
  ours: ReadonlyMap<Kind, string>,
  pool: Pick<Pool, "verifyingKeyHash">,
  development: KeyHashes,
): Promise<void> {
  refuse("this proxy's", developmentKeyAmong(ours, development));
  try {
    const hashes = KIND_NAMES.map(async (kind) => [kind, await pool.verifyingKeyHash(kind)] as const);
    refuse("the pool's", developmentKeyAmong(new Map(await Promise.all(hashes)), development));
  } catch (error) {
    if (!(error instanceof ChainUnreachable)) throw error;
  }
}

function refuse(whose: string, kind: string | undefined): void {
  if (kind !== undefined)
    throw new Error(
      `${whose} ${kind} key is a development key: whoever made it can forge proofs, so production refuses it`,
    );
}

/**
 * The verification keys that came with the sources for development, by which pools in production must not go:
 * one party made them, and who kept its randomness can forge any payment. Trusts the files of this tree.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";
import { parseVerificationKey, verificationKeyHash } from "../../shared/protocol/verification-key.ts";
import type { Pool } from "./pool.ts";
import { ChainAway } from "./json-rpc.ts";

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

const DEVELOPMENT_KEYS = new URL("../../shared/circuits/keys/development/", import.meta.url);
const VERIFICATION_KEYS = new URL("../../shared/protocol/verification-keys/", import.meta.url);

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

/** Any development key counts, whatever kind it was made for. Undefined when there is none. */
export function developmentKeyAmong(keys: KeyHashes, development: KeyHashes): string | undefined {
  const known = new Set([...development.values()].map((hash) => hash.toLowerCase()));
  return [...keys].find(([, hash]) => known.has(hash.toLowerCase()))?.[0];
}

/**
 * For production. Our own keys are looked at first, so that the refusal does not depend on a node that is
 * away; while it is, a pool of other keys than ours cannot execute anything that we attest.
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
    if (!(error instanceof ChainAway)) throw error;
  }
}

function refuse(whose: string, kind: string | undefined): void {
  if (kind !== undefined)
    throw new Error(
      `${whose} ${kind} key is a development key: whoever made it can forge proofs, so production refuses it`,
    );
}

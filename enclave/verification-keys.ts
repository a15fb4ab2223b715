/**
 * The circuits this image knows. The key files travel inside the image and are measured with it; the
 * hashes are written here as well, so that a change of a key shows up in a source file that is reviewed.
 */
import depositShield from "../shared/protocol/verification-keys/deposit-shield.json" with { type: "json" };
import privateSwap from "../shared/protocol/verification-keys/private-swap.json" with { type: "json" };
import spend from "../shared/protocol/verification-keys/spend.json" with { type: "json" };
import spend9 from "../shared/protocol/verification-keys/spend9.json" with { type: "json" };
import type { Bytes32 } from "../shared/protocol/brands.ts";
import { mustFromHex } from "../shared/protocol/bytes.ts";
import { keccakHex } from "../shared/protocol/hash.ts";
import { KIND_NAMES, KINDS, type Kind } from "../shared/protocol/statements.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
  type VerificationKey,
} from "../shared/protocol/verification-key.ts";

export const VERIFYING_KEY_HASHES: Readonly<Record<Kind, Bytes32>> = {
  "deposit-shield": "0x867c6cbd3c72630ea24f7280acf48251d616b212459abd7d6d66089215bfc3ea" as Bytes32,
  spend: "0xc793bc149f89c8447cb79d85ff8a9bf7b1e05dda9afa526a029991ef7c08ae90" as Bytes32,
  spend9: "0xcf282d4044e1a8eb59330a9dfe3667e0342aec33889801fd387c0a894fdf2647" as Bytes32,
  "private-swap": "0x17c76b2a15fd5d22bd9af7ffea5c56694e5844ce73f2f0105df3fa10c50eac17" as Bytes32,
};

/** keccak256 over the hashes above in order of kind id. */
export const CONFIGURATION_HASH: Bytes32 = keccakHex(
  ...[...KIND_NAMES]
    .sort((a, b) => KINDS[a].id - KINDS[b].id)
    .map((kind) => mustFromHex(VERIFYING_KEY_HASHES[kind])),
);

const FILES: Readonly<Record<Kind, unknown>> = {
  "deposit-shield": depositShield,
  spend,
  spend9,
  "private-swap": privateSwap,
};

/** Throws for a key that is not the pinned one or no key at all: such an image must not serve. */
export function loadVerificationKeys(
  files: Readonly<Record<Kind, unknown>> = FILES,
): Record<Kind, VerificationKey> {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, loadKey(kind, files)])) as Record<
    Kind,
    VerificationKey
  >;
}

function loadKey(kind: Kind, files: Readonly<Record<Kind, unknown>>): VerificationKey {
  const key = parseVerificationKey(files[kind]);
  if (verificationKeyHash(key) !== VERIFYING_KEY_HASHES[kind])
    throw new Error("not the pinned verification key");
  return key;
}

/** Who signed what was handed to the pool. Whether those are accepted, and enough, the judge asks the ledger. */
import { recoverAddress } from "ethers";
import { attestationDigest, rootUpdateDigest, SIGNATURE_BYTES } from "../../shared/protocol/attestation.ts";
import type { Address, Bytes32, Field } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { toBytes32, toHex } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import { kindById, type Home, type Kind } from "../../shared/protocol/statements.ts";
import { hashOf, type Handed } from "./calls.ts";

interface Pins {
  readonly home: Home;
  readonly keyHashes: Readonly<Record<Kind, Bytes32>>;
}

/** Undefined for what is no signature. */
export type Recovered = readonly (Address | undefined)[];

/** What the signatures are over (EIP-712); undefined for a statement of no kind, and where nobody signs. */
export function digestOf(pins: Pins, handed: Handed): Bytes32 | undefined {
  const digest = messageDigest(pins, handed);
  return digest && toBytes32(digest);
}

export function signersOf(pins: Pins, handed: Handed): Recovered {
  const digest = messageDigest(pins, handed);
  return digest === undefined || handed.type === "advance" ? [] : recoverAll(digest, handed.attestations);
}

function messageDigest({ home, keyHashes }: Pins, handed: Handed): Uint8Array | undefined {
  if (handed.type === "update") {
    const { oldRoot, newRoot } = handed;
    // Signed as they stand: a forged root need not be below the field order.
    return rootUpdateDigest(home, { ...handed, oldRoot: oldRoot as Field, newRoot: newRoot as Field });
  }
  const kind = handed.type === "member" ? kindById(handed.kindId) : undefined;
  if (handed.type !== "member" || kind === undefined) return undefined;
  return attestationDigest(home, {
    kind,
    verifyingKeyHash: keyHashes[kind],
    statementHash: hashOf(handed)!,
    proofHash: keccakHex(handed.proof),
    deadline: handed.deadline,
  });
}

function recoverAll(digest: Uint8Array, attestations: Uint8Array): Recovered {
  const signers: (Address | undefined)[] = [];
  for (let at = 0; at < attestations.length; at += SIGNATURE_BYTES) {
    try {
      signers.push(asAddress(recoverAddress(digest, toHex(attestations.slice(at, at + SIGNATURE_BYTES)))));
    } catch {
      signers.push(undefined);
    }
  }
  return signers;
}

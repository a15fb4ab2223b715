// What the pool's `execute` takes, signed by keys that we hold: the pool never looks into a proof, so to them a good
// statement and a lie are the same work. For gas figures, benchmarks and tests. DEVELOPMENT ONLY.
import { computeAddress, SigningKey } from "ethers";
import { attestationDigest, rootUpdateDigest, type RootUpdate } from "../../shared/protocol/attestation.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { concatBytes, mustFromHex, toHex, uintToBytes } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import {
  kindById,
  KINDS,
  statementHashOf,
  type Home,
  type Statement,
} from "../../shared/protocol/statements.ts";

/** `Transaction` of IPool.sol. */
export interface PoolTransaction {
  kind: number;
  deadline: bigint;
  signals: bigint[];
  ext: string;
  proof: string;
  authorization: string;
  attestations: string;
}

/** `RootUpdate` of IPool.sol. */
export interface PoolRootUpdate {
  oldRoot: bigint;
  newRoot: bigint;
  fromIndex: bigint;
  toIndex: bigint;
  headBefore: string;
  headAfter: string;
  attestations: string;
}

/** For a call that has no update. */
export const NO_UPDATE: PoolRootUpdate = {
  oldRoot: 0n,
  newRoot: 0n,
  fromIndex: 0n,
  toIndex: 0n,
  headBefore: toHex(new Uint8Array(32)),
  headAfter: toHex(new Uint8Array(32)),
  attestations: "0x",
};

export interface Attester {
  readonly address: Address;
  readonly key: SigningKey;
}

/** The n-th test signer, always the same. Worthless: anybody can compute its key. */
export function attester(n: number): Attester {
  const key = new SigningKey(keccakHex(new TextEncoder().encode(`attester ${String(n)}`)));
  const address = asAddress(computeAddress(key));
  if (address === undefined) throw new Error("not an address");
  return { address, key };
}

/** A statement before anybody signed it. */
export type Unsigned = Omit<PoolTransaction, "attestations">;

export function unsigned(
  { kind, deadline, signals, extBytes }: Statement,
  proof: Uint8Array,
  authorization = "0x",
): Unsigned {
  return {
    ...{ kind: KINDS[kind].id, deadline, signals: [...signals] },
    ...{ ext: toHex(extBytes), proof: toHex(proof), authorization },
  };
}

/** Named and signed as it stands, true or not. */
export function attested(
  home: Home,
  verifyingKeyHash: Bytes32,
  member: Unsigned,
  attesters: readonly Attester[],
): PoolTransaction {
  const kind = kindById(member.kind);
  if (kind === undefined) throw new TypeError("no such kind");
  const digest = attestationDigest(home, {
    kind,
    verifyingKeyHash,
    statementHash: statementHashOf(kind, member.deadline, member.signals, mustFromHex(member.ext)),
    proofHash: keccakHex(mustFromHex(member.proof)),
    deadline: member.deadline,
  });
  return { ...member, attestations: toHex(signAll(digest, attesters)) };
}

export function sealUpdate(home: Home, message: RootUpdate, attesters: readonly Attester[]): PoolRootUpdate {
  return { ...message, attestations: toHex(signAll(rootUpdateDigest(home, message), attesters)) };
}

/** Signatures in ascending order of their signers, as the pool wants them. */
export function signAll(digest: Uint8Array, attesters: readonly Attester[]): Uint8Array {
  const ascending = [...attesters].sort((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
  return concatBytes(...ascending.map(({ key }) => signatureBytes(key, digest)));
}

/** r ‖ s ‖ v. */
export function signatureBytes(key: SigningKey, digest: Uint8Array): Uint8Array {
  const { r, s, v } = key.sign(digest);
  return concatBytes(mustFromHex(r), mustFromHex(s), uintToBytes(BigInt(v), 1));
}

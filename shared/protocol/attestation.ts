/** The two EIP-712 messages an enclave signs. The pool recomputes both digests from calldata; nothing in them is taken on trust. */
import type { Bytes32, Field } from "./brands.ts";
import { mustFromHex } from "./bytes.ts";
import { hashWords, keccak256, keccakHex } from "./hash.ts";
import { KINDS, type Home, type Kind } from "./statements.ts";

const hashOf = (text: string): Bytes32 => keccakHex(new TextEncoder().encode(text));

const DOMAIN_TYPE = hashOf(
  "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)",
);
const NAME = hashOf("Cloister");
const VERSION = hashOf("1");
const ATTESTATION_TYPE = hashOf(
  "Attestation(uint8 kind,bytes32 verifyingKeyHash,bytes32 statementHash,bytes32 proofHash,uint64 deadline)",
);
const ROOT_UPDATE_TYPE = hashOf(
  "RootUpdate(uint256 oldRoot,uint256 newRoot,uint64 fromIndex,uint64 toIndex,bytes32 headBefore,bytes32 headAfter)",
);

/** EIP-712 domain separator of one pool on one chain. */
export function domainSeparator({ chainId, pool }: Home): Uint8Array {
  return mustFromHex(hashWords(DOMAIN_TYPE, NAME, VERSION, chainId, pool));
}

export interface Attestation {
  readonly kind: Kind;
  readonly verifyingKeyHash: Bytes32;
  readonly statementHash: Bytes32;
  /** keccak256 of the 128 compressed proof bytes that go into calldata. */
  readonly proofHash: Bytes32;
  readonly deadline: bigint;
}

export function attestationDigest(home: Home, message: Attestation): Uint8Array {
  const { kind, verifyingKeyHash, statementHash, proofHash, deadline } = message;
  const members = [BigInt(KINDS[kind].id), verifyingKeyHash, statementHash, proofHash, deadline];
  return typedDigest(home, hashWords(ATTESTATION_TYPE, ...members));
}

/** The tree grew from `fromIndex` to `toIndex` leaves by exactly the queue between the two heads. */
export interface RootUpdate {
  readonly oldRoot: Field;
  readonly newRoot: Field;
  readonly fromIndex: bigint;
  readonly toIndex: bigint;
  readonly headBefore: Bytes32;
  readonly headAfter: Bytes32;
}

export function rootUpdateDigest(home: Home, message: RootUpdate): Uint8Array {
  const { oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter } = message;
  const members = [oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter];
  return typedDigest(home, hashWords(ROOT_UPDATE_TYPE, ...members));
}

/** 65 bytes r ‖ s ‖ v with v 27 or 28 and s in the lower half (EIP-2). */
export const SIGNATURE_BYTES = 65;

function typedDigest(home: Home, structHash: Bytes32): Uint8Array {
  return keccak256(Uint8Array.of(0x19, 0x01), domainSeparator(home), mustFromHex(structHash));
}

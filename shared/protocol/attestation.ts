/** The two EIP-712 messages an enclave signs. The pool recomputes both digests from calldata; nothing in them is taken on trust. */
import type { Address, Bytes32, Field } from "./brands.ts";
import { mustFromHex, word } from "./bytes.ts";
import { keccak256 } from "./hash.ts";
import { KINDS, type Home, type Kind } from "./statements.ts";

const DOMAIN_NAME = "Cloister";
const DOMAIN_VERSION = "1";

const DOMAIN_TYPE = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)";
const ATTESTATION_TYPE =
  "Attestation(uint8 kind,bytes32 verifyingKeyHash,bytes32 statementHash,bytes32 proofHash,uint64 deadline)";
const ROOT_UPDATE_TYPE =
  "RootUpdate(uint256 oldRoot,uint256 newRoot,uint64 fromIndex,uint64 toIndex,bytes32 headBefore,bytes32 headAfter)";

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);

/** EIP-712 domain separator of one pool on one chain. */
export function domainSeparator({ chainId, pool }: Home): Uint8Array {
  return keccak256(
    keccak256(ascii(DOMAIN_TYPE)),
    keccak256(ascii(DOMAIN_NAME)),
    keccak256(ascii(DOMAIN_VERSION)),
    word(chainId),
    word(BigInt(pool)),
  );
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
  return typedDigest(
    home,
    keccak256(
      keccak256(ascii(ATTESTATION_TYPE)),
      word(BigInt(KINDS[message.kind].id)),
      mustFromHex(message.verifyingKeyHash),
      mustFromHex(message.statementHash),
      mustFromHex(message.proofHash),
      word(message.deadline),
    ),
  );
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
  return typedDigest(
    home,
    keccak256(
      keccak256(ascii(ROOT_UPDATE_TYPE)),
      word(message.oldRoot),
      word(message.newRoot),
      word(message.fromIndex),
      word(message.toIndex),
      mustFromHex(message.headBefore),
      mustFromHex(message.headAfter),
    ),
  );
}

/** 65 bytes r ‖ s ‖ v with v 27 or 28 and s in the lower half (EIP-2). */
export const SIGNATURE_BYTES = 65;

/** A signature with the address it recovers to. */
export interface SignedBy {
  readonly signer: Address;
  readonly signature: Uint8Array;
}

function typedDigest(home: Home, structHash: Uint8Array): Uint8Array {
  return keccak256(Uint8Array.of(0x19, 0x01), domainSeparator(home), structHash);
}

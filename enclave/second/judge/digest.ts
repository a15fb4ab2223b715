/** What is signed: EIP-712 digests. SPEC, section 8. */
import { concatBytes, keccak, numberIn, word } from "./bytes.ts";
import type { Domain } from "./request.ts";

const text = (characters: string): Uint8Array => new TextEncoder().encode(characters);
const typeHash = (type: string): Uint8Array => keccak(text(type));

const DOMAIN = typeHash("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
const ATTESTATION = typeHash(
  "Attestation(uint8 kind,bytes32 verifyingKeyHash,bytes32 statementHash,bytes32 proofHash,uint64 deadline)",
);
const ROOT_UPDATE = typeHash(
  "RootUpdate(uint256 oldRoot,uint256 newRoot,uint64 fromIndex,uint64 toIndex,bytes32 headBefore,bytes32 headAfter)",
);

function digestOf({ chainId, pool }: Domain, struct: readonly Uint8Array[]): Uint8Array {
  const fixed = [DOMAIN, keccak(text("Cloister")), keccak(text("1"))];
  const separator = keccak(...fixed, word(chainId), word(numberIn(pool)));
  return keccak(Uint8Array.of(0x19, 0x01), separator, keccak(...struct));
}

export interface Attestation {
  readonly kindId: number;
  readonly keyHash: Uint8Array;
  readonly statementHash: Uint8Array;
  readonly proofHash: Uint8Array;
  readonly deadline: bigint;
}

export function attestationDigest(domain: Domain, signed: Attestation): Uint8Array {
  const { kindId, keyHash, statementHash, proofHash, deadline } = signed;
  return digestOf(domain, [ATTESTATION, word(kindId), keyHash, statementHash, proofHash, word(deadline)]);
}

export interface SignedUpdate {
  readonly oldRoot: bigint;
  readonly newRoot: bigint;
  readonly fromIndex: bigint;
  readonly toIndex: bigint;
  readonly headBefore: Uint8Array;
  readonly headAfter: Uint8Array;
}

export function rootUpdateDigest(domain: Domain, signed: SignedUpdate): Uint8Array {
  const numbers = [signed.oldRoot, signed.newRoot, signed.fromIndex, signed.toIndex].map(word);
  return digestOf(domain, [ROOT_UPDATE, concatBytes(...numbers), signed.headBefore, signed.headAfter]);
}

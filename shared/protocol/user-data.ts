/**
 * What the enclave says about itself inside an attestation document. Callers choose the nonce of a
 * document and nothing of this; a document made for one purpose carries a type no other has. Input is untrusted.
 *
 * Layout: domain[16] = "cloister-enclave", version[1] = 2, type[1], signer[20], configurationHash[32];
 * genesis only: sealedKeyHash[32], kmsKeyHash[32].
 */
import { ZERO_ADDRESS, type Address, type Bytes32 } from "./brands.ts";
import {
  addressBytes,
  ByteReader,
  concatBytes,
  equalBytes,
  mustFromHex,
  toAddress,
  toBytes32,
} from "./bytes.ts";

const USER_DATA_TYPES = { genesis: 1, release: 2, live: 3 } as const;
const DOMAIN = new TextEncoder().encode("cloister-enclave");
const LAYOUT_VERSION = 2;

export type UserData =
  | {
      /** A key was just made and sealed; this document is its birth certificate. */
      readonly type: "genesis";
      readonly signer: Address;
      readonly configurationHash: Bytes32;
      /** SHA-256 of the sealed key. */
      readonly sealedKeyHash: Bytes32;
      /** SHA-256 of the KMS key's SPKI DER, to which it is sealed. */
      readonly kmsKeyHash: Bytes32;
    }
  /** Asks KMS to open a sealed key; the document's public_key is ephemeral, and there is no signer yet. */
  | { readonly type: "release"; readonly configurationHash: Bytes32 }
  | { readonly type: "live"; readonly signer: Address; readonly configurationHash: Bytes32 };

export function encodeUserData(data: UserData): Uint8Array {
  return concatBytes(
    DOMAIN,
    Uint8Array.of(LAYOUT_VERSION, USER_DATA_TYPES[data.type]),
    addressBytes(data.type === "release" ? ZERO_ADDRESS : data.signer),
    mustFromHex(data.configurationHash),
    ...(data.type === "genesis" ? [mustFromHex(data.sealedKeyHash), mustFromHex(data.kmsKeyHash)] : []),
  );
}

/** Undefined for anything that `encodeUserData` does not make. */
export function decodeUserData(bytes: Uint8Array): UserData | undefined {
  const reader = new ByteReader(bytes);
  const isOurs = equalBytes(reader.take(DOMAIN.length), DOMAIN) && reader.number(1) === LAYOUT_VERSION;
  const type = reader.number(1);
  const signer = reader.take(20);
  const configuration = reader.take(32);
  const hashes = type === USER_DATA_TYPES.genesis ? reader.list(2, 32) : [];
  if (!isOurs || !reader.done()) return undefined;
  const configurationHash = toBytes32(configuration);
  switch (type) {
    case USER_DATA_TYPES.genesis:
      return {
        type: "genesis",
        signer: toAddress(signer),
        configurationHash,
        sealedKeyHash: toBytes32(hashes[0]!),
        kmsKeyHash: toBytes32(hashes[1]!),
      };
    case USER_DATA_TYPES.release:
      return signer.every((byte) => byte === 0) ? { type: "release", configurationHash } : undefined;
    case USER_DATA_TYPES.live:
      return { type: "live", signer: toAddress(signer), configurationHash };
    default:
      return undefined;
  }
}

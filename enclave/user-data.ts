/**
 * What this program says about itself inside an attestation document. Callers choose the nonce of a
 * document and nothing of this; a document made for one purpose carries a type no other has.
 */
import type { Address, Bytes32 } from "../shared/protocol/brands.ts";
import { addressBytes, concatBytes, mustFromHex } from "../shared/protocol/bytes.ts";

/** 1 genesis and 2 release belong to key release. */
const USER_DATA_TYPES = { live: 3 } as const;
const DOMAIN = "cloister-enclave";
const LAYOUT_VERSION = 1;

export interface UserData {
  readonly type: keyof typeof USER_DATA_TYPES;
  readonly signer: Address;
  readonly configurationHash: Bytes32;
}

/** domain[16] = "cloister-enclave", version[1] = 1, type[1] (3 live), signer[20], configurationHash[32]: 70 bytes. */
export function encodeUserData({ type, signer, configurationHash }: UserData): Uint8Array {
  return concatBytes(
    new TextEncoder().encode(DOMAIN),
    Uint8Array.of(LAYOUT_VERSION, USER_DATA_TYPES[type]),
    addressBytes(signer),
    mustFromHex(configurationHash),
  );
}

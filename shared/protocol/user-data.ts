/**
 * What the enclave says about itself inside an attestation document. Callers choose the nonce of a
 * document and nothing of this; a document made for one purpose carries a type no other has. Input is untrusted.
 *
 * Layout: domain[16] = "cloister-enclave", version[1] = 2, type[1], signer[20], configurationHash[32];
 * genesis only: sealedKeyHash[32], kmsKeyHash[32].
 */
import { concatBytes, equalBytes } from "./bytes.ts";
import { address, bytes32, decode, inOrder, type Codec, type Layout, type Value } from "./layouts.ts";

const DOMAIN = new TextEncoder().encode("cloister-enclave");
const LAYOUT_VERSION = 2;

/** What every document of the type begins with, and what it says. */
const type = <L extends Layout>(code: number, layout: L, signer = new Uint8Array(0)) => ({
  head: concatBytes(DOMAIN, Uint8Array.of(LAYOUT_VERSION, code), signer),
  body: inOrder(layout),
});
/** There is no signer yet. */
const NOBODY = new Uint8Array(20);

const TYPES = {
  /** A key was just made and sealed; this document is its birth certificate. */
  genesis: type(1, {
    signer: address,
    configurationHash: bytes32,
    /** SHA-256 of the sealed key. */
    sealedKeyHash: bytes32,
    /** SHA-256 of the KMS key's SPKI DER, to which it is sealed. */
    kmsKeyHash: bytes32,
  }),
  /** Asks KMS to open a sealed key; the document's public_key is ephemeral. */
  release: type(2, { configurationHash: bytes32 }, NOBODY),
  live: type(3, { signer: address, configurationHash: bytes32 }),
};
type Type = keyof typeof TYPES;

export type UserData = {
  [Name in Type]: { readonly type: Name } & Value<(typeof TYPES)[Name]["body"]>;
}[Type];

export function encodeUserData(data: UserData): Uint8Array {
  const { head, body } = TYPES[data.type];
  return concatBytes(head, (body as Codec<UserData>).write(data));
}

/** Undefined for anything that `encodeUserData` does not make. */
export function decodeUserData(bytes: Uint8Array): UserData | undefined {
  for (const [name, { head, body }] of Object.entries(TYPES)) {
    const said =
      equalBytes(bytes.subarray(0, head.length), head) && decode<object>(body, bytes.subarray(head.length));
    if (said) return { type: name, ...said } as UserData;
  }
  return undefined;
}

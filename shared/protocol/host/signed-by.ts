import type { Address } from "../brands.ts";

/** A signature with the address it recovers to. */
export interface SignedBy {
  readonly signer: Address;
  readonly signature: Uint8Array;
}

/** Which signers the pool accepts, and of which verifier, asked once a block: each attestation is held against it. */
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Pool } from "./pool.ts";
import { oncePerBlock } from "./block-cache.ts";

/** The verifier's kind; undefined for a signer whose word does not count. */
export function acceptedSigners(
  pool: Pick<Pool, "signerKind">,
  freshTip: () => string | undefined,
): (signer: Address) => Promise<number | undefined> {
  const once = oncePerBlock(freshTip);
  return (signer) => once(signer, () => pool.signerKind(signer));
}

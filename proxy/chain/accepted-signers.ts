/** Which signers the pool accepts, asked once a block: each attestation is held against it. */
import type { Address } from "../../shared/protocol/brands.ts";
import type { Pool } from "./pool.ts";
import { oncePerBlock } from "./block-cache.ts";

export function acceptedSigners(
  pool: Pick<Pool, "isSigner">,
  freshTip: () => string | undefined,
): (signer: Address) => Promise<boolean> {
  const once = oncePerBlock(freshTip);
  return (signer) => once(signer, () => pool.isSigner(signer));
}

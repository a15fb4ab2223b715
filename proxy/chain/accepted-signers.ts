/** Which signers the pool accepts, asked once a block: each attestation is held against it. */
import type { Address } from "../../shared/protocol/brands.ts";
import type { Pool } from "./pool.ts";
import { BlockCache } from "./block-cache.ts";

/** Of the newest block, and of a few before it. */
const MAX_ANSWERS = 64;

/** `freshTip` names the chain's newest block; while nobody knows it, the pool is asked each time. */
export function acceptedSigners(
  pool: Pick<Pool, "isSigner">,
  freshTip: () => string | undefined,
): (signer: Address) => Promise<boolean> {
  const answers = new BlockCache(MAX_ANSWERS);
  return (signer) => {
    const tip = freshTip();
    const ask = (): Promise<boolean> => pool.isSigner(signer);
    return tip === undefined ? ask() : answers.get(`${tip} ${signer}`, ask);
  };
}

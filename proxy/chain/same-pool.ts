/** Whether the configured pool is the one that our circuits were made for, and takes what we offer; asked once, at the start. */
import type { Address } from "../../shared/protocol/brands.ts";
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";
import type { Logger } from "../logging.ts";
import type { Pool } from "./pool.ts";
import { ChainUnreachable } from "./json-rpc.ts";
import type { Chain } from "./provider.ts";

/** A pool with other circuits would refuse everything we send, so it ends the start; a node that is unreachable may come back. */
export async function requireSamePool(
  chain: Chain,
  pool: Pool,
  ourKeyHash: (kind: Kind) => string | undefined,
  logger: Logger,
): Promise<void> {
  try {
    if (!(await chain.isConfiguredChain()))
      throw new Error("the chain's node serves another chain than CLOISTER_CHAIN_ID");
    for (const kind of KIND_NAMES) {
      if ((await pool.verifyingKeyHash(kind)) !== ourKeyHash(kind))
        throw new Error(`the pool was made for another circuit ${kind}`);
    }
  } catch (error) {
    if (!(error instanceof ChainUnreachable)) throw error;
    logger.warn({ reason: error.message }, "the chain cannot be asked; starting all the same");
  }
}

/** What the settings offer and the pool does not take now. No fault of the start: the pool's owner can fix it, or may have meant it. */
export async function warnOfOffers(
  pool: Pick<Pool, "isAsset" | "executor">,
  offers: { readonly assets: readonly { readonly address: Address }[]; readonly swaps: boolean },
  logger: Logger,
): Promise<void> {
  try {
    for (const { address } of offers.assets) {
      if (!(await pool.isAsset(address)))
        logger.warn({ asset: address }, "the pool does not take this asset");
    }
    if (offers.swaps && (await pool.executor()) === undefined) {
      logger.warn("swaps are on, and the pool has no executor");
    }
  } catch (error) {
    if (!(error instanceof ChainUnreachable)) throw error;
  }
}

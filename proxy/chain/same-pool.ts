/** Whether the configured pool is the one that our circuits were made for; asked once, at the start. */
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";
import type { Logger } from "../logging.ts";
import type { Pool } from "./pool.ts";
import { ChainAway, type Chain } from "./provider.ts";

/** A pool with other circuits would refuse everything we send, so it ends the start; a node that is away may come back. */
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
    if (!(error instanceof ChainAway)) throw error;
    logger.warn({ reason: error.message }, "the chain cannot be asked; starting all the same");
  }
}

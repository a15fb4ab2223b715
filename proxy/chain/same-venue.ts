/** Whether quotes and swaps mean the same Uniswap: asked once, at the start. */
import { Interface } from "ethers";
import { asAddress, type Address } from "../../shared/protocol/brands.ts";
import type { Logger } from "../logging.ts";
import type { Pool } from "./pool.ts";
import { ChainUnreachable, ChainRefused } from "./json-rpc.ts";
import type { Chain } from "./provider.ts";
import { VENUE_ABI, type VenueAddresses } from "./venue.ts";

/**
 * A quoter of another factory is a slip in the settings and ends the start. The executor is the pool owner's, who
 * may change it while we run: quotes of another market than it trades on are only warned of, since floors hold.
 */
export async function requireSameVenue(
  chain: Pick<Chain, "call">,
  pool: Pick<Pool, "executor">,
  { factory, quoter }: VenueAddresses,
  logger: Logger,
): Promise<void> {
  try {
    if ((await factoryOf(chain, quoter)) !== factory)
      throw new Error("CLOISTER_SWAP_QUOTER is no quoter of CLOISTER_SWAP_FACTORY");
    const executor = await pool.executor();
    if (executor !== undefined && (await factoryOf(chain, executor)) !== factory)
      logger.warn({ executor }, "the pool's executor does not trade on CLOISTER_SWAP_FACTORY");
  } catch (error) {
    if (!(error instanceof ChainUnreachable)) throw error;
    logger.warn({ reason: error.message }, "the venue cannot be asked; starting all the same");
  }
}

async function factoryOf(chain: Pick<Chain, "call">, contract: Address): Promise<Address | undefined> {
  const abi = new Interface(VENUE_ABI);
  try {
    const answer = await chain.call({ to: contract, data: abi.encodeFunctionData("factory") });
    return asAddress(abi.decodeFunctionResult("factory", answer)[0]);
  } catch (error) {
    if (error instanceof ChainUnreachable) throw error;
    if (error instanceof ChainRefused && !/revert/i.test(error.message))
      throw new ChainUnreachable("the node refused a question about the venue", { cause: error });
    // Reverted, or answered something else: no contract that has a factory.
    return undefined;
  }
}

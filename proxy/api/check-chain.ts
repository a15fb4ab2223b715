/**
 * What must be true of the chain before this proxy serves: our keys, our pool, our venue; asked once, at the start.
 * Warns of what only may be wrong. A node that is unreachable may come back, so its silence ends no start.
 */
import { Interface } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";
import type { Config } from "./config.ts";
import type { Logger } from "../base/logging.ts";
import { developmentKeyHashes, requireNoDevelopmentKeys } from "../base/chain/development-keys.ts";
import { ChainRefused, ChainUnreachable } from "../base/chain/json-rpc.ts";
import type { Pool } from "../base/chain/pool.ts";
import type { Chain } from "../base/chain/provider.ts";
import { VENUE_ABI, type VenueAddresses } from "./swap/venue.ts";

export async function checkChain(
  config: Config,
  chain: Chain,
  pool: Pool,
  ourKeys: ReadonlyMap<Kind, string>,
  logger: Logger,
): Promise<void> {
  if (config.production) await requireNoDevelopmentKeys(ourKeys, pool, await developmentKeyHashes());
  await requireSamePool(chain, pool, (kind) => ourKeys.get(kind), logger);
  await warnOfOffers(pool, config, logger);
  await requireRoomForCalls(chain, config.calls.maxGas);
  if (config.venue !== undefined) await requireSameVenue(chain, pool, config.venue, logger);
}

/** A pool with other circuits would refuse everything we send, so it ends the start. */
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
    const { message } = asUnreachable(error);
    logger.warn({ reason: message }, "the chain cannot be asked; starting all the same");
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
    if (offers.swaps && (await pool.executor()) === undefined)
      logger.warn("swaps are on, and the pool has no executor");
  } catch (error) {
    asUnreachable(error);
  }
}

/** A full call that no block of this chain could hold would wait permanently, and everything behind it. */
export async function requireRoomForCalls(chain: Pick<Chain, "header">, maxGas: bigint): Promise<void> {
  try {
    const { gasLimit } = (await chain.header("latest")) ?? {};
    if (gasLimit !== undefined && gasLimit < maxGas)
      throw new Error(`CLOISTER_GAS_PER_CALL is more than a block of the chain holds, ${String(gasLimit)}`);
  } catch (error) {
    asUnreachable(error);
  }
}

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
    const { message } = asUnreachable(error);
    logger.warn({ reason: message }, "the venue cannot be asked; starting all the same");
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

/** Throws everything else again. */
function asUnreachable(error: unknown): ChainUnreachable {
  if (error instanceof ChainUnreachable) return error;
  throw error;
}

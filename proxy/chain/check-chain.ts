/** What must be true of the chain before this proxy serves: our keys, our pool, our venue. Warns of what only may be wrong. */
import type { Kind } from "../../shared/protocol/statements.ts";
import type { Config } from "../config.ts";
import type { Logger } from "../logging.ts";
import { developmentKeyHashes, requireNoDevelopmentKeys } from "./development-keys.ts";
import type { Pool } from "./pool.ts";
import type { Chain } from "./provider.ts";
import { requireSamePool, warnOfOffers } from "./same-pool.ts";
import { requireSameVenue } from "./same-venue.ts";

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
  if (config.venue !== undefined) await requireSameVenue(chain, pool, config.venue, logger);
}

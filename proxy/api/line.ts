/** The way of a payment behind the edge: fees, the bridges, and the line that submits. */
import { openBridges } from "./bridge/open-bridges.ts";
import { Fees } from "./fees/fee-rules.ts";
import { createTickets } from "./payments/tickets.ts";
import { Prices } from "../base/prices/prices.ts";
import { createRelayErrands } from "./sequencer/relay-errands.ts";
import { Sequencer } from "./sequencer/sequencer.ts";
import type { Ground } from "./ground.ts";
import type { Enclaves } from "./enclaves.ts";

export type Line = Awaited<ReturnType<typeof openLine>>;

export async function openLine(ground: Ground, { attestor }: Pick<Enclaves, "attestor">) {
  const { config, logger, metrics, now, bridgeSettings, chain, pool, tokens, stores, data, indexer } = ground;
  const prices = new Prices({
    ...config,
    chain,
    store: stores.prices,
    logger: logger.child({ part: "prices" }),
    now,
  });
  const fees = new Fees({ ...config, prices, store: stores.feeRules, now });
  await stores.feeRules.describe(config);
  await prices.refresh();
  await fees.refresh();
  const bridges =
    bridgeSettings &&
    openBridges({
      ...{ settings: bridgeSettings, store: stores.bridges, relay: stores.relay, fees, pool, now },
      poolAddress: config.pool,
    });
  const errands =
    bridgeSettings &&
    createRelayErrands({
      ...{ store: stores.relay, fence: () => sequencer.fence(), logger: logger.child({ part: "errands" }) },
      ...{ forwarders: bridgeSettings.factory, transmitter: bridgeSettings.home.transmitter },
    });
  const sequencer: Sequencer = new Sequencer(
    {
      ...{ chain, pool, tokens, attestor, store: stores.tickets, lease: stores.lease, data },
      ...{ tree: indexer.tree, sync: () => indexer.sync(), wallet: ground.wallet, metrics, now },
      logger: logger.child({ part: "sequencer" }),
      ...(errands === undefined ? {} : { errands }),
    },
    { confirmations: config.confirmations, pollIntervalMs: config.blockPollMs, ...config.calls },
  );
  const tickets = createTickets(stores.tickets, {
    tipNumber: () => data.tip()?.number,
    blockedBy: (kind) => sequencer.blockedBy(kind),
  });
  tickets.onChange(({ status }) => {
    if (status.state === "queued") sequencer.wakeForTicket();
  });
  indexer.onChange(() => sequencer.wake());
  const wake = (): void => sequencer.wake();
  const unfollow = errands && stores.relay.follow({ offered: wake, missed: wake });
  return {
    ...{ prices, fees, bridges, sequencer, tickets },
    /** Nobody waits for a ticket any more. */
    endWaiting() {
      tickets.close();
      unfollow?.();
    },
  };
}

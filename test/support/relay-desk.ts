// What of the relay stands between the chains and the proxies: statuses told, signatures answered, over a book and a burn
// desk that the test makes, under the real lease of a real store.
import { createLogger } from "../../proxy/base/logging.ts";
import type { BridgeSettings } from "../../proxy/base/bridge/bridge.settings.ts";
import type { BridgeRecord } from "../../proxy/base/store/bridge-records.ts";
import type { InstanceStores } from "../../proxy/base/store/instance.ts";
import type { Book, BurnDesk } from "../../proxy/relay/requests.ts";
import { startSignatures } from "../../proxy/relay/signatures.ts";
import { statusView } from "../../proxy/relay/status.ts";
import { startTelling } from "../../proxy/relay/telling.ts";
import { until } from "./until.ts";
import type { WatchingBook } from "../../proxy/relay/chain-book.ts";
import { overriding } from "./overriding.ts";

export interface RelayDeskParts {
  readonly stores: Pick<InstanceStores, "bridges" | "relay" | "relayLease">;
  readonly book: Book;
  readonly settings: BridgeSettings;
  readonly now: () => number;
  readonly desk?: BurnDesk;
}

/** Resolves once it has said how it stands. */
type WatchedBook = Book & Pick<WatchingBook, "records">;

export async function startRelayDesk({ stores, book, settings, now, desk }: RelayDeskParts) {
  const held = await stores.relayLease.take("test", 3_600_000);
  const fence = () => held;
  const records = new Map<string, BridgeRecord>();
  const unfollow = stores.bridges.follow((record) => {
    if (record.closedAt === undefined) records.set(record.id, record);
    else records.delete(record.id);
  });
  const logger = createLogger("silent");
  const telling = startTelling({
    ...{ book: overriding(book as WatchedBook, { records: () => records.values() }), store: stores.relay },
    ...{ statusOf: statusView(settings), fence, now, logger, everyMs: 5 },
  });
  const signatures =
    desk &&
    startSignatures({ ...{ desk, store: stores.relay, fence, logger }, recordOf: (id) => records.get(id) });
  await until("the relay to stand", async () => (await stores.relay.standing()) !== undefined);
  return {
    async stop(): Promise<void> {
      unfollow();
      await Promise.all([telling.stop(), signatures?.stop()]);
    },
  };
}

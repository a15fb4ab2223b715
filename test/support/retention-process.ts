/** Removes ended tickets of a store, and prints after each step how many went, until it is done or killed. */
import { createRetention } from "../../proxy/api/sequencer/retention.ts";
import { embeddedStores, sharedStores } from "../../proxy/base/store/instance.ts";
import { openDatabase } from "../../proxy/base/store/lmdb/database.ts";

const [place = "", pool = "", leaseMs = ""] = process.argv.slice(2);
const stores = place.startsWith("redis:")
  ? await sharedStores({ url: place, instance: { chainId: 1, pool } })
  : embeddedStores(openDatabase(place));
const fence = await stores.lease.take("the one that is killed", Number(leaseMs));
await createRetention({
  tickets: {
    underLease: (held) => {
      const writes = stores.tickets.underLease(held);
      return {
        ...writes,
        async removeEnded(...range) {
          const done = await writes.removeEnded(...range);
          process.stdout.write(`${String(done.gone)}\n`);
          return done;
        },
      };
    },
  },
  usage: stores.usage,
  fence: () => fence,
  ...{ endedTicketsDays: 1, usageDays: 1, now: Date.now },
  logger: { info: () => undefined, warn: () => undefined },
}).run();
process.exit(0);

// The durable Redis, against what every store promises: two proxies' connections to one real server, an instance of
// its own for each test.
import { storesIn } from "../../../proxy/base/store/instance.ts";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { openDurableRedis, type DurableRedis } from "../../../proxy/base/store/redis/durable.ts";
import { openRedisEngine } from "../../../proxy/base/store/redis/engine.ts";
import { startDurableRedis, type RedisServer } from "../../support/redis.ts";
import { storeSuites } from "../../support/stores/both.ts";
import { engineSuite, type Engines } from "../../support/stores/engine.ts";

describe("stores in Redis", () => {
  let server: RedisServer;
  let links: DurableRedis[] = [];
  let made = 0;
  before(async () => {
    server = await startDurableRedis();
  });
  afterEach(() => {
    for (const link of links) link.close();
    links = [];
  });
  after(() => server.kill());

  async function open(): Promise<void> {
    made++;
    // Longer than in production: this machine may be busy with other tests.
    const options = { url: server.url, instance: { chainId: made, pool: "0xPool" }, deadlineMs: PATIENCE_MS };
    links = await Promise.all([openDurableRedis(options), openDurableRedis(options)]);
  }

  describe("engine", () => {
    let engines: Engines;
    beforeEach(async () => {
      await open();
      const [one, other] = links.map(openRedisEngine);
      engines = { one: one!, other: other!, following: other! };
    });
    engineSuite(() => engines);
  });

  storeSuites(async () => {
    await open();
    const [one, other] = links.map(storesIn);
    return {
      one: one!,
      other: other!,
      async lapse() {
        const [link] = links as [DurableRedis];
        for (const key of (await link.send(["KEYS", `${link.key("idempotency:live:")}*`])) as string[])
          await link.send(["DEL", key]);
        return other!;
      },
    };
  });
});

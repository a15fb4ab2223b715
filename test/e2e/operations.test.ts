// The operator's port of the whole service: the figures of a real deposit, from its request to its final block, of a Redis
// that goes and comes back, and a proxy that is ready while it serves and not when it has been told to stop.
import assert from "node:assert/strict";
import { loggedLines } from "../../scripts/base/service.ts";
import { readExposition, type Exposition } from "../support/exposition.ts";
import { promtool } from "../support/promtool.ts";
import { startRedis, type RedisServer } from "../support/redis.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;

describe("the operator's port of a whole service", function () {
  let on: TestStack;
  let redis: RedisServer;
  let url: string;

  before(async () => {
    redis = await startRedis();
    on = await startTestStack({
      proxySettings: { CLOISTER_OPERATIONS_PORT: "0", CLOISTER_LIMITS_REDIS_URL: redis.url },
    });
    url = on.local.operationsUrl() ?? assert.fail("the port is off");
  });
  after(async () => {
    await redis.kill();
    await on.stop();
  });

  const scrape = async (): Promise<Exposition> =>
    readExposition(await (await fetch(`${url}/metrics`)).text());
  const ready = async (): Promise<number | undefined> =>
    fetch(`${url}/ready`).then(
      ({ status }) => status,
      () => undefined,
    );
  const logLines = (): Promise<Record<string, unknown>[]> => loggedLines(on.local.folder.log("proxy"));

  it("tells a deposit's way, in figures and by its request's id in the log", async () => {
    await until("the proxy to be ready", async () => (await ready()) === 200);
    const before = await scrape();
    assert.equal(before.value("cloister_tickets_accepted_total", { kind: "deposit-shield" }), 0);
    const wallet = await on.wallet();
    const depositor = await on.depositor(10n * UNIT);
    const { ticket } = await wallet.deposit(10n * UNIT, depositor);
    const id = ticket.ticket_id;
    await until("the ticket to end", async () => (await on.client.ticket(id)).state === "finalized");

    const { value, samples } = await until("the figures to say so", async () => {
      const now = await scrape();
      return now.value("cloister_tickets_ended_total", { state: "finalized", code: "none" }) === 1 && now;
    });
    assert.equal(value("cloister_tickets_accepted_total", { kind: "deposit-shield" }), 1);
    assert.equal(value("cloister_ticket_confirmation_seconds_count"), 1);
    assert.equal(value("cloister_gas_per_ticket_count"), 1);
    const answered = { enclave: "0", request: "attest", outcome: "answered" };
    assert.equal(value("cloister_enclave_requests_total", answered), 1);
    const posted = samples.filter(({ labels }) => labels["endpoint"] === "POST /sequence/deposit-shield");
    assert.deepEqual(
      posted.filter(({ name }) => name === "cloister_http_requests_total").map(({ value: count }) => count),
      [1],
    );
    assert.ok(value("cloister_gas_wallet_balance_ether") > 0);
    assert.ok(value("cloister_room_units", { asset: "0", way: "attested" }) > 0);
    assert.ok(value("cloister_room_units", { asset: "0", way: "proved" }) > 0);
    assert.equal(value("cloister_claimed_units", { asset: "0", state: "waiting" }), 0);
    assert.equal(value("cloister_unsound"), 0);
    assert.ok(value("cloister_indexed_block") > 0);
    assert.ok(value("cloister_rpc_requests_total", { method: "eth_getLogs", outcome: "answered" }) > 0);
    assert.ok(value("process_resident_memory_bytes") > 0);
    assert.equal(value("cloister_lease_held"), 1);
    assert.equal(value("cloister_lease_events_total", { event: "taken" }), 1);
    assert.deepEqual(
      ["queued", "submitted", "confirmed"].map((state) => value("cloister_tickets", { state })),
      [0, 0, 0],
    );
    assert.ok(samples.some(({ name }) => name === "cloister_oldest_waiting_ticket_seconds"));

    // Lines are written behind the work.
    const [sent, request] = await until("the log to be written", async () => {
      const lines = await logLines();
      const batch = lines.find(
        ({ msg, carries }) => msg === "a batch is sent" && JSON.stringify(carries).includes(id),
      );
      const post = lines.find(({ msg, path }) => msg === "request" && path === "/sequence/deposit-shield");
      return batch !== undefined && post !== undefined && ([batch, post] as const);
    });
    assert.equal(typeof request["request_id"], "string");
    assert.deepEqual(sent["carries"], [{ ticket: id, request_id: request["request_id"] }]);
    assert.equal((await on.client.ticket(id)).tx_hash, sent["tx"]);
  });

  it("has figures that Prometheus' own tool takes, but for three names that are not ours (needs promtool)", async function () {
    const text = await (await fetch(`${url}/metrics`)).text();
    const judged = await promtool(["check", "metrics"], text);
    if (judged === undefined) return this.skip();
    // Gauges of prom-client's own that end like counters.
    const known = ["handles", "requests", "resources"].map(
      (what) => `nodejs_active_${what}_total non-counter metrics should not have "_total" suffix`,
    );
    assert.deepEqual(judged.said.trim().split("\n").sort(), known);
    const spoilt = await promtool(
      ["check", "metrics"],
      `${text}# TYPE cloister_odd counter\ncloister_odd 1\n`,
    );
    assert.match(spoilt?.said ?? "", /cloister_odd counter metrics should have "_total" suffix/);
  });

  it("says when the Redis of its limits is unreachable, and when it is back", async () => {
    const isUnreachable = async (wanted: number): Promise<boolean> => {
      // It is noticed by whoever is counted.
      await on.client.whoami();
      const { samples } = await scrape();
      const found = samples.filter(({ name }) => name === "cloister_redis_unreachable");
      assert.deepEqual(
        found.map(({ labels }) => labels),
        [{ use: "limits" }],
      );
      return found[0]?.value === wanted;
    };
    await until("it to be there", () => isUnreachable(0));
    await redis.kill();
    await until("its absence to be told", () => isUnreachable(1));
    await redis.start();
    await until("its return to be told", () => isUnreachable(0));
  });

  it("is not ready any more when it has been told to stop, and then gone", async () => {
    assert.equal(await ready(), 200);
    const stopped = on.local.proxy().ended;
    process.kill(on.local.proxy().pid, "SIGTERM");
    await until("it to be not ready, or gone", async () => (await ready()) !== 200);
    assert.equal(await stopped, "exit code 0");
    assert.equal(await ready(), undefined);
    await on.local.restartProxy();
    url = on.local.operationsUrl() ?? assert.fail("the port is off");
    await until("it to be ready again", async () => (await ready()) === 200);
  });
});

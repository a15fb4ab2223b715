/**
 * Two proxies around one Redis that is slow, takes no writes or is full, and a proxy that is cut off from it or from
 * the enclave. Real processes and proofs; what stands between a proxy and its parties carries bytes and nothing else.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { DepositBody, Ticket } from "../../shared/api/transactions.ts";
import type { Health } from "../../shared/api/service.ts";
import { startByteRelay, type ByteRelay } from "../support/byte-relay.ts";
import { redisCommand } from "../support/redis.ts";
import { startTestCluster, type TestCluster } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { Proxies, type Posted } from "./proxies.ts";

const PROXIES = 2;

describe("a store that fails under a cluster", function () {
  let on: TestCluster;
  let proxies: Proxies;
  let folder: string;
  /** Between each proxy and the Redis, and between it and the enclave. */
  const toRedis: ByteRelay[] = [];
  const toEnclave: ByteRelay[] = [];

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-relays-"));
    on = await startTestCluster(
      { proxies: PROXIES, enclaves: 1, threshold: 1 },
      {
        proxySettings: { CLOISTER_OPERATIONS_PORT: "0" },
        eachProxy: async (number, settings) => {
          const redis = new URL(settings["CLOISTER_STORE_REDIS_URL"] ?? "");
          const [, socket = "", port = ""] =
            /^unix:(.*):(\d+)$/.exec(settings["CLOISTER_ENCLAVES"] ?? "") ?? [];
          const own = path.join(folder, `enclave-${String(number)}`);
          toRedis[number] = await startByteRelay(0, Number(redis.port));
          toEnclave[number] = await startByteRelay(own, socket);
          redis.port = String(toRedis[number].port);
          return {
            ...settings,
            CLOISTER_STORE_REDIS_URL: redis.href,
            CLOISTER_ENCLAVES: `unix:${own}:${port}`,
          };
        },
      },
    );
    proxies = new Proxies(on, PROXIES);
  });
  after(async () => {
    await on.stop();
    for (const relay of [...toRedis, ...toEnclave]) await relay.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(async () => {
    await repairAll();
    await on.setMining(true);
  });

  const redis = (...args: string[]): Promise<unknown> => redisCommand(on.cluster.redis().url, ...args);
  async function repairAll(): Promise<void> {
    for (const relay of [...toRedis, ...toEnclave]) {
      relay.delay(0);
      relay.repair();
    }
    await redis("REPLICAOF", "NO", "ONE");
    await redis("CONFIG", "SET", "maxmemory", "0");
    await redis("CONFIG", "SET", "min-replicas-to-write", "0");
  }

  const BUSY = "STORE_UNAVAILABLE";
  /** Refused in words of the interface, while what is wrong is still wrong, and with no ticket. */
  function requireRefused({ status, answer }: Posted, code = BUSY): void {
    const { code: said, retryable } = answer as { code?: string; retryable?: boolean };
    assert.deepEqual([status, said, retryable], [503, code, true], JSON.stringify(answer));
  }
  function ticketIn({ status, answer }: Posted): Ticket {
    assert.equal(status, 202, JSON.stringify(answer));
    return answer as Ticket;
  }
  /** Posted again until it is taken, as its client would. */
  const accepted = (number: number, body: DepositBody): Promise<Ticket> =>
    until("the request to be taken", async () => {
      const posted = await proxies.post(number, body);
      return posted.status === 202 && ticketIn(posted);
    });
  const stateAt = async (number: number, { ticket_id }: Ticket): Promise<string> =>
    (await proxies.at(number).ticket(ticket_id)).state;
  const sent = (number: number, ticket: Ticket): Promise<true> =>
    until("the ticket to be sent", async () => (await stateAt(number, ticket)) === "submitted");
  /** Of the operator's port, which asks for no credential. */
  const ready = async (number: number): Promise<number> =>
    (await fetch(`${on.local.operationsUrl(number) ?? ""}/ready`)).status;
  const allReady = (): Promise<true> =>
    until("every proxy to be ready", async () =>
      (await Promise.all([0, 1].map(ready))).every((status) => status === 200),
    );
  const part = (health: Posted, name: "store" | "enclave"): unknown =>
    (health.answer as Health).checks?.[name].state;

  describe("slow", () => {
    it("silent: every request is refused meanwhile, nothing is taken, and the order holds", async () => {
      const [one, two, three] = [
        await proxies.aDeposit(),
        await proxies.aDeposit(),
        await proxies.aDeposit(),
      ];
      await on.setMining(false);
      const { number } = await proxies.leader();
      const before = ticketIn(await proxies.post(number, one));
      await sent(number, before);
      for (const relay of toRedis) relay.swallow();
      for (const posted of await Promise.all([proxies.post(0, two), proxies.post(1, three)]))
        requireRefused(posted);
      requireRefused(await proxies.post(0, two));
      assert.deepEqual([await ready(0), await ready(1)], [503, 503]);
      for (const relay of toRedis) {
        relay.repair();
        await relay.release();
      }
      await allReady();
      const second = await accepted(0, two);
      const third = await accepted(1, three);
      assert.equal((await accepted(1, two)).ticket_id, second.ticket_id);
      await on.setMining(true);
      await proxies.requireOnce([before, second, third], [0, 1]);
    });

    it("late with every answer: served, and the same proxy goes on submitting", async () => {
      const bodies = [await proxies.aDeposit(), await proxies.aDeposit()];
      const before = await proxies.leader();
      for (const relay of toRedis) relay.delay(60);
      const tickets = [
        ticketIn(await proxies.post(0, bodies[0]!)),
        ticketIn(await proxies.post(1, bodies[1]!)),
      ];
      await proxies.requireOnce(tickets, [1, 0]);
      assert.deepEqual(await proxies.leader(), before);
    });

    it("too late for one proxy only: that one refuses and loses the lease, the other goes on", async () => {
      const [one, two] = [await proxies.aDeposit(), await proxies.aDeposit()];
      const { number, fence } = await proxies.leader();
      const [other] = proxies.others(number) as [number];
      toRedis[number]!.delay(1_500);
      requireRefused(await proxies.post(number, one));
      assert.equal((await proxies.newLeader(fence)).number, other);
      const first = ticketIn(await proxies.post(other, one));
      await proxies.requireOnce([first], [other]);
      toRedis[number]!.delay(0);
      await allReady();
      assert.equal(await stateAt(number, first), "finalized");
      await proxies.requireOnce([ticketIn(await proxies.post(number, two))], [number]);
    });
  });

  describe("read-only", () => {
    it("without replicas enough to write: refuses what is new, shows what there is, and goes on afterwards", async () => {
      const [one, two] = [await proxies.aDeposit(), await proxies.aDeposit()];
      await on.setMining(false);
      const { number } = await proxies.leader();
      const before = ticketIn(await proxies.post(number, one));
      await sent(number, before);
      await redis("CONFIG", "SET", "min-replicas-to-write", "1");
      for (const at of [0, 1]) {
        requireRefused(await proxies.post(at, two));
        requireRefused(await proxies.post(at, two, { "Idempotency-Key": "two" }));
        assert.equal(await stateAt(at, before), "submitted");
        assert.equal((await proxies.ask(at, "/merkle/root")).status, 200);
        const health = await proxies.ask(at, "/health");
        assert.deepEqual([health.status, part(health, "store")], [503, "down"]);
      }
      // Its transaction is mined while nobody can write that down.
      await on.mine(5);
      assert.equal((await on.executions(before.statement)).length, 1);
      assert.equal(await stateAt(0, before), "submitted");
      await redis("CONFIG", "SET", "min-replicas-to-write", "0");
      await allReady();
      const after = ticketIn(await proxies.post(1, two));
      await on.setMining(true);
      await proxies.requireOnce([before, after], [0, 1]);
    });

    it("made a replica: refuses everything, since what a replica shows may be old, and goes on afterwards", async () => {
      const [one, two] = [await proxies.aDeposit(), await proxies.aDeposit()];
      await on.setMining(false);
      const before = ticketIn(await proxies.post(0, one));
      await redis("REPLICAOF", "127.0.0.1", "1");
      for (const at of [0, 1]) {
        requireRefused(await proxies.post(at, two));
        await until("it to be left", async () => {
          const asked = await proxies.ask(at, `/sequence/ticket/${before.ticket_id}`);
          return asked.status === 503;
        });
        assert.equal(await ready(at), 503);
      }
      await redis("REPLICAOF", "NO", "ONE");
      await allReady();
      const after = ticketIn(await proxies.post(1, two));
      await on.setMining(true);
      await proxies.requireOnce([before, after], [0, 1]);
    });
  });

  it("full: refuses what is new before it is accepted, and carries what was accepted to its end", async () => {
    const [one, two, three] = [await proxies.aDeposit(), await proxies.aDeposit(), await proxies.aDeposit()];
    await on.setMining(false);
    const { number } = await proxies.leader();
    const tickets = [ticketIn(await proxies.post(0, one)), ticketIn(await proxies.post(1, two))];
    await sent(number, tickets[0]!);
    await redis("CONFIG", "SET", "maxmemory", "1");
    for (const at of [0, 1]) {
      requireRefused(await proxies.post(at, three, { "Idempotency-Key": "three" }));
      const health = await proxies.ask(at, "/health");
      assert.deepEqual([health.status, part(health, "store")], [503, "down"]);
    }
    await on.setMining(true);
    await proxies.requireOnce(tickets, [0, 1]);
    await redis("CONFIG", "SET", "maxmemory", "0");
    const last = ticketIn(await proxies.post(0, three, { "Idempotency-Key": "three" }));
    const again = ticketIn(await proxies.post(1, three, { "Idempotency-Key": "three" }));
    assert.equal(again.ticket_id, last.ticket_id);
    await proxies.requireOnce([...tickets, last], [1, 0]);
  });

  describe("unreachable for one proxy only", () => {
    it("its connections are cut: it refuses, the other takes over what it had sent, and it serves again", async () => {
      const [one, two, three] = [
        await proxies.aDeposit(),
        await proxies.aDeposit(),
        await proxies.aDeposit(),
      ];
      await on.setMining(false);
      const { number, fence } = await proxies.leader();
      const [other] = proxies.others(number) as [number];
      const first = ticketIn(await proxies.post(number, one));
      await sent(other, first);
      toRedis[number]!.cut();
      requireRefused(await proxies.post(number, two));
      assert.equal(await ready(number), 503);
      const second = ticketIn(await proxies.post(other, two));
      assert.equal((await proxies.newLeader(fence)).number, other);
      await on.setMining(true);
      await proxies.requireOnce([first, second], [other]);
      toRedis[number]!.repair();
      await allReady();
      const third = ticketIn(await proxies.post(number, three));
      await proxies.requireOnce([first, second, third], [number]);
    });

    it("the network swallows what it sends: likewise, and what arrives in the end changes nothing", async () => {
      const [one, two] = [await proxies.aDeposit(), await proxies.aDeposit()];
      await on.setMining(false);
      const { number, fence } = await proxies.leader();
      const [other] = proxies.others(number) as [number];
      // Accepted by the other one, so that the sequencer's next write is the one that is swallowed.
      toRedis[number]!.swallow();
      const first = ticketIn(await proxies.post(other, one));
      requireRefused(await proxies.post(number, two));
      assert.equal((await proxies.newLeader(fence)).number, other);
      await on.setMining(true);
      await proxies.requireOnce([first], [other]);
      toRedis[number]!.repair();
      await toRedis[number]!.release();
      await allReady();
      const second = ticketIn(await proxies.post(number, two));
      await proxies.requireOnce([first, second], [number, other]);
    });
  });

  it("a proxy that is cut off from the enclave says so and takes nothing new; the other serves", async () => {
    const [one, two] = [await proxies.aDeposit(), await proxies.aDeposit()];
    const { number } = await proxies.leader();
    const [other] = proxies.others(number) as [number];
    toEnclave[other]!.cut();
    requireRefused(await proxies.post(other, one), "ENCLAVE_UNAVAILABLE");
    const health = await proxies.ask(other, "/health");
    assert.deepEqual([health.status, part(health, "enclave")], [503, "down"]);
    const first = ticketIn(await proxies.post(number, one));
    await proxies.requireOnce([first], [other]);
    toEnclave[other]!.repair();
    await proxies.requireOnce([first, await accepted(other, two)], [number]);
  });

  it("the one that submits, cut off from the enclave, lets the other submit, which has it sign the roots", async () => {
    const [one, two] = [await proxies.aDeposit(), await proxies.aDeposit()];
    const { number, fence } = await proxies.leader();
    const [other] = proxies.others(number) as [number];
    toEnclave[number]!.cut();
    const first = ticketIn(await proxies.post(other, one));
    assert.equal((await proxies.newLeader(fence)).number, other);
    await until("a root over every leaf", async () => (await proxies.at(number).merkleRoot()).pending === 0);
    await proxies.requireOnce([first], [number]);
    toEnclave[number]!.repair();
    await proxies.requireOnce([first, await accepted(number, two)], [other]);
  });
});

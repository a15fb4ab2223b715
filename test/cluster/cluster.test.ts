/**
 * Three proxies and two enclaves around one Redis, each a process of its own, with real proofs. What any of them
 * took is carried out once, whichever of them is killed, held still past its lease, or left without its store.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createClient, type Client } from "../../shared/client/index.ts";
import type { DepositBody, Ticket } from "../../shared/api/transactions.ts";
import { capture, capturing } from "../support/captured.ts";
import { documentedFetch } from "../support/documented.ts";
import { startTestCluster, type TestCluster } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;
const PROXIES = 3;
/** A lease that its holder does not keep is over after five seconds. */
const TAKEN_OVER_MS = 30_000;

describe("a cluster of proxies and enclaves", function () {
  this.timeout(120_000);
  let on: TestCluster;
  const frozen = new Set<number>();

  before(async () => {
    on = await startTestCluster({ proxies: PROXIES, enclaves: 2, threshold: 2 });
  });
  after(async () => {
    thaw();
    await on.stop();
  });
  afterEach(async () => {
    thaw();
    await on.setMining(true);
  });

  function freeze(pid: number): void {
    process.kill(-pid, "SIGSTOP");
    frozen.add(pid);
  }
  function thaw(): void {
    for (const pid of frozen) process.kill(-pid, "SIGCONT");
    frozen.clear();
  }

  /** Straight to one proxy. */
  function at(number: number): Client {
    const baseUrl = `http://127.0.0.1:${String(on.local.proxy(number).ready["port"])}`;
    const credential = { apiKey: on.stack.file.api_key };
    return createClient({ baseUrl, credential, fetch: documentedFetch(baseUrl) });
  }

  /** Once: the client library would try again. */
  async function post(
    number: number,
    body: DepositBody,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly answer: unknown }> {
    const url = `http://127.0.0.1:${String(on.local.proxy(number).ready["port"])}/sequence/deposit-shield`;
    const response = await fetch(url, {
      method: "POST",
      headers: { "X-API-Key": on.stack.file.api_key, "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, answer: await response.json() };
  }

  /** Which proxy has taken the lease last, and under which fence. */
  async function leader(): Promise<{ readonly number: number; readonly fence: number }> {
    let found = { number: -1, fence: 0 };
    for (let number = 0; number < PROXIES; number++) {
      const log = await readFile(
        on.local.folder.log(number === 0 ? "proxy" : `proxy-${String(number + 1)}`),
        "utf8",
      );
      for (const [, fence] of log.matchAll(/"fence":(\d+),"msg":"this proxy submits"/g)) {
        if (Number(fence) > found.fence) found = { number, fence: Number(fence) };
      }
    }
    assert.ok(found.number >= 0, "nobody submits");
    return found;
  }
  const others = (number: number): number[] =>
    Array.from({ length: PROXIES }, (_, i) => i).filter((i) => i !== number);
  const newLeader = (before: number): Promise<{ readonly number: number }> =>
    until(
      "another proxy to submit",
      async () => {
        const now = await leader();
        return now.fence > before && now;
      },
      TAKEN_OVER_MS,
    );

  async function aDeposit(): Promise<DepositBody> {
    const wallet = await on.wallet({ through: capturing(on.client) });
    const depositor = await on.depositor(10n * UNIT);
    return capture<DepositBody>(wallet, () => wallet.deposit(10n * UNIT, depositor));
  }

  /** Final on whichever proxy is asked, executed by one chain transaction, in order of acceptance. */
  async function requireOnce(tickets: readonly Ticket[], ask: readonly number[]): Promise<void> {
    const leaves: number[] = [];
    for (const [i, { ticket_id, statement }] of tickets.entries()) {
      const client = at(ask[i % ask.length]!);
      const final = await until(
        "the ticket to become final",
        async () => {
          const now = await client.ticket(ticket_id);
          assert.ok(now.state !== "failed" && now.state !== "expired", now.state);
          return now.state === "finalized" && now;
        },
        60_000,
      );
      leaves.push(final.leaf_index[0]!);
      assert.equal((await on.executions(statement)).length, 1);
    }
    assert.deepEqual(
      leaves,
      [...leaves].sort((a, b) => a - b),
      "in order of acceptance",
    );
  }

  it("takes a request at any proxy, knows it at every other, and needs an attestation of both enclaves", async () => {
    const { token } = await at(2).createSession({
      sub: "somebody",
      perms: ["read"],
      ttl_secs: 600,
    });
    const tickets: Ticket[] = [];
    for (let number = 0; number < PROXIES; number++) {
      const body = await aDeposit();
      const ticket = await at(number).sequenceDeposit(body);
      for (const other of others(number)) {
        assert.equal((await at(other).ticket(ticket.ticket_id)).ticket_id, ticket.ticket_id);
        // The same request again, elsewhere, is the same ticket.
        assert.equal((await at(other).sequenceDeposit(body)).ticket_id, ticket.ticket_id);
      }
      tickets.push(ticket);
    }
    await requireOnce(tickets, [1, 2, 0]);
    const url = `http://127.0.0.1:${String(on.local.proxy(1).ready["port"])}/whoami`;
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200);
    for (let i = 0; i < PROXIES; i++) assert.equal((await on.client.health()).status, "ok");
  });

  it("answers who waits at one proxy with what another has done", async () => {
    const { number } = await leader();
    const [follower] = others(number) as [number];
    const body = await aDeposit();
    const { status, answer } = await post(follower, body, { Prefer: "wait=25" });
    const ticket = answer as Ticket;
    assert.ok(["confirmed", "finalized"].includes(ticket.state), `${String(status)} ${ticket.state}`);
    assert.equal((await on.executions(ticket.statement)).length, 1);
  });

  it("loses and doubles nothing when the one that submits is killed in the middle", async () => {
    const bodies = [await aDeposit(), await aDeposit(), await aDeposit()];
    await on.setMining(false);
    const { number, fence } = await leader();
    const tickets: Ticket[] = [];
    for (const body of bodies) tickets.push(await at(number).sequenceDeposit(body));
    await until("the first to be sent", async () => {
      const { state } = await at(others(number)[0]!).ticket(tickets[0]!.ticket_id);
      return state === "submitted";
    });
    await on.local.proxy(number).kill();
    await newLeader(fence);
    await on.setMining(true);
    await requireOnce(tickets, others(number));
    // The balancer passes over the dead one.
    for (let i = 0; i < PROXIES; i++)
      assert.equal((await on.client.ticket(tickets[0]!.ticket_id)).state, "finalized");
    await on.local.restartProxy(number);
    assert.equal((await at(number).ticket(tickets[2]!.ticket_id)).state, "finalized");
  });

  it("goes on without one that is held still past its lease, and lets it write nothing when it wakes", async () => {
    const [one, two, three] = [await aDeposit(), await aDeposit(), await aDeposit()];
    await on.setMining(false);
    const { number, fence } = await leader();
    const first = await at(number).sequenceDeposit(one);
    await until(
      "it to be sent",
      async () => (await at(number).ticket(first.ticket_id)).state === "submitted",
    );
    const { pid } = on.local.proxy(number);
    freeze(pid);
    const next = await newLeader(fence);
    const second = await at(next.number).sequenceDeposit(two);
    await on.setMining(true);
    await requireOnce([first, second], others(number));
    thaw();
    const third = await at(number).sequenceDeposit(three);
    await requireOnce([third], [number]);
    assert.equal((await leader()).number, next.number, "it does not take the lease back");
  });

  it("refuses with STORE_UNAVAILABLE while the Redis is away, and goes on where it was", async () => {
    const [first, body] = [await aDeposit(), await aDeposit()];
    await on.setMining(false);
    const before = await on.client.sequenceDeposit(first);
    process.kill(on.cluster.redis().pid, "SIGKILL");
    await on.cluster.redis().ended;
    for (let number = 0; number < PROXIES; number++) {
      const { status, answer } = await post(number, body);
      assert.deepEqual([status, (answer as { code: string }).code], [503, "STORE_UNAVAILABLE"]);
    }
    await on.cluster.restartRedis();
    const after = await until("the proxies to be back", async () => {
      const { status, answer } = await post(1, body);
      return status === 202 && (answer as Ticket);
    });
    await on.setMining(true);
    await requireOnce([before, after], [0, 1, 2]);
  });
});

/**
 * Three proxies and two enclaves around one Redis, each a process of its own, with real proofs. What any of them
 * took is carried out once, whichever of them is killed, held still past its lease, or left without its store.
 */
import assert from "node:assert/strict";
import type { Ticket } from "../../shared/api/transactions.ts";
import { frozenProcesses } from "../support/frozen.ts";
import { startTestCluster, type TestCluster } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { Proxies } from "./proxies.ts";

const PROXIES = 3;

describe("a cluster of proxies and enclaves", function () {
  let on: TestCluster;
  let proxies: Proxies;
  const { freeze, thaw } = frozenProcesses();

  before(async () => {
    on = await startTestCluster({ proxies: PROXIES, enclaves: 2, threshold: 2 });
    proxies = new Proxies(on, PROXIES);
  });
  after(async () => {
    thaw();
    await on.stop();
  });
  afterEach(async () => {
    thaw();
    await on.setMining(true);
  });

  it("takes a request at any proxy, knows it at every other, and needs an attestation of both enclaves", async () => {
    const { token } = await proxies.at(2).createSession({
      sub: "somebody",
      perms: ["read"],
      ttl_secs: 600,
    });
    const tickets: Ticket[] = [];
    for (let number = 0; number < PROXIES; number++) {
      const body = await proxies.aDeposit();
      const ticket = await proxies.at(number).sequenceDeposit(body);
      for (const other of proxies.others(number)) {
        assert.equal((await proxies.at(other).ticket(ticket.ticket_id)).ticket_id, ticket.ticket_id);
        // The same request again, elsewhere, is the same ticket.
        assert.equal((await proxies.at(other).sequenceDeposit(body)).ticket_id, ticket.ticket_id);
      }
      tickets.push(ticket);
    }
    await proxies.requireOnce(tickets, [1, 2, 0]);
    const url = `${proxies.url(1)}/whoami`;
    const answer = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    assert.equal(answer.status, 200);
    for (let i = 0; i < PROXIES; i++) assert.equal((await on.client.health()).status, "ok");
  });

  it("answers who waits at one proxy with what another has done", async () => {
    const { number } = await proxies.leader();
    const [follower] = proxies.others(number) as [number];
    const body = await proxies.aDeposit();
    const { status, answer } = await proxies.post(follower, body, { Prefer: "wait=25" });
    const ticket = answer as Ticket;
    assert.ok(["confirmed", "finalized"].includes(ticket.state), `${String(status)} ${ticket.state}`);
    assert.equal((await on.executions(ticket.statement)).length, 1);
  });

  it("loses and doubles nothing when the one that submits is killed in the middle", async () => {
    const bodies = [await proxies.aDeposit(), await proxies.aDeposit(), await proxies.aDeposit()];
    await on.setMining(false);
    const { number, fence } = await proxies.leader();
    const tickets: Ticket[] = [];
    for (const body of bodies) tickets.push(await proxies.at(number).sequenceDeposit(body));
    await until("the first to be sent", async () => {
      const { state } = await proxies.at(proxies.others(number)[0]!).ticket(tickets[0]!.ticket_id);
      return state === "submitted";
    });
    await on.local.proxy(number).kill();
    await proxies.newLeader(fence);
    await on.setMining(true);
    await proxies.requireOnce(tickets, proxies.others(number));
    // The balancer passes over the dead one.
    for (let i = 0; i < PROXIES; i++)
      assert.equal((await on.client.ticket(tickets[0]!.ticket_id)).state, "finalized");
    await on.local.restartProxy(number);
    assert.equal((await proxies.at(number).ticket(tickets[2]!.ticket_id)).state, "finalized");
  });

  it("goes on without one that is held still past its lease, and lets it write nothing when it wakes", async () => {
    const [one, two, three] = [await proxies.aDeposit(), await proxies.aDeposit(), await proxies.aDeposit()];
    await on.setMining(false);
    const { number, fence } = await proxies.leader();
    const first = await proxies.at(number).sequenceDeposit(one);
    await until(
      "it to be sent",
      async () => (await proxies.at(number).ticket(first.ticket_id)).state === "submitted",
    );
    const { pid } = on.local.proxy(number);
    freeze(pid);
    const next = await proxies.newLeader(fence);
    const second = await proxies.at(next.number).sequenceDeposit(two);
    await on.setMining(true);
    await proxies.requireOnce([first, second], proxies.others(number));
    thaw();
    const third = await proxies.at(number).sequenceDeposit(three);
    await proxies.requireOnce([third], [number]);
    assert.equal((await proxies.leader()).number, next.number, "it does not take the lease back");
  });

  it("refuses with STORE_UNAVAILABLE while the Redis is unreachable, and goes on where it was", async () => {
    const [first, body] = [await proxies.aDeposit(), await proxies.aDeposit()];
    await on.setMining(false);
    const before = await on.client.sequenceDeposit(first);
    process.kill(on.cluster.redis().pid, "SIGKILL");
    await on.cluster.redis().ended;
    for (let number = 0; number < PROXIES; number++) {
      const { status, answer } = await proxies.post(number, body);
      assert.deepEqual([status, (answer as { code: string }).code], [503, "STORE_UNAVAILABLE"]);
    }
    await on.cluster.restartRedis();
    const after = await until("the proxies to be back", async () => {
      const { status, answer } = await proxies.post(1, body);
      return status === 202 && (answer as Ticket);
    });
    await on.setMining(true);
    await proxies.requireOnce([before, after], [0, 1, 2]);
  });
});

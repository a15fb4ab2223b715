// How many connections a proxy holds, in all and from one address, and what the next one receives.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createMetrics, type Metrics } from "../../../proxy/base/observe/metrics.ts";
import { problem, type Problem } from "../../../shared/api/errors.ts";
import { readExposition } from "../../support/exposition.ts";
import { until } from "../../support/until.ts";
import { startEdge, type Edge, type EdgeOptions } from "../../support/edge.ts";

/** Those that are told why they are not served: of one address, and in all. */
const TOLD_HERE = 8;
const TOLD_IN_ALL = 64;

interface Caller {
  readonly socket: Socket;
  /** Sends a request; its status, or undefined when the connection ended instead. */
  ask(headers?: readonly string[]): Promise<number | undefined>;
  text(): string;
  readonly closed: Promise<unknown>;
}

describe("the cap on connections", () => {
  let edge: Edge;
  let metrics: Metrics;
  const callers: Caller[] = [];

  async function start(connections: EdgeOptions["connections"], more: EdgeOptions = {}): Promise<void> {
    metrics = createMetrics();
    edge = await startEdge({ ...more, metrics, ...(connections === undefined ? {} : { connections }) });
  }
  afterEach(async () => {
    for (const { socket } of callers.splice(0)) socket.destroy();
    await edge.stop();
  });

  /** Every address of 127.0.0.0/8 is this machine's. */
  async function call(from = "127.0.0.1"): Promise<Caller> {
    const socket = connect({ port: edge.port, host: "127.0.0.1", localAddress: from });
    let text = "";
    socket.on("error", () => undefined);
    socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await once(socket, "connect");
    const caller: Caller = {
      socket,
      closed,
      text: () => text,
      async ask(headers = []) {
        const before = text.length;
        const lines = ["GET /whoami HTTP/1.1", "Host: x", `X-API-Key: ${edge.key}`, ...headers];
        socket.write(`${lines.join("\r\n")}\r\n\r\n`);
        await until("an answer, or the end", () => socket.destroyed || /\}$/.test(text.slice(before)));
        const status = /^HTTP\/1\.1 ([0-9]{3})/.exec(text.slice(before))?.[1];
        return status === undefined ? undefined : Number(status);
      },
    };
    callers.push(caller);
    return caller;
  }
  const several = async (count: number, from?: string): Promise<Caller[]> => {
    const all = [];
    for (let i = 0; i < count; i++) all.push(await call(from));
    return all;
  };
  const problemOf = ({ text }: Caller): Problem =>
    problem.parse(JSON.parse(text().split("\r\n\r\n").at(-1) ?? ""));
  const refused = async (by: string): Promise<number> =>
    readExposition(await metrics.text()).value("cloister_connections_refused_total", { by });

  it("of one address is felt by that address alone, told to a few and then not told", async () => {
    await start({ all: 1_000, perAddress: 3 });
    const good = await several(3);
    for (const caller of good) assert.equal(await caller.ask(), 200);
    const told = await several(TOLD_HERE);
    const beyond = await several(2);
    for (const caller of beyond) assert.equal(await caller.ask(), undefined);
    // Whoever it is: the credential is not looked at.
    for (const caller of told) assert.equal(await caller.ask(), 429);
    for (const caller of told) {
      await caller.closed;
      assert.match(caller.text(), /\r\nRetry-After: [0-9]+\r\n/);
      assert.match(caller.text(), /\r\nConnection: close\r\n/);
      const { code, policy, retryable } = problemOf(caller);
      assert.deepEqual([code, policy, retryable], ["RATE_LIMITED", "connections-address", true]);
    }
    for (const caller of good) assert.equal(await caller.ask(), 200);
    assert.equal(await (await call("127.0.0.2")).ask(), 200);
    assert.equal(await refused("address"), TOLD_HERE + 2);
    assert.equal(await refused("all"), 0);
    // What was given back is there for the next.
    good[0]!.socket.destroy();
    await until("room", async () => (await (await call()).ask()) === 200);
  });

  it("in all holds whoever comes, and what is told beyond it is bounded", async () => {
    await start({ all: 3, perAddress: 1_000 });
    const good = await several(3);
    for (const caller of good) assert.equal(await caller.ask(), 200);
    const told = await several(TOLD_IN_ALL, "127.0.0.3");
    const beyond = await call("127.0.0.4");
    assert.equal(await beyond.ask(), undefined);
    assert.equal(await told[0]!.ask(), 429);
    assert.equal(problemOf(told[0]!).policy, "connections");
    for (const caller of good) assert.equal(await caller.ask(), 200);
    assert.equal(await refused("all"), TOLD_IN_ALL + 1);
  });

  it("in all is not widened by addresses that are told of their own", async () => {
    await start({ all: 2, perAddress: 1 });
    const all = [];
    for (let i = 1; i <= 20; i++) all.push(...(await several(1 + TOLD_HERE, `127.0.1.${String(i)}`)));
    const answered = [];
    for (const caller of all) answered.push(await caller.ask());
    assert.equal(answered.filter((status) => status !== undefined).length <= 2 + TOLD_IN_ALL, true);
    assert.equal(answered.filter((status) => status === 200).length >= 1, true);
  });

  it("of one address does not hold our own balancer, and that in all does", async () => {
    await start({ all: 20, perAddress: 2 }, { trustedHops: 1, trustedProxies: ["127.0.0.0/30"] });
    const through = await several(19);
    for (const caller of through) assert.equal(await caller.ask(), 200);
    const direct = await several(2, "127.9.9.9");
    assert.deepEqual([await direct[0]!.ask(), await direct[1]!.ask()], [200, 429]);
    assert.equal(problemOf(direct[1]!).policy, "connections");
  });

  it("takes whoever connects for the balancer where hops are trusted and none is named", async () => {
    await start({ all: 20, perAddress: 2 }, { trustedHops: 1 });
    for (const caller of await several(10)) assert.equal(await caller.ask(), 200);
  });

  it("believes X-Forwarded-For from a proxy that is named, and from nobody else", async () => {
    await start(undefined, {
      trustedHops: 1,
      trustedProxies: ["127.0.0.1"],
      limits: { failuresPerMinute: 1 },
    });
    const guess = async (from: string, forwarded: string): Promise<number | undefined> => {
      const caller = await call(from);
      caller.socket.write(
        `GET /whoami HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-API-Key: ck_guess\r\nX-Forwarded-For: ${forwarded}\r\n\r\n`,
      );
      await caller.closed;
      return Number(/^HTTP\/1\.1 ([0-9]{3})/.exec(caller.text())?.[1]);
    };
    assert.deepEqual(
      [await guess("127.0.0.1", "203.0.113.1"), await guess("127.0.0.1", "203.0.113.2")],
      [401, 401],
    );
    assert.equal(await guess("127.0.0.1", "203.0.113.2"), 429);
    // Invented by the caller itself: counted under its own address.
    assert.deepEqual(
      [await guess("127.0.0.9", "203.0.113.8"), await guess("127.0.0.9", "203.0.113.9")],
      [401, 429],
    );
  });

  it("counts one that lingers behind its last answer until it is closed", async () => {
    const deadlines = { request: 3_600_000, headers: 3_600_000, look: 20, idle: 3_600_000, linger: 200 };
    await start({ all: 10, perAddress: 1 }, { deadlines });
    const holder = connect({ port: edge.port, host: "127.0.0.1", allowHalfOpen: true });
    holder.on("error", () => undefined);
    holder.write("nonsense\r\n\r\n");
    await once(holder, "data");
    assert.equal(await (await call()).ask(), 429);
    await until("the end of it", async () => (await (await call()).ask()) === 200);
    holder.destroy();
  });
});

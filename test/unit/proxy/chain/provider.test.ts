import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ChainAway, createChain } from "../../../../proxy/chain/provider.ts";
import { asAddress } from "../../../../shared/protocol/brands.ts";
import { until } from "../../../support/until.ts";

const ACCOUNT = asAddress(`0x${"aa".repeat(20)}`)!;

describe("chain/provider and a node that takes questions and answers none", () => {
  let server: Server;
  let url: string;
  const sockets: Socket[] = [];
  let heard = 0;

  before(async () => {
    server = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => socket.destroy());
      socket.on("data", () => (heard += 1));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it("is away after the time allowed, even when the collector runs meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { signal } = new AbortController();
    const before = heard;
    const question = createChain(url, 1n, { timeoutMs: 300, signal }).nonce(ACCOUNT);
    question.catch(() => undefined);
    await until("the question to arrive", () => heard > before);
    collect();
    await assert.rejects(question, ChainAway);
  });

  it("is away at once when the service leaves, for the question under way and every later one", async () => {
    const leaving = new AbortController();
    const chain = createChain(url, 1n, { timeoutMs: 3_600_000, signal: leaving.signal });
    const before = heard;
    const question = chain.nonce(ACCOUNT);
    // Handled below; until then it must not count as unhandled.
    question.catch(() => undefined);
    await until("the question to arrive", () => heard > before);
    leaving.abort();
    await assert.rejects(question, ChainAway);
    await assert.rejects(chain.nonce(ACCOUNT), ChainAway);
  });
});

// Several nodes as one: which is asked, when one is set aside and comes back, and that the service goes on while one is left.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import { openNodes, type Nodes } from "../../../../../proxy/base/chain/nodes.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";

const ACCOUNT = asAddress(`0x${"aa".repeat(20)}`)!;
const hash = (n: number): string => `0x${n.toString(16).padStart(64, "0")}`;

class Node {
  chainId = 31_337;
  head = 100;
  isAway = false;
  asked = 0;
  readonly #server: Server = createServer((request, response) => {
    let text = "";
    request.on("data", (part: Buffer) => (text += part.toString()));
    request.on("end", () => {
      const { method } = JSON.parse(text) as { method: string };
      if (method !== "eth_chainId") this.asked += 1;
      response.statusCode = this.isAway ? 503 : 200;
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result: this.#answer(method) }));
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}/a-key-of-ours`;
  }
  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
  #answer(method: string): unknown {
    if (method === "eth_chainId") return `0x${this.chainId.toString(16)}`;
    if (method === "eth_getBalance") return "0x7";
    const number = `0x${this.head.toString(16)}`;
    return { number, hash: hash(this.head), parentHash: hash(this.head - 1), timestamp: "0x1" };
  }
}

describe("base/chain/nodes", () => {
  let [first, second] = [new Node(), new Node()];
  let nodes: Nodes;
  let log: string[];
  let time: number;

  beforeEach(async () => {
    [first, second] = [new Node(), new Node()];
    [log, time] = [[], 0];
    const logger = createLogger("info", { write: (line: string) => void log.push(line) });
    const urls = [await first.start(), await second.start()].join(" ");
    nodes = openNodes(urls, 31_337n, { logger, now: () => time });
  });
  afterEach(() => {
    first.stop();
    second.stop();
  });
  const balance = (): Promise<bigint> => nodes.chain.balance(ACCOUNT);
  const head = async (): Promise<number | undefined> => (await nodes.chain.header("latest"))?.number;
  const asked = (): readonly [number, number] => [first.asked, second.asked];

  it("asks the preferred one alone as long as it answers", async () => {
    assert.deepEqual([await balance(), await head(), asked()], [7n, 100, [2, 0]]);
    assert.deepEqual([nodes.warnings(), log], [[], []]);
  });

  it("asks another where one is away, names it without its key, and comes back to it, later each time", async () => {
    first.isAway = true;
    assert.equal(await balance(), 7n);
    assert.match(nodes.warnings().join(), /^the node 127\.0\.0\.1:\d+ is set aside: .*503/);
    assert.equal(log.length, 1);
    assert.ok(!log.join().includes("a-key-of-ours") && !nodes.warnings().join().includes("a-key"));
    await balance();
    assert.equal(second.asked, 2);
    time = 1_001;
    await balance();
    assert.equal(log.length, 2);
    first.isAway = false;
    time = 2_002;
    await balance();
    assert.equal(second.asked, 4, "twice as long as before");
    time = 3_100;
    const before = first.asked;
    await balance();
    assert.deepEqual([asked(), nodes.warnings()], [[before + 1, 4], []]);
  });

  it("asks another where one serves another chain", async () => {
    first.chainId = 1;
    assert.equal(await balance(), 7n);
    assert.deepEqual(asked(), [0, 1]);
    assert.match(nodes.warnings().join(), /another chain/);
  });

  it("does not follow one that lags, and follows all of them where the chain itself has gone back", async () => {
    second.head = 120;
    first.isAway = true;
    assert.equal(await head(), 120);
    first.isAway = false;
    time = 1_001;
    assert.equal(await head(), 120);
    assert.match(nodes.warnings().join(), /20 blocks behind/);
    second.head = 90;
    assert.equal(await head(), 100);
    assert.equal(await head(), 100);
  });

  it("asks another after a contradiction", async () => {
    await head();
    nodes.chain.doubt("it left out logs");
    await head();
    assert.deepEqual(asked(), [1, 1]);
    assert.match(nodes.warnings().join(), /left out logs/);
  });

  it("is unreachable only while all are, and goes on with the first that is back", async () => {
    first.isAway = second.isAway = true;
    await assert.rejects(balance(), ChainUnreachable);
    assert.equal(nodes.warnings().length, 2);
    second.isAway = false;
    assert.equal(await balance(), 7n);
  });
});

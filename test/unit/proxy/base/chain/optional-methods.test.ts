// What a node lacks: refused in each of the ways in which vendors refuse it, the others go on, and it is asked again later.
import assert from "node:assert/strict";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ChainBusy, ChainRefused, ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import { asAddress, asBytes32 } from "../../../../../shared/protocol/host/text.ts";

interface Question {
  readonly method: string;
  readonly params: readonly unknown[];
}
type Say = (response: ServerResponse, question: Question) => void;

const TO = asAddress(`0x${"aa".repeat(20)}`)!;
const CALL = { to: TO, data: "0x" };
const HASH = asBytes32(`0x${"11".repeat(32)}`)!;
const OTHER = asBytes32(`0x${"22".repeat(32)}`)!;
const HOUR_MS = 3_600_000;

const reply = (response: ServerResponse, body: object, status = 200): void => {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, ...body }));
};
const result =
  (value: unknown): Say =>
  (response) =>
    reply(response, { result: value });
const refusal =
  (code: number, status = 200): Say =>
  (response) =>
    reply(response, { error: { code, message: "no" } }, status);
const page =
  (status: number): Say =>
  (response) =>
    response.writeHead(status, { "content-type": "text/html" }).end("<h1>no</h1>");

/** As public reports have them, of `eth_simulateV1`. */
const WAYS: Readonly<Record<string, Say>> = {
  "-32601, as the specification says": refusal(-32_601),
  "-32603": refusal(-32_603),
  "-32004": refusal(-32_004),
  "-32000": refusal(-32_000),
  "-32600": refusal(-32_600),
  "-32602": refusal(-32_602),
  "no code at all": (response) => reply(response, { error: "method is not available on your plan" }),
  "-32601 under HTTP 400": refusal(-32_601, 400),
  "HTTP 400 with a page": page(400),
  "HTTP 403 with a page": page(403),
  "HTTP 500 with a page": page(500),
  "a connection that is cut": (response) => void response.destroy(),
  null: result(null),
  "an empty list": result([]),
  "a block without calls": result([{ number: "0x1" }]),
};

describe("base/chain: what a node lacks", () => {
  let server: Server;
  let url: string;
  let answers: Record<string, Say>;
  let asked: string[];
  let time: number;
  let lacking: string[];

  before(async () => {
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () => {
        const question = JSON.parse(body) as Question;
        asked.push(question.method);
        (answers[question.method] ?? refusal(-32_601))(response, question);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    answers = { eth_blockNumber: result("0x7") };
    [asked, lacking, time] = [[], [], 0];
  });

  const open = () =>
    createChain(url, 1n, { timeoutMs: 200, now: () => time, onLacking: (method) => lacking.push(method) });
  const timesAsked = (method: string): number => asked.filter((one) => one === method).length;

  for (const [way, say] of Object.entries(WAYS))
    it(`a simulation that is refused by ${way}: none, and not asked for again for an hour`, async () => {
      const chain = open();
      answers["eth_simulateV1"] = say;
      assert.equal(await chain.simulate(CALL), undefined);
      assert.equal(await chain.simulate(CALL), undefined);
      assert.deepEqual([timesAsked("eth_simulateV1"), lacking], [1, ["eth_simulateV1"]]);
      time = HOUR_MS;
      answers["eth_simulateV1"] = result([{ calls: [{ status: "0x1", logs: [], gasUsed: "0x5208" }] }]);
      assert.deepEqual(await chain.simulate(CALL), { logs: [], gasUsed: 21_000n });
    });

  it("a node that is silent for that question alone lacks it too", async () => {
    answers["eth_simulateV1"] = () => undefined;
    assert.equal(await open().simulate(CALL), undefined);
  });

  it("a node that answers nothing at all is away, and lacks nothing", async () => {
    const chain = open();
    answers = { eth_simulateV1: page(500), eth_blockNumber: page(500) };
    await assert.rejects(chain.simulate(CALL), ChainUnreachable);
    await assert.rejects(chain.simulate(CALL), ChainUnreachable);
    assert.deepEqual([timesAsked("eth_simulateV1"), lacking], [2, []]);
  });

  for (const [way, say] of Object.entries({
    "HTTP 429": page(429),
    "HTTP 503": page(503),
    "-32005": refusal(-32_005),
    "-32005 under HTTP 429": refusal(-32_005, 429),
  }))
    it(`too busy (${way}) says nothing of what it has`, async () => {
      const chain = open();
      answers["eth_simulateV1"] = say;
      await assert.rejects(chain.simulate(CALL), ChainBusy);
      await assert.rejects(chain.simulate(CALL), ChainBusy);
      assert.equal(timesAsked("eth_simulateV1"), 2);
    });

  it("what the simulation says of the call is its answer: more gas than a block has, or a call that fails", async () => {
    const chain = open();
    answers["eth_simulateV1"] = refusal(-38_015);
    assert.equal(await chain.simulate(CALL), "reverted");
    answers["eth_simulateV1"] = result([{ calls: [{ status: "0x0", error: { code: 3 } }] }]);
    assert.equal(await chain.simulate(CALL), "reverted");
    assert.deepEqual(lacking, []);
  });

  it("without a tip of the node's own, what its price is above the base fee", async () => {
    const chain = open();
    answers["eth_gasPrice"] = result("0x12");
    answers["eth_getBlockByNumber"] = result(block(7, HASH, "0x10"));
    assert.equal(await chain.priorityFee(), 2n);
    answers["eth_gasPrice"] = result("0x1");
    assert.equal(await chain.priorityFee(), 0n);
    assert.equal(timesAsked("eth_maxPriorityFeePerGas"), 1);
  });

  it("where blocks have no hash in a call, by number, and only if it is that block before and after", async () => {
    const chain = open();
    answers["eth_call"] = (response, question) =>
      (typeof question.params[1] === "string" ? result("0xab") : refusal(-32_602))(response, question);
    answers["eth_getBlockByHash"] = result(block(7, HASH));
    answers["eth_getBlockByNumber"] = result(block(7, HASH));
    assert.equal(await chain.call(CALL, HASH), "0xab");
    answers["eth_getBlockByNumber"] = result(block(7, OTHER));
    await assert.rejects(chain.call(CALL, HASH), /the chain moved/);
    answers["eth_getBlockByHash"] = result(null);
    await assert.rejects(chain.call(CALL, HASH), /no such block/);
  });

  it("a call that fails is refused with its own reason, and the node lacks nothing", async () => {
    const chain = open();
    answers["eth_call"] = refusal(3);
    await assert.rejects(chain.call(CALL, HASH), ChainRefused);
    answers["eth_call"] = refusal(-32_000);
    await assert.rejects(chain.call(CALL, HASH), ChainRefused);
    assert.deepEqual(lacking, []);
  });
});

const block = (number: number, hash: string, baseFeePerGas = "0x0") => ({
  ...{ number: `0x${number.toString(16)}`, hash, parentHash: OTHER, timestamp: "0x1", baseFeePerGas },
});

import assert from "node:assert/strict";
import { createServer as createHttpServer, type RequestListener, type Server as HttpServer } from "node:http";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { ChainUnreachable, ChainRefused, createJsonRpc } from "../../../../../proxy/base/chain/json-rpc.ts";
import { createChain } from "../../../../../proxy/base/chain/provider.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { until } from "../../../../support/until.ts";

const ACCOUNT = asAddress(`0x${"aa".repeat(20)}`)!;

describe("base/chain/json-rpc and a node that takes questions and answers none", () => {
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

  it("is unreachable after the time allowed, even when the collector runs meanwhile", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const { signal } = new AbortController();
    const before = heard;
    const question = createChain(url, 1n, { timeoutMs: 300, signal }).nonce(ACCOUNT);
    question.catch(() => undefined);
    await until("the question to arrive", () => heard > before);
    collect();
    await assert.rejects(question, ChainUnreachable);
  });

  it("is unreachable at once when the service leaves, for the question under way and every later one", async () => {
    const leaving = new AbortController();
    const chain = createChain(url, 1n, { timeoutMs: 3_600_000, signal: leaving.signal });
    const before = heard;
    const question = chain.nonce(ACCOUNT);
    // Handled below; until then it must not count as unhandled.
    question.catch(() => undefined);
    await until("the question to arrive", () => heard > before);
    leaving.abort();
    await assert.rejects(question, ChainUnreachable);
    await assert.rejects(chain.nonce(ACCOUNT), ChainUnreachable);
  });
});

describe("base/chain/json-rpc on the wire", () => {
  let server: HttpServer;
  let url: string;
  let listener: RequestListener;
  let connections = 0;

  beforeEach(async () => {
    connections = 0;
    listener = (request, response) => {
      request.resume();
      request.once("end", () => response.end('{"jsonrpc":"2.0","id":1,"result":"0x1"}'));
    };
    server = createHttpServer((request, response) => listener(request, response));
    server.on("connection", () => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it("asks question after question on one connection", async () => {
    const ask = createJsonRpc(url);
    for (let i = 0; i < 5; i++) assert.equal(await ask("eth_chainId", []), "0x1");
    assert.equal(connections, 1);
  });

  it("asks again when the node closes a connection that it had left open, on as many as there are", async () => {
    const ask = createJsonRpc(url);
    await Promise.all([ask("eth_chainId", []), ask("eth_chainId", []), ask("eth_chainId", [])]);
    const before = connections;
    const answer = listener;
    const questions: string[] = [];
    listener = (request, response) => {
      questions.push(request.socket.remotePort === undefined ? "" : String(request.socket.remotePort));
      // The first three come on the connections that are left; a fourth on a fresh one.
      if (questions.length <= before) request.socket.resetAndDestroy();
      else answer(request, response);
    };
    assert.equal(await ask("eth_chainId", []), "0x1");
    assert.equal(new Set(questions).size, before + 1);
  });

  it("does not ask again on a fresh connection that breaks", async () => {
    let asked = 0;
    listener = (request) => {
      asked += 1;
      request.socket.resetAndDestroy();
    };
    await assert.rejects(createJsonRpc(url)("eth_chainId", []), ChainUnreachable);
    assert.equal(asked, 1);
  });

  it("takes no more than it is ready to hold, announced or not", async () => {
    let isCut = false;
    listener = (request, response) => {
      request.resume();
      const piece = Buffer.alloc(1 << 16, 0x20);
      const more = (): void => {
        while (!response.destroyed && response.write(piece));
      };
      response.on("drain", more);
      response.on("close", () => (isCut = true));
      more();
    };
    await assert.rejects(createJsonRpc(url, { maxAnswerBytes: 1 << 20 })("eth_getLogs", []), (error) => {
      assert.ok(error instanceof ChainUnreachable && error.cause instanceof Error);
      assert.match(error.cause.message, /more than 1048576 bytes/);
      return true;
    });
    await until("the answer to be cut", () => isCut);
  });

  const answers: readonly (readonly [what: string, status: number, body: string])[] = [
    ["a redirect, which is not followed", 302, ""],
    ["an error of the server", 503, "busy"],
    ["no JSON", 200, "<html>"],
    ["JSON cut off", 200, '{"jsonrpc":"2.0","id":1,"result":"0x'],
    ["neither a result nor an error", 200, '{"jsonrpc":"2.0","id":1}'],
    ["too many requests", 200, '{"error":{"code":-32005,"message":"slow down"}}'],
  ];
  for (const [what, status, body] of answers) {
    it(`counts the node as unreachable when it answers with ${what}`, async () => {
      listener = (request, response) => {
        request.resume();
        response.writeHead(status, { location: `${url}/elsewhere` }).end(body);
      };
      await assert.rejects(createJsonRpc(url)("eth_chainId", []), ChainUnreachable);
      assert.equal(connections, 1);
    });
  }

  it("gives a refusal with its code and the call's revert data, whatever the status and the nesting", async () => {
    for (const status of [200, 400]) {
      listener = (request, response) => {
        request.resume();
        const error = { code: 3, message: "reverted", data: { data: "Reverted 0x08c379a0" } };
        response.writeHead(status).end(JSON.stringify({ jsonrpc: "2.0", id: 1, error }));
      };
      await assert.rejects(createJsonRpc(url)("eth_call", []), (error) => {
        assert.ok(error instanceof ChainRefused);
        assert.deepEqual([error.code, error.message, error.data], [3, "reverted", "0x08c379a0"]);
        return true;
      });
    }
  });

  it("takes a simulation that does not say what it used", async () => {
    let gasUsed: unknown = "0x5208";
    listener = (request, response) => {
      request.resume();
      const result = [{ calls: [{ status: "0x1", logs: [], gasUsed }] }];
      response.end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
    };
    const simulate = () => createChain(url, 1n).simulate({ to: ACCOUNT, data: "0x" });
    assert.deepEqual(await simulate(), { logs: [], gasUsed: 21_000n });
    for (gasUsed of [undefined, null, 21_000, "much"])
      assert.deepEqual(await simulate(), { logs: [], gasUsed: undefined });
  });
});

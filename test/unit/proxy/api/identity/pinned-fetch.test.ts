// Against real servers on this machine, TLS included: who is connected to, and what is not waited for.
import assert from "node:assert/strict";
import { createServer as createHttpServer, type RequestListener } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import {
  createPinnedFetch,
  FetchRefused,
  type PinnedFetchOptions,
} from "../../../../../proxy/api/identity/pinned-fetch.ts";
import { makeLeaf, makeRoot, toPem } from "../../../../../scripts/image/certificates.ts";

const NAME = "keys.example";
const refusal = (words: RegExp) => (error: unknown) =>
  error instanceof FetchRefused && words.test(error.message);

describe("pinned fetch", () => {
  const root = makeRoot(new Date());
  const leaf = makeLeaf(root, NAME, new Date());
  let listener: RequestListener;
  let names: unknown[];
  const secure = createHttpsServer(
    { key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }), cert: toPem(leaf.certificate) },
    (request, response) => {
      names.push("servername" in request.socket && request.socket.servername, request.headers.host);
      listener(request, response);
    },
  );
  const plain = createHttpServer((request, response) => listener(request, response));
  let port: number;
  let plainPort: number;
  before(async () => {
    for (const server of [secure, plain]) {
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    }
    port = (secure.address() as AddressInfo).port;
    plainPort = (plain.address() as AddressInfo).port;
  });
  after(() => {
    for (const server of [secure, plain]) {
      server.closeAllConnections();
      server.close();
    }
  });
  beforeEach(() => {
    names = [];
    listener = (_request, response) => response.end("the keys");
  });

  const fetcher = (options: Partial<PinnedFetchOptions> = {}): ReturnType<typeof createPinnedFetch> =>
    createPinnedFetch({
      allowLoopback: true,
      ca: toPem(root.certificate),
      resolve: async () => ["127.0.0.1"],
      ...options,
    });
  const get = (options?: Partial<PinnedFetchOptions>, name = NAME): Promise<string> =>
    fetcher(options)(`https://${name}:${String(port)}/jwks`, `${name}:${String(port)}`);

  it("connects to the checked address under the host's own name, and resolves once", async () => {
    let asked = 0;
    const text = await get({
      resolve: async (host) => {
        asked++;
        assert.equal(host, NAME);
        return ["127.0.0.1"];
      },
    });
    assert.equal(text, "the keys");
    assert.equal(asked, 1);
    assert.deepEqual(names, [NAME, `${NAME}:${String(port)}`]);
  });

  it("believes only a certificate for the name, by an authority that it knows", async () => {
    await assert.rejects(get({}, "other.example"), refusal(/connection failed/));
    await assert.rejects(get({ ca: toPem(makeRoot(new Date()).certificate) }), refusal(/connection failed/));
    assert.deepEqual(names, []);
  });

  it("connects to nothing that is not public, one bad address among good ones included", async () => {
    for (const addresses of [["127.0.0.1"], ["10.0.0.1"], ["1.1.1.1", "127.0.0.1"], ["::ffff:127.0.0.1"]]) {
      await assert.rejects(
        get({ allowLoopback: false, resolve: async () => addresses }),
        refusal(/not public/),
        addresses.join(),
      );
    }
    await assert.rejects(get({ resolve: async () => ["192.168.0.1"] }), refusal(/not public/));
    await assert.rejects(get({ resolve: async () => [] }), refusal(/does not resolve/));
    await assert.rejects(
      get({ resolve: async () => Promise.reject(new Error("SERVFAIL")) }),
      refusal(/resolve/),
    );
    assert.deepEqual(names, []);
  });

  it("goes to the approved host only, over https; http is for loopback in development", async () => {
    const at = `https://${NAME}:${String(port)}/jwks`;
    for (const [url, host] of [
      [at, NAME],
      [at, `other.example:${String(port)}`],
      [`https://${NAME}:${String(port)}@evil.example/`, `${NAME}:${String(port)}`],
      ["no url", "no url"],
    ] as const) {
      await assert.rejects(fetcher()(url, host), refusal(/approved host/), url);
    }
    const plainUrl = `http://${NAME}:${String(plainPort)}/jwks`;
    const plainHost = `${NAME}:${String(plainPort)}`;
    assert.equal(await fetcher()(plainUrl, plainHost), "the keys");
    await assert.rejects(fetcher({ allowLoopback: false })(plainUrl, plainHost), refusal(/not https/));
    await assert.rejects(
      fetcher({ resolve: async () => ["1.1.1.1"] })(plainUrl, plainHost),
      refusal(/not public/),
    );
    await assert.rejects(fetcher()("file:///etc/passwd", ""), refusal(/not https/));
  });

  it("does not follow, decode or read beyond its bound", async () => {
    listener = (_request, response) => response.writeHead(301, { Location: "https://1.1.1.1/" }).end();
    await assert.rejects(get(), refusal(/status 301/));
    listener = (_request, response) => response.writeHead(200, { "Content-Encoding": "br" }).end("x");
    await assert.rejects(get(), refusal(/encoded/));
    listener = (_request, response) => response.end("x".repeat(100));
    assert.equal((await get({ maxBytes: 100 })).length, 100);
    await assert.rejects(get({ maxBytes: 99 }), refusal(/too large/));
    // Without an end there is nothing to wait for.
    listener = (_request, response) => void response.write("x".repeat(200));
    await assert.rejects(get({ maxBytes: 99 }), refusal(/too large/));
  });

  it("gives up on a server that says nothing, on one that trickles, and on a name server that does not answer", async () => {
    listener = () => undefined;
    await assert.rejects(get({ timeoutMs: 100 }), refusal(/too long/));
    listener = (_request, response) => {
      response.write("x");
      const timer = setInterval(() => response.write("x"), 20);
      response.once("close", () => clearInterval(timer));
    };
    await assert.rejects(get({ timeoutMs: 150 }), refusal(/too long/));
    await assert.rejects(
      get({ timeoutMs: 50, resolve: () => new Promise(() => undefined) }),
      refusal(/too long/),
    );
  });
});

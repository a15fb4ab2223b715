import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { createConnection, type AddressInfo } from "node:net";
import { Writable } from "node:stream";
import Koa from "koa";
import { accessLog } from "../../../../../proxy/base/http/access-log.ts";
import type { RequestState } from "../../../../../proxy/base/http/state.ts";
import { ENDPOINTS } from "../../../../../shared/api/endpoints.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { until } from "../../../../support/until.ts";

interface Line {
  readonly status?: number;
  readonly finished: boolean;
}

const PRINCIPAL = { kind: "api-key", developerId: "shop", developerName: "Shop", keyId: "aa" } as const;

describe("base/http/access-log", () => {
  const lines: Line[] = [];
  const counted: (number | undefined)[] = [];
  const used: unknown[] = [];
  const held: (boolean | undefined)[] = [];
  let server: Server;
  let isReached: () => void = () => undefined;
  let reached: Promise<void>;

  before(async () => {
    const log = new Writable({
      write(chunk: Buffer, _encoding, done) {
        lines.push(JSON.parse(chunk.toString()) as Line);
        done();
      },
    });
    const app = new Koa<RequestState>();
    const request = (
      _endpoint: unknown,
      status: number | undefined,
      _secs: number,
      isHeld?: boolean,
    ): void => {
      counted.push(status);
      held.push(isHeld);
    };
    app.use(accessLog(createLogger("info", log), { request }, { count: (...one) => used.push(one) }));
    app.use(async (ctx) => {
      if (ctx.path === "/nothing") return;
      if (ctx.path === "/refused") {
        ctx.state.principal = PRINCIPAL;
        ctx.state.endpoint = ENDPOINTS.relay;
        ctx.state.refusal = "RATE_LIMITED";
        return;
      }
      isReached();
      await once(ctx.req, "close");
    });
    const handle = app.callback();
    server = createServer((request, response) => void handle(request, response));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  beforeEach(() => {
    lines.length = 0;
    counted.length = used.length = held.length = 0;
    reached = new Promise((resolve) => (isReached = resolve));
  });
  after(() => new Promise((resolve) => server.close(resolve)));

  async function ask(path: string, header = "Accept: */*"): Promise<ReturnType<typeof createConnection>> {
    const socket = createConnection((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => undefined);
    await once(socket, "connect");
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n${header}\r\nConnection: close\r\n\r\n`);
    return socket;
  }

  it("tells the status that was sent", async () => {
    (await ask("/nothing")).resume();
    await until("a line", () => lines.length === 1);
    assert.deepEqual([lines[0]?.status, lines[0]?.finished, counted], [404, true, [404]]);
  });

  it("counts a request for its developer, with the code of its refusal, and none that nobody is known to have sent", async () => {
    (await ask("/nothing")).resume();
    (await ask("/refused")).resume();
    await until("two lines", () => lines.length === 2);
    assert.deepEqual(used, [["shop", ENDPOINTS.relay, "RATE_LIMITED"]]);
  });

  it("says of which answer its caller wanted it to wait, whose time is no measure of ours", async () => {
    for (const header of ["Prefer: wait=5", "Prefer: respond-async, Wait = 5", "Prefer: return=minimal"])
      (await ask("/nothing", header)).resume();
    await until("three lines", () => lines.length === 3);
    assert.deepEqual([...held].sort(), [false, true, true]);
  });

  it("tells none for a caller who left before there was one", async () => {
    const socket = await ask("/something");
    await reached;
    socket.destroy();
    await until("a line", () => lines.length === 1);
    assert.deepEqual(["status" in lines[0]!, lines[0]?.finished, counted], [false, false, [undefined]]);
  });
});

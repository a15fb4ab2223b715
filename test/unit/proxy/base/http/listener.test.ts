import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import Koa from "koa";
import { listenerOf } from "../../../../../proxy/base/http/listener.ts";
import type { RequestState } from "../../../../../proxy/base/http/state.ts";

async function asked(listener: RequestListener, method = "GET"): Promise<Response> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${String(port)}/`, { method });
    return new Response(answer.body && (await answer.arrayBuffer()), answer);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

function appOf(step: Koa.Middleware<RequestState>): Koa<RequestState> {
  return new Koa<RequestState>().use(step);
}

describe("base/http/listener", () => {
  it("sends text and bytes with their length, and to HEAD the length alone", async () => {
    for (const body of ["größer", Buffer.from("größer")]) {
      const listener = listenerOf(appOf((ctx) => void (ctx.body = body)));
      for (const method of ["GET", "HEAD"]) {
        const answer = await asked(listener, method);
        assert.deepEqual([answer.status, answer.headers.get("content-length")], [200, "8"]);
        assert.equal(await answer.text(), method === "GET" ? "größer" : "");
      }
    }
  });

  it("sends no body with a status that has none, whatever was left there", async () => {
    for (const status of [204, 304]) {
      const answer = await asked(
        listenerOf(
          appOf((ctx) => {
            ctx.body = "left";
            ctx.status = status;
          }),
        ),
      );
      assert.deepEqual([answer.status, await answer.text()], [status, ""]);
      assert.equal(answer.headers.get("content-type"), null);
    }
  });

  it("answers 404 where nobody decides", async () => {
    assert.equal((await asked(listenerOf(appOf(() => undefined)))).status, 404);
  });

  it("leaves an answer alone that a step gives by itself", async () => {
    const answer = await asked(
      listenerOf(
        appOf((ctx) => {
          ctx.respond = false;
          setImmediate(() => ctx.res.writeHead(202).end("by itself"));
        }),
      ),
    );
    assert.deepEqual([answer.status, await answer.text()], [202, "by itself"]);
  });

  it("tells the app of what no step caught, a body of another form among it, and the caller nothing", async () => {
    const steps: readonly Koa.Middleware<RequestState>[] = [
      () => {
        throw new Error("secret");
      },
      (ctx) => void (ctx.body = { secret: 1 }),
    ];
    for (const step of steps) {
      const app = appOf(step);
      const told: unknown[] = [];
      app.on("error", (error) => told.push(error));
      const answer = await asked(listenerOf(app));
      assert.deepEqual([answer.status, await answer.text()], [500, "Internal Server Error"]);
      assert.equal(told.length, 1);
    }
  });

  it("hangs nothing on a request, its answer or its connection", async () => {
    const countsOf = (request: IncomingMessage, response: ServerResponse): number[] =>
      [request, response, request.socket].flatMap((one) =>
        ["close", "end", "finish", "error"].map((name) => one.listenerCount(name)),
      );
    const seen: number[][] = [];
    await asked((request, response) => {
      seen.push(countsOf(request, response));
      response.end();
    });
    await asked(
      listenerOf(
        appOf((ctx) => {
          seen.push(countsOf(ctx.req, ctx.res));
          ctx.body = "";
        }),
      ),
    );
    assert.deepEqual(seen[1], seen[0]);
  });
});

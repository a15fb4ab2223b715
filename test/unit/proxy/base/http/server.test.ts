import assert from "node:assert/strict";
import { once } from "node:events";
import type { RequestListener, ServerResponse } from "node:http";
import { createConnection, type Socket } from "node:net";
import { startHttpServer, type Deadlines, type HttpServer } from "../../../../../proxy/base/http/server.ts";
import { until } from "../../../../support/until.ts";

/** Longer than a test may take: a stop that waits for it fails by mocha's own deadline. */
const NEVER_MS = 3_600_000;

describe("base/http/server and its orderly end", () => {
  const sockets: Socket[] = [];
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
  });

  interface Caller {
    readonly socket: Socket;
    text(): string;
    readonly closed: Promise<unknown>;
  }
  async function connect(server: HttpServer): Promise<Caller> {
    const socket = createConnection(server.port, "127.0.0.1");
    sockets.push(socket);
    let text = "";
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    await once(socket, "connect");
    return { socket, text: () => text, closed };
  }
  const start = (listener: RequestListener): Promise<HttpServer> => startHttpServer(listener, "127.0.0.1", 0);
  const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

  it("closes a connection that was never used, and one that is kept alive", async () => {
    const server = await start((_request, response) => response.end("hello"));
    const used = await connect(server);
    used.socket.write(GET);
    await until("the answer", () => used.text().endsWith("hello"));
    const unused = await connect(server);
    // The server has accepted `unused` when it answers a later one.
    const later = await connect(server);
    later.socket.write(GET);
    await until("the answer", () => later.text().endsWith("hello"));
    await server.stop(NEVER_MS);
    await Promise.all([used.closed, unused.closed, later.closed]);
  });

  it("answers a request that is under way, says that the connection closes, and closes it", async () => {
    let answer: (() => void) | undefined;
    const server = await start((_request, response) => {
      answer = () => response.end("late");
    });
    const caller = await connect(server);
    caller.socket.write(GET);
    await until("the request", () => answer !== undefined);
    const stopped = server.stop(NEVER_MS);
    answer!();
    await stopped;
    await caller.closed;
    assert.match(caller.text(), /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(caller.text(), /\r\nConnection: close\r\n/);
    assert.match(caller.text(), /late/);
  });

  it("lets an answer that has begun come to its end", async () => {
    let finish: (() => void) | undefined;
    const server = await start((_request, response) => {
      response.write("begin");
      finish = () => response.end("end");
    });
    const caller = await connect(server);
    caller.socket.write(GET);
    await until("the beginning", () => caller.text().includes("begin"));
    const stopped = server.stop(NEVER_MS);
    finish!();
    await stopped;
    await caller.closed;
    assert.ok(caller.text().includes("end"));
  });

  it("cuts what is left when the time is up", async () => {
    const server = await start((_request, response) => response.write("never ends"));
    const caller = await connect(server);
    caller.socket.write(GET);
    await until("the beginning", () => caller.text().includes("never ends"));
    await server.stop(1);
    await caller.closed;
  });

  it("answers bytes that are no HTTP with a problem document", async () => {
    const server = await start((_request, response) => response.end());
    const caller = await connect(server);
    caller.socket.write("\u0000\u0001 nonsense\r\n\r\n");
    await caller.closed;
    assert.match(
      caller.text(),
      /^HTTP\/1\.1 400 Bad Request\r\nContent-Type: application\/problem\+json\r\n/,
    );
    assert.match(caller.text(), /"code":"INVALID_REQUEST"/);
    await server.stop(NEVER_MS);
  });

  for (const [what, head] of [
    ["bytes that are no HTTP", "nonsense\r\n\r\n"],
    ["a request without Host", "GET / HTTP/1.1\r\n\r\n"],
    ["a request with two Hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"],
    ["an unknown Expect", "POST / HTTP/1.1\r\nHost: x\r\nExpect: foo\r\nContent-Length: 2\r\n\r\n{}"],
  ] as const) {
    it(`refuses ${what} with a problem document that no cache keeps`, async () => {
      let heard = 0;
      const server = await start((_request, response) => {
        heard += 1;
        response.end();
      });
      const caller = await connect(server);
      caller.socket.write(head);
      await caller.closed;
      const [lines = "", body = ""] = caller.text().split("\r\n\r\n");
      assert.match(lines, /^HTTP\/1\.1 400 Bad Request\r\n/);
      for (const line of [
        "Content-Type: application/problem+json",
        "Cache-Control: no-store",
        "Vary: Origin, Accept-Encoding",
        "Connection: close",
      ]) {
        assert.ok(lines.split("\r\n").includes(line), `${line} in ${lines}`);
      }
      const problem = JSON.parse(body) as { code: string; status: number; request_id: string };
      assert.equal(problem.code, "INVALID_REQUEST");
      assert.equal(problem.status, 400);
      assert.ok(lines.includes(`\r\nX-Request-Id: ${problem.request_id}`));
      assert.equal(heard, 0);
      await server.stop(NEVER_MS);
    });
  }

  it("takes HTTP/1.0 without Host, and Expect: 100-continue, which is said by who reads the body", async () => {
    const server = await start((request, response) => {
      if (request.headers.expect !== undefined) response.writeContinue();
      response.end("hello");
    });
    const old = await connect(server);
    old.socket.write("GET / HTTP/1.0\r\n\r\n");
    await until("the answer", () => old.text().endsWith("hello"));
    const polite = await connect(server);
    polite.socket.write("GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n");
    await until(
      "the answer",
      () => polite.text().endsWith("hello\r\n0\r\n\r\n") || polite.text().endsWith("hello"),
    );
    assert.match(polite.text(), /^HTTP\/1\.1 100 Continue\r\n/);
    await server.stop(NEVER_MS);
  });

  describe("requests that come before the earlier ones are answered", () => {
    interface Turn {
      readonly url: string;
      readonly response: ServerResponse;
    }
    const turns: Turn[] = [];
    const collect: RequestListener = ({ url = "" }, response) => void turns.push({ url, response });
    const ask = (...paths: string[]): string => paths.map((path) => GET.replace("/ ", `${path} `)).join("");
    const heard = (): string[] => turns.map(({ url }) => url);
    const statuses = (text: string): string[] => text.match(/HTTP\/1\.1 [0-9]+/g) ?? [];
    beforeEach(() => void turns.splice(0));

    it("wait for their turn, and are answered in it", async () => {
      const server = await start(collect);
      const caller = await connect(server);
      caller.socket.write(ask("/first", "/second"));
      await until("the first", () => turns.length > 0);
      // Of another connection, that came later.
      (await connect(server)).socket.write(ask("/other"));
      await until("the other", () => heard().includes("/other"));
      assert.deepEqual(heard(), ["/first", "/other"]);
      turns[0]!.response.end("one");
      await until("the second", () => turns.length === 3);
      turns[2]!.response.end("two");
      await until("both answers", () => /one.*two$/s.test(caller.text()));
      await server.stop(0);
    });

    it("are answered all when the server stops, and the last answer says that the connection closes", async () => {
      const server = await start(collect);
      const caller = await connect(server);
      caller.socket.write(ask("/first", "/second"));
      await until("the first", () => turns.length === 1);
      const stopped = server.stop(NEVER_MS);
      turns[0]!.response.end("one");
      await until("the second", () => turns.length === 2);
      turns[1]!.response.end("two");
      await stopped;
      await caller.closed;
      assert.match(caller.text(), /one.*\r\nConnection: close\r\n.*two$/s);
      assert.doesNotMatch(caller.text().split("one")[0]!, /close/);
    });

    it("that are none are refused behind the answers that are due, not in their place", async () => {
      for (const [what, bad] of [
        ["no HTTP", "nonsense\r\n\r\n"],
        ["no Host", "GET / HTTP/1.1\r\n\r\n"],
        ["an unknown Expect", "GET / HTTP/1.1\r\nHost: x\r\nExpect: foo\r\n\r\n"],
      ] as const) {
        turns.length = 0;
        const server = await start(collect);
        const caller = await connect(server);
        caller.socket.write(ask("/first") + bad);
        await until("the first", () => turns.length === 1);
        // The bad bytes were in the same write, and a later connection is heard after them.
        (await connect(server)).socket.write(ask("/other"));
        await until("the other", () => turns.length === 2);
        assert.equal(caller.text(), "", what);
        turns[0]!.response.end("one");
        await caller.closed;
        assert.deepEqual(statuses(caller.text()), ["HTTP/1.1 200", "HTTP/1.1 400"], what);
        assert.match(caller.text(), /one.*"code":"INVALID_REQUEST"/s, what);
        await server.stop(0);
      }
    });

    it("of which too many wait end the connection", async () => {
      const server = await start(collect);
      const patient = await connect(server);
      patient.socket.write(ask(...Array<string>(101).fill("/patient")));
      const hasty = await connect(server);
      hasty.socket.on("error", () => undefined);
      hasty.socket.write(ask(...Array<string>(102).fill("/hasty")));
      await hasty.closed;
      assert.equal(patient.socket.destroyed, false);
      assert.deepEqual(heard(), ["/patient", "/hasty"]);
      await server.stop(0);
    });

    it("put no byte into an answer that has begun, however late they are noticed", async () => {
      const quick: Deadlines = { request: 150, headers: 100, look: 20, idle: NEVER_MS, linger: 100 };
      const server = await startHttpServer(collect, "127.0.0.1", 0, { deadlines: quick });
      const [half, junk, open] = [await connect(server), await connect(server), await connect(server)];
      half.socket.write(`${ask("/half")}GET /next HTTP/1.1\r\nHo`);
      junk.socket.write(`${ask("/junk")}nonsense\r\n\r\n`);
      // Its own body is missing.
      open.socket.write("POST /open HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n");
      await until("all three", () => turns.length === 3);
      for (const { response } of turns) response.write("begun, ");
      await open.closed;
      // By now the half request is late, too.
      for (const [who, url] of [
        [half, "/half"],
        [junk, "/junk"],
      ] as const) {
        turns.find((turn) => turn.url === url)!.response.end("and ended.");
        await who.closed;
        assert.match(who.text(), /begun, .*and ended\.\r\n0\r\n\r\nHTTP\/1\.1 400 /s, url);
      }
      assert.deepEqual(statuses(open.text()), ["HTTP/1.1 200"]);
      await server.stop(0);
    });
  });

  describe("slow callers", () => {
    const QUICK: Deadlines = { request: 150, headers: 100, look: 20, idle: 200, linger: 100 };
    const BIG = Buffer.alloc(64 * 1024 * 1024);
    let server: HttpServer;
    let cut: string[];
    before(async () => {
      const listener: RequestListener = (request, response) => {
        const { socket } = request;
        // Node says "finish" of a cut answer as well; the connection tells them apart.
        response.once("close", () => {
          if (socket.destroyed) cut.push(request.url ?? "");
        });
        if (request.url === "/big") response.end(BIG);
        else request.resume().once("end", () => response.end("hello"));
      };
      server = await startHttpServer(listener, "127.0.0.1", 0, { deadlines: QUICK });
    });
    after(() => server.stop(0));
    beforeEach(() => {
      cut = [];
    });
    async function stillAnswers(): Promise<void> {
      const { text, socket } = await connect(server);
      socket.write(GET);
      await until("the answer", () => text().endsWith("hello"));
    }
    /** One byte at a time, for as long as it is let. */
    async function drip(start: string, byte: string): Promise<Caller> {
      const caller = await connect(server);
      // What is still written when the other side has gone.
      caller.socket.on("error", () => undefined);
      caller.socket.write(start);
      const tick = setInterval(() => caller.socket.write(byte), 10);
      await caller.closed;
      clearInterval(tick);
      return caller;
    }

    it("whose headers never end are told so and let go", async () => {
      const { text } = await drip("GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ", "a");
      assert.match(text(), /^HTTP\/1\.1 400 .*"code":"INVALID_REQUEST"/s);
      assert.match(text(), /did not arrive whole in time/);
      await stillAnswers();
    });

    it("whose body never ends are told so and let go", async () => {
      const { text } = await drip("POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n", "a");
      assert.match(text(), /did not arrive whole in time/);
      await until("the cut", () => cut.includes("/slow"));
      await stillAnswers();
    });

    it("who say nothing at all are let go", async () => {
      const { closed } = await connect(server);
      await closed;
      await stillAnswers();
    });

    it("who do not read their answer are cut, and what was kept for them is dropped", async () => {
      const { socket } = await connect(server);
      socket.on("error", () => undefined);
      socket.pause();
      socket.write(GET.replace("/ ", "/big "));
      await until("the cut", () => cut.length === 1);
      await stillAnswers();
    });

    it("but not who reads, however much it is", async () => {
      const socket = createConnection(server.port, "127.0.0.1");
      sockets.push(socket);
      let bytes = 0;
      socket.on("data", (chunk: Buffer) => (bytes += chunk.length));
      socket.write(GET.replace("/ ", "/big "));
      await until("all of it", () => bytes > BIG.length);
      assert.deepEqual(cut, []);
    });
  });
});

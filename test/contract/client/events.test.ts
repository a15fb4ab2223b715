import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { StreamEvent } from "../../../shared/api/data.ts";
import { createClient, type Client } from "../../../shared/client/index.ts";
import { until } from "../../support/until.ts";
import { hex } from "./chain.ts";
import { API_KEY, TestService } from "./service.ts";

describe("event stream reader", () => {
  let service: TestService;
  let baseUrl: string;
  let client: Client;
  let asked = 0;
  beforeEach(async () => {
    service = new TestService();
    service.chain.autoroot = false;
    baseUrl = await service.listen();
    client = createClient({ baseUrl, credential: { apiKey: API_KEY } });
    service.chain.addLeaves([1n, 2n, 3n].map((leaf) => ({ commitment: hex(leaf) })));
  });
  afterEach(() => service.close());

  const sessions = (): Client =>
    createClient({
      baseUrl,
      credential: {
        sessionProvider: async () => {
          const token = `sst_e${(asked += 1)}`;
          service.goodTokens.add(token);
          return token;
        },
      },
    });
  /** Reads until `enough`, with a chance to disturb the service after each event. */
  async function read(
    from: Client,
    enough: (seen: StreamEvent[]) => boolean,
    disturb?: (event: StreamEvent) => void,
  ): Promise<StreamEvent[]> {
    const seen: StreamEvent[] = [];
    for await (const event of from.events()) {
      seen.push(event);
      disturb?.(event);
      if (enough(seen)) break;
    }
    return seen;
  }
  const leaves = (seen: readonly StreamEvent[]): number[] =>
    seen.flatMap((event) => (event.kind === "leaf" ? [event.data.index] : []));

  it("replays the history, then follows", async () => {
    const seen = await read(
      client,
      (events) => leaves(events).length === 4,
      (event) => {
        if (event.kind === "synced") service.chain.addLeaves([{ commitment: hex(4n) }]);
      },
    );
    assert.deepEqual(
      seen.map(({ kind }) => kind),
      ["ready", "leaf", "leaf", "leaf", "synced", "leaf"],
    );
  });

  it("after a lost connection goes on behind the last finished event: nothing lost, nothing twice", async () => {
    const seen = await read(
      client,
      (events) => events.filter(({ kind }) => kind === "synced").length === 2,
      (event) => {
        if (event.kind !== "synced" || leaves([event]).length > 0 || service.chain.leafCount > 3) return;
        service.dropStreams();
        service.chain.addLeaves([{ commitment: hex(4n) }]);
      },
    );
    assert.deepEqual(leaves(seen), [0, 1, 2, 3]);
    const resumed = service.requests.filter(({ url }) => url.startsWith("/events/stream"))[1];
    assert.equal(new URL(resumed!.url, baseUrl).searchParams.get("from"), service.chain.log[2]!.id);
  });

  it("when the session ends it opens a new stream with a new token from the last id", async () => {
    const before = asked;
    const seen = await read(
      sessions(),
      (events) => events.filter(({ kind }) => kind === "synced").length === 2,
      (event) => {
        if (event.kind === "synced" && asked === before + 1) service.expireStreams();
      },
    );
    assert.deepEqual(leaves(seen), [0, 1, 2]);
    assert.equal(asked, before + 2);
    assert.ok(seen.every(({ kind }) => kind !== "session_expired"));
  });

  it("renews a token that has expired before the stream opened", async () => {
    const own = sessions();
    await own.health();
    const token = `sst_e${asked}`;
    service.goodTokens.delete(token);
    service.expiredTokens.add(token);
    const seen = await read(own, (events) => events.at(-1)?.kind === "synced");
    assert.deepEqual(leaves(seen), [0, 1, 2]);
  });

  it("learns of a reorganisation that happened while it was unreachable, and resumes from the ancestor", async () => {
    service.chain.addLeaves([{ commitment: hex(4n) }]);
    const seen = await read(
      client,
      (events) => events.filter(({ kind }) => kind === "synced").length === 2,
      (event) => {
        if (event.kind !== "synced" || service.chain.log.at(-1)!.id.includes("f1")) return;
        service.dropStreams();
        service.chain.reorg(1);
        service.chain.addLeaves([{ commitment: hex(5n) }]);
      },
    );
    const back = seen.find((event) => event.kind === "reorg");
    assert.equal(back?.data.from_id, service.chain.log[2]!.id);
    assert.deepEqual(leaves(seen), [0, 1, 2, 3, 3]);
  });

  it("ends permanently on a refusal, and closes its connection when its reader leaves", async () => {
    const wrong = createClient({ baseUrl, credential: { apiKey: "ck_wrong" } });
    await assert.rejects(
      read(wrong, () => false),
      (error) => (error as { code?: string }).code === "INVALID_CREDENTIAL",
    );
    await read(client, (events) => events.length === 2);
    await until(() => service.openStreams === 0);
  });

  it("treats silence as a dead connection", async () => {
    const impatient = createClient({
      baseUrl,
      credential: { apiKey: API_KEY },
      streamTiming: { silenceMs: 30 },
    });
    const seen = await read(
      impatient,
      (events) => events.filter(({ kind }) => kind === "ready").length === 2,
    );
    assert.deepEqual(leaves(seen), [0, 1, 2]);
  });

  describe("that is not to be had", () => {
    const NEVER = /\b(sst_|session=)/;

    /** What reading ends with, and the pauses before. */
    async function ending(
      at: string,
      { answerMs = 30_000, enough = () => false }: { answerMs?: number; enough?: () => boolean } = {},
    ): Promise<{ code: string | undefined; message: string; pauses: number[] }> {
      const pauses: number[] = [];
      const wait = async (ms: number): Promise<void> => void pauses.push(ms);
      const own = createClient({
        ...{ baseUrl: at, answerMs, streamTiming: { wait } },
        credential: { sessionProvider: async () => "sst_e0" },
      });
      service.goodTokens.add("sst_e0");
      try {
        await read(own, enough);
      } catch (error) {
        const { code, message } = error as { code?: string; message: string };
        assert.doesNotMatch(message, NEVER);
        return { code, message, pauses };
      }
      throw new Error("it did not fail");
    }

    async function against(answer: (response: ServerResponse) => void): ReturnType<typeof ending> {
      const server = createServer((_, response) => answer(response));
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      try {
        return await ending(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { answerMs: 300 });
      } finally {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    }

    it("ends after a few tries and names the address, where nothing listens", async () => {
      await service.close();
      const { code, message, pauses } = await ending(baseUrl);
      assert.equal(code, "NETWORK");
      assert.ok(message.includes(`${baseUrl}/events/stream`) && message.includes("ECONNREFUSED"), message);
      assert.equal(pauses.length, 3);
      assert.ok(pauses.reduce((sum, ms) => sum + ms, 0) < 4_000);
      service = new TestService();
    });

    it("ends at once where a page answers in its place, or nobody", async () => {
      const page = await against((response) =>
        response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html>"),
      );
      assert.deepEqual([page.code, page.pauses], ["UNEXPECTED_ANSWER", []]);
      assert.match(page.message, /text\/html from http:.*is this the service's address/);
      const silent = await against(() => undefined);
      assert.deepEqual([silent.code, silent.pauses], ["NETWORK", []]);
      assert.match(silent.message, /nothing was received/);
    });

    it("ends after a few tries where the stream closes before its first event", async () => {
      const { code, pauses } = await against((response) =>
        response.writeHead(200, { "Content-Type": "text/event-stream" }).end(": hello\n\n"),
      );
      assert.deepEqual([code, pauses.length], ["NETWORK", 3]);
    });

    it("ends with the service's word where it stays away from the beginning", async () => {
      service.faults.push(() => "QUEUE_FULL");
      const { code, pauses } = await ending(baseUrl);
      assert.deepEqual([code, pauses.length], ["QUEUE_FULL", 3]);
    });

    it("asks once for a new token, and ends where the new one has expired, too", async () => {
      service.expiredTokens.add("sst_e0");
      const { code, pauses } = await ending(baseUrl);
      assert.deepEqual([code, pauses.length], ["SESSION_EXPIRED", 1]);
    });

    it("that was open once is tried again for two minutes, then ends", async () => {
      const { code, pauses } = await ending(baseUrl, {
        enough: () => {
          service.faults.push(() => "hang-up");
          service.dropStreams();
          return false;
        },
      });
      assert.equal(code, "NETWORK");
      const away = pauses.reduce((sum, ms) => sum + ms, 0);
      assert.ok(away > 80_000 && away <= 120_000, `away for ${away} ms`);
      assert.ok(pauses.every((ms) => ms <= 30_000));
    });

    it("that breaks off behind its first event each time is unreachable, too", async () => {
      const { code, pauses } = await against((response) => {
        const ready = { chain_id: 1, pool: `0x${"00".repeat(20)}`, block_number: 1, leaf_count: 0 };
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        response.end(`event: ready\ndata: ${JSON.stringify(ready)}\n\n`);
      });
      assert.equal(code, "NETWORK");
      assert.ok(pauses.length > 4);
    });
  });
});

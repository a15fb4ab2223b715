// A credential that is revoked: what an open stream says of it is what a request with it is answered.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { revokeSessions } from "../../../proxy/base/auth/registration.ts";
import { eventsRoutes } from "../../../proxy/api/events/events.routes.ts";
import { Hub } from "../../../proxy/api/events/hub.ts";
import { openChainDataStore } from "../../../proxy/base/store/lmdb/chain-data.ts";
import { openDatabase } from "../../../proxy/base/store/lmdb/database.ts";
import { CHAIN_ID, POOL, startEdge, type Edge } from "../../support/edge.ts";

interface LastWords {
  readonly kind: string | undefined;
  readonly data: unknown;
}

describe("a stream whose credential was revoked", () => {
  let edge: Edge;
  let hub: Hub;
  let close: () => Promise<void>;

  before(async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-revoked-"));
    const database = openDatabase(folder);
    // An empty chain, as far as it is known: nothing is said but who may listen.
    const indexer = {
      onChange: () => () => undefined,
      state: () => ({ tip: undefined, syncedAt: undefined, fault: undefined }),
    };
    const tickets = {
      onChange: () => () => undefined,
      openOf: async () => [],
      view: () => Promise.reject(new Error("there is no ticket")),
    };
    let now = Date.now;
    hub = new Hub(indexer, openChainDataStore(database), tickets, {
      chainId: CHAIN_ID,
      pool: POOL,
      checkEveryMs: 50,
      tickMs: 10,
      now: () => now(),
    });
    edge = await startEdge({
      handlers: eventsRoutes(hub, { openStream: async () => () => undefined }),
    });
    now = () => edge.now();
    close = async () => {
      hub.close();
      await edge.stop();
      await database.close();
      await rm(folder, { recursive: true, force: true });
    };
  });
  after(() => close());

  async function openStream(headers: Record<string, string>): Promise<() => Promise<LastWords>> {
    const response = await fetch(`${edge.url}/events/stream`, { headers });
    assert.equal(response.status, 200);
    return async () => {
      const events = (await response.text()).split("\n\n").filter((text) => text.includes("data: "));
      const last = events.at(-1) ?? "";
      return {
        kind: /^event: (.*)$/m.exec(last)?.[1],
        data: JSON.parse(/^data: (.*)$/m.exec(last)?.[1] ?? "null") as unknown,
      };
    };
  }

  it("ends with the code that a request is answered, for a session and for a key", async () => {
    const { id, key } = await edge.newDeveloper();
    const asKey = { "X-API-Key": key };
    const minted = await edge.call("POST", "/session", {
      credential: false,
      headers: asKey,
      json: { sub: "u", perms: ["read"], ttl_secs: 600 },
    });
    const asSession = { Authorization: `Bearer ${String(minted.body.token)}` };
    const streams = [await openStream(asSession), await openStream(asKey)] as const;
    await revokeSessions(edge.store, id);
    const [record] = await edge.store.keys(id);
    await edge.store.revokeKey(record!.id, new Date().toISOString());
    edge.advance(5_000);
    for (const [lastWords, headers] of [
      [streams[0], asSession],
      [streams[1], asKey],
    ] as const) {
      const { kind, data } = await lastWords();
      const answered = await edge.call("GET", "/whoami", { credential: false, headers });
      assert.equal(answered.body.code, "INVALID_CREDENTIAL");
      assert.equal(kind, "credential_revoked");
      assert.deepEqual(data, { code: answered.body.code as string });
    }
  });

  it("ends with session_expired when its time is over, which is what a request is answered", async () => {
    const token = await edge.session({ ttl_secs: 60 });
    const lastWords = await openStream({ Authorization: `Bearer ${token}` });
    edge.advance(60_000);
    assert.equal((await lastWords()).kind, "session_expired");
    const answered = await edge.call("GET", "/whoami", { session: token });
    assert.equal(answered.body.code, "SESSION_EXPIRED");
  });
});

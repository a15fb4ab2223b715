// The operator's tool on a durable Redis that proxies share, from a machine that has no proxy and so no data folder.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { sharedStores, type InstanceStores } from "../../../proxy/store/instance.ts";
import { hash, ticketDraft } from "../../support/stores/tickets.ts";
import { startDurableRedis, type RedisServer } from "../../support/redis.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;
const POOL = "0x5FbDB2315678afecb367f032d93F642f64180aa3";

describe("operator --redis, without a data folder", () => {
  let server: RedisServer;
  let stores: InstanceStores;
  before(async () => {
    server = await startDurableRedis();
    const instance = { chainId: 31_337, pool: POOL };
    stores = await sharedStores({ url: server.url, instance, deadlineMs: 10_000 });
  });
  after(async () => {
    stores.close();
    await server.kill();
  });

  const operator = (...words: string[]): Promise<{ code: number; out: string; err: string }> =>
    new Promise((resolve) => {
      const at = ["--redis", server.url, "--instance", `31337:${POOL}`];
      execFile(
        process.execPath,
        ["--import", "tsx", "scripts/product/operator.ts", ...at, ...words],
        { cwd: ROOT, env: { PATH: process.env["PATH"] ?? "" } },
        (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });

  it("works on developers, sessions, apps and tickets", async () => {
    const added = await operator("developers", "add", "Shop", "--id", "shop");
    assert.deepEqual([added.code, added.err], [0, ""]);
    assert.equal((await stores.keys.developer("shop"))?.name, "Shop");
    assert.equal((await operator("developers", "revoke-sessions", "shop", "--sub", "u")).code, 0);
    assert.equal(await stores.keys.userEpoch("shop", "u"), 1);
    assert.deepEqual((await operator("apps", "list")).out.trim(), "");

    const draft = ticketDraft(5, [5]);
    await stores.tickets.accept(draft, 10);
    const inspected = await operator("tickets", "inspect", draft.statement);
    assert.equal(inspected.code, 0, inspected.err);
    const { ticket, index } = JSON.parse(inspected.out);
    assert.deepEqual([ticket.id, ticket.state, ticket.queued_before], [draft.id, "queued", 0]);
    assert.match(index, /--data/);
    assert.equal((await operator("tickets", "inspect", hash(6))).code, 2);
  });

  it("disables a developer for every proxy", async () => {
    await stores.keys.addDeveloper({ ...(await stores.keys.developer("shop"))!, id: "gone" });
    const disabled = await operator("developers", "disable", "gone");
    assert.equal(disabled.code, 0, disabled.err);
    assert.match((await stores.keys.developer("gone"))?.disabledAt ?? "", /^20/);
    assert.equal((await operator("developers", "enable", "gone")).code, 0);
    assert.equal((await stores.keys.developer("gone"))?.disabledAt, undefined);
  });

  it("says which commands need the folder of a proxy", async () => {
    for (const words of [
      ["fees", "received"],
      ["index", "check"],
    ]) {
      const { code, err, out } = await operator(...words);
      assert.deepEqual([code, out], [2, ""], words.join(" "));
      assert.match(err, /--data FOLDER is missing/);
    }
  });
});

// The operator's tool on a durable Redis that proxies share, from a machine that has no proxy and so no data folder.
import assert from "node:assert/strict";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { sharedStores, type InstanceStores } from "../../../proxy/base/store/instance.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { hash, ticketDraft } from "../../support/stores/tickets.ts";
import { runProgram, type Ended } from "../../support/program.ts";
import { startDurableRedis, type RedisServer } from "../../support/redis.ts";

const POOL = "0x5FbDB2315678afecb367f032d93F642f64180aa3";

describe("operator --redis, without a data folder", () => {
  let server: RedisServer;
  let stores: InstanceStores;
  before(async () => {
    server = await startDurableRedis();
    const instance = { chainId: 31_337, pool: POOL };
    stores = await sharedStores({ url: server.url, instance, deadlineMs: PATIENCE_MS });
  });
  after(async () => {
    stores.close();
    await server.kill();
  });

  const operator = (...words: string[]): Promise<Ended> => {
    const at = ["--redis", server.url, "--instance", `31337:${POOL}`];
    return runProgram("scripts/operator/main.ts", [...at, ...words]);
  };

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

  it("shows the verifiers' disagreements, and settles one at a time", async () => {
    assert.match((await operator("disagreements", "list")).out, /never disagreed/);
    const request = Uint8Array.of(1, 2, 3);
    const answers = [
      { enclave: 0, kind: 1, signer: `0x${"a1".repeat(20)}` as Address, signature: Uint8Array.of(9) },
      { enclave: 1, kind: 2, refusal: "PROOF_INVALID" },
    ];
    for (const [at, id] of [hash(21), hash(22)].entries())
      await stores.disagreements.keep({ id, at, request, answers });
    const listed = await operator("disagreements", "list");
    assert.match(listed.out, new RegExp(`${hash(21)} .* open .*enclave 0: signed, enclave 1: PROOF_INVALID`));
    const shown = JSON.parse((await operator("disagreements", "show", hash(22))).out);
    assert.deepEqual([shown.request, shown.answers[0].signature], ["0x010203", "0x09"]);

    assert.match((await operator("disagreements", "settle", hash(21))).out, /1 more are open/);
    assert.match((await operator("disagreements", "settle", hash(22))).out, /attestation goes on/);
    const { entries } = await stores.audit.page({ limit: 1 });
    assert.deepEqual(
      [entries[0]?.verb, entries[0]?.target.id, entries[0]?.after],
      ["disagreement.settle", hash(22), { open: false }],
    );
    for (const wrong of [hash(23), "x"])
      assert.equal((await operator("disagreements", "settle", wrong)).code, 2, wrong);
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

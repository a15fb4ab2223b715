// The operator's tool in a process of its own, beside a running proxy on the same store.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { FELT_MS } from "../../../proxy/base/auth/developers.ts";
import { embeddedStores } from "../../../proxy/base/store/instance.ts";
import { bridgeDraft } from "../../support/bridges.ts";
import { runProgram, type Ended } from "../../support/program.ts";
import { hash, ticketDraft } from "../../support/stores/tickets.ts";
import { CHAIN_ID, POOL, startEdge, type Answer, type Edge } from "../../support/edge.ts";

/** Nothing of it may be shown. */
const SECRETS = {
  proof: new Uint8Array(256).fill(0x5a),
  ext: new Uint8Array(64).fill(0x6b),
  authorization: new Uint8Array(65).fill(0x7c),
};
const SIGNED = "0x02f8d1";
/** Nothing listens there: the port is reserved (IANA, tcpmux). */
const NO_NODE = ["--rpc", "http://127.0.0.1:1", "--chain-id", String(CHAIN_ID), "--pool", POOL];

describe("operator and openapi commands", () => {
  let edge: Edge;
  let pepperFile: string;
  before(async () => {
    edge = await startEdge();
    pepperFile = join(edge.folder, "pepper");
    await writeFile(pepperFile, `0x${Buffer.from(edge.pepper).toString("hex")}\n`, { mode: 0o600 });
  });
  after(() => edge.stop());

  const run = (script: string, args: readonly string[]): Promise<Ended> =>
    runProgram(`scripts/${script}.ts`, args);
  const operator = (...args: string[]): Promise<Ended> =>
    run("operator/main", ["--data", edge.folder, "--pepper", pepperFile, ...args]);
  const ask = (key: string): Promise<Answer> =>
    edge.call("GET", "/whoami", { credential: false, headers: { "X-API-Key": key } });

  it("lists the bridge requests of the running proxy", async () => {
    const draft = bridgeDraft(1, {});
    const limits = { openPerUser: 9, openPerDeveloper: 9, openPerInstance: 9 };
    await embeddedStores(edge.database).bridges.make(draft, limits);
    const listed = await operator("--json", "bridges", "list", "d");
    assert.equal(listed.code, 0, listed.err);
    assert.deepEqual(
      JSON.parse(listed.out).bridges.map((one: { id: string }) => one.id),
      [draft.id],
    );
  });

  it("adds a developer and a key that the running proxy accepts at once, and no proxy takes it once it is revoked", async () => {
    const added = await operator(
      "--json",
      "developers",
      "add",
      "Shop",
      "--id",
      "shop",
      "--key-per-minute",
      "7",
    );
    assert.equal(added.code, 0, added.err);
    assert.equal(JSON.parse(added.out).id, "shop");
    const created = await operator("--json", "keys", "create", "shop", "main");
    assert.equal(created.code, 0, created.err);
    const { key, id } = JSON.parse(created.out);
    const accepted = await ask(key);
    assert.equal(accepted.status, 200);
    assert.deepEqual(accepted.body.developer, { id: "shop", name: "Shop" });
    assert.equal(accepted.body.limits[0].quota, 7);

    const listed = await operator("keys", "list", "shop");
    assert.match(listed.out, new RegExp(`${id}.*live`));
    assert.ok(!listed.out.includes(key.slice(20)));
    assert.equal((await operator("keys", "revoke", id)).code, 0);
    assert.equal((await ask(key)).body.code, "INVALID_CREDENTIAL");
    assert.equal((await operator("keys", "revoke", id)).code, 2);
  });

  it("ends one user's sessions and leaves the others alone", async () => {
    const [mine, theirs] = [await edge.session({ sub: "one" }), await edge.session({ sub: "two" })];
    const { developer } = (await edge.call("GET", "/whoami")).body;
    const ended = await operator("developers", "revoke-sessions", developer.id, "--sub", "one");
    assert.equal(ended.code, 0, ended.err);
    edge.advance(1_000);
    const status = async (session: string): Promise<number> =>
      (await edge.call("GET", "/whoami", { session })).status;
    assert.deepEqual([await status(mine), await status(theirs)], [401, 200]);
  });

  it("disables a developer: no key and no session is taken any more, and its tickets go on; enables it again", async () => {
    const { id, key } = await edge.newDeveloper({ name: "Gone" });
    const mint = (): Promise<Answer> =>
      edge.call("POST", "/session", {
        credential: false,
        headers: { "X-API-Key": key },
        json: { sub: "u", perms: ["read"], ttl_secs: 600 },
      });
    const session = (await mint()).body.token;
    const status = async (): Promise<number[]> => [
      (await ask(key)).status,
      (await edge.call("GET", "/whoami", { session })).status,
      (await mint()).status,
      (await edge.call("GET", "/whoami")).status,
    ];
    assert.deepEqual(await status(), [200, 200, 201, 200]);
    const tickets = embeddedStores(edge.database).tickets;
    const draft = ticketDraft(77, [77]);
    await tickets.accept({ ...draft, owner: { developerId: id, sub: "u" } }, 10);

    const disabled = await operator("developers", "disable", id);
    assert.equal(disabled.code, 0, disabled.err);
    assert.match(disabled.out, /disabled 20/);
    // It has waited for that by itself.
    assert.deepEqual(await status(), [401, 401, 401, 200]);
    assert.equal((await tickets.get(draft.id))?.status.state, "queued");
    assert.match((await operator("developers", "list")).out, new RegExp(`^${id}\\tGone\\tdisabled `, "m"));

    assert.equal((await operator("developers", "enable", id)).code, 0);
    edge.advance(FELT_MS);
    // A session from before stays ended.
    assert.deepEqual(await status(), [200, 401, 201, 200]);
    assert.notEqual((await operator("developers", "disable", "nobody")).code, 0);
  });

  it("shows all of a ticket by its id or statement, and none of its secrets", async () => {
    const tickets = embeddedStores(edge.database).tickets;
    const draft = ticketDraft(88, [881, 882], "alice");
    const transaction = { ...draft.transaction, ...SECRETS };
    await tickets.accept({ ...draft, requestId: "request-1", transaction }, 10);
    const lease = await embeddedStores(edge.database).lease.take("test", 1_000);
    const attempt = {
      ...{ hash: hash(900), raw: SIGNED, maxFeePerGas: 2n ** 70n, maxPriorityFeePerGas: 1n, signedAt: 2_000 },
    };
    const outgoing = {
      sender: POOL,
      nonce: 7,
      ticketIds: [draft.id],
      gasLimit: 5n,
      data: "0x",
      attempts: [attempt],
    };
    const sent = { id: draft.id, status: { state: "submitted" as const, carrier: 7, txHash: hash(900) } };
    assert.equal(await tickets.underLease(lease!).putOutgoing(outgoing, 0, [sent], 3_000), true);

    const byId = await operator("tickets", "inspect", draft.id);
    assert.equal(byId.code, 0, byId.err);
    assert.equal((await operator("tickets", "inspect", draft.statement)).out, byId.out);
    const { ticket, transactions, index, chain } = JSON.parse(byId.out);
    assert.deepEqual(
      [ticket.id, ticket.statement, ticket.kind, ticket.developer, ticket.user, ticket.request_id],
      [draft.id, draft.statement, "spend", "d", "alice", "request-1"],
    );
    assert.deepEqual([ticket.state, ticket.carrier, ticket.txHash], ["submitted", 7, hash(900)]);
    assert.deepEqual(
      ticket.nullifiers,
      ["881", "882"].map((nullifier) => ({ nullifier, reserved_by: "this ticket" })),
    );
    assert.deepEqual(ticket.attested_by, [`0x${"11".repeat(20)}`]);
    assert.equal(transactions[0].nonce, 7);
    assert.equal(transactions[0].attempts[0].hash, hash(900));
    assert.deepEqual(index, { block: null, executed: null, rejected: null, spent_by: [null, null] });
    assert.match(chain, /--rpc/);
    for (const secret of ["5a5a5a", "6b6b6b", "7c7c7c", SIGNED, "09".repeat(8), "90,90,90"])
      assert.ok(!byId.out.includes(secret), secret);

    const away = await operator("tickets", "inspect", draft.id, ...NO_NODE);
    assert.equal(away.code, 0, away.err);
    assert.match(JSON.parse(away.out).chain, /^not asked: /);
    for (const name of ["id-none", hash(4_711)]) {
      const none = await operator("tickets", "inspect", name);
      assert.deepEqual([none.code, none.out], [2, ""]);
      assert.match(none.err, /there is no ticket/);
    }
  });

  it("adds, lists and removes identity-provider apps, and the running proxy feels both at once", async () => {
    const terms = ["--issuer", "https://login.example", "--audience", "pay", "--perm", "read"];
    const at = ["--jwks", "https://login.example/jwks", "--jwks-host", "login.example"];
    const add = (...more: string[]): Promise<Ended> =>
      operator("--json", "apps", "add", "test", "--id", "app_one", ...terms, ...more);
    const exchange = async (): Promise<string> =>
      (
        await edge.call("POST", "/session/exchange", {
          credential: false,
          json: { app_id: "app_one", access_token: "no token" },
        })
      ).body.code;

    assert.match(
      (await add("--jwks", "https://evil.example/", "--jwks-host", "login.example")).err,
      /approved/,
    );
    assert.match((await add("--jwks", "http://login.example/", "--jwks-host", "login.example")).err, /https/);
    assert.equal(await exchange(), "APP_UNKNOWN");
    const added = await add(...at, "--alg", "ES256", "--max-ttl", "300");
    assert.equal(added.code, 0, added.err);
    const { algorithms, maxTtlSecs, developerId } = JSON.parse(added.out);
    assert.deepEqual([algorithms, maxTtlSecs, developerId], [["ES256"], 300, "test"]);
    assert.equal(await exchange(), "INVALID_CREDENTIAL");
    assert.match((await add(...at)).err, /already/);

    assert.match((await operator("apps", "list", "test")).out, /^app_one\ttest\thttps:\/\/login\.example/);
    assert.equal((await operator("apps", "list", "nobody")).out.trim(), "");
    const removed = await operator("apps", "remove", "app_one");
    assert.match(removed.out, /revoke-sessions test/);
    assert.equal(await exchange(), "APP_UNKNOWN");
    assert.equal((await operator("apps", "remove", "app_one")).code, 2);
  });

  it("refuses what it does not understand, with words and exit code 2", async () => {
    for (const args of [
      ["keys", "destroy"],
      ["keys", "create", "nobody", "x"],
      ["developers", "add"],
    ]) {
      const { code, err, out } = await operator(...args);
      assert.notEqual(code, 0, args.join(" "));
      assert.notEqual(err, "");
      assert.equal(out, "");
    }
    const elsewhere = await run("operator/main", ["--data", join(edge.folder, "typo"), "developers", "list"]);
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.err, /holds no store/);
  });

  it("explains itself", async () => {
    const { code, out } = await run("operator/main", ["--help"]);
    assert.equal(code, 0);
    assert.match(out, /keys create/);
  });

  it("openapi prints what the proxy serves", async () => {
    const { code, out } = await run("build/openapi", []);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), (await edge.call("GET", "/openapi.json")).body);
    assert.match((await run("build/openapi", ["--help"])).out, /^Usage/);
  });
});

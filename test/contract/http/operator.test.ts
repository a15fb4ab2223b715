// The operator's tool in a process of its own, beside a running proxy on the same store.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEdge, type Answer, type Edge } from "./edge.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

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
    new Promise((resolve) => {
      const options = { cwd: ROOT, maxBuffer: 8_000_000, env: { PATH: process.env["PATH"] ?? "" } };
      execFile(
        process.execPath,
        ["--import", "tsx", `scripts/${script}.ts`, ...args],
        options,
        (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  const operator = (...args: string[]): Promise<Ended> =>
    run("operator", ["--data", edge.folder, "--pepper", pepperFile, ...args]);
  const ask = (key: string): Promise<Answer> =>
    edge.call("GET", "/whoami", { credential: false, headers: { "X-API-Key": key } });

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
    const elsewhere = await run("operator", ["--data", join(edge.folder, "typo"), "developers", "list"]);
    assert.equal(elsewhere.code, 2);
    assert.match(elsewhere.err, /holds no store/);
  });

  it("explains itself", async () => {
    const { code, out } = await run("operator", ["--help"]);
    assert.equal(code, 0);
    assert.match(out, /keys create/);
  });

  it("openapi prints what the proxy serves", async () => {
    const { code, out } = await run("openapi", []);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(out), (await edge.call("GET", "/openapi.json")).body);
    assert.match((await run("openapi", ["--help"])).out, /^Usage/);
  });
});

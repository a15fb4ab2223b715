// Every verb of the operator's tool that changes the store, the audit log that they leave, and the listings of the past,
// over a real store.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { embeddedStores, type InstanceStores } from "../../../../proxy/base/store/instance.ts";
import type { Database } from "../../../../proxy/base/store/lmdb/database.ts";
import { DAY_MS } from "../../../../proxy/base/store/usage.ts";
import { APPS } from "../../../../scripts/operator/apps.ts";
import { BRIDGES } from "../../../../scripts/operator/bridges.ts";
import {
  authorOf,
  parseStoreCommand,
  runVerb,
  type Result,
  type Verbs,
} from "../../../../scripts/operator/command-line.ts";
import { DEVELOPERS, KEYS } from "../../../../scripts/operator/developers.ts";
import { FEES } from "../../../../scripts/operator/fees.ts";
import { auditCommand, usageCommand } from "../../../../scripts/operator/history.ts";
import { TICKETS } from "../../../../scripts/operator/tickets.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { bridgeDraft } from "../../../support/bridges.ts";
import { temporaryDatabase } from "../../../support/fees.ts";
import { ERROR, ticketDraft } from "../../../support/stores/tickets.ts";

const USDC = `0x${"11".repeat(20)}` as Address;
const SINK = SpendingKey.fromSeed(new Uint8Array(32).fill(5)).viewing.addressText("clo");
const VERBS: Readonly<Record<string, Verbs>> = {
  ...{ developers: DEVELOPERS, keys: KEYS, apps: APPS, fees: FEES, tickets: TICKETS, bridges: BRIDGES },
};

/** What its help says changes nothing. */
const READING = new Set(["list", "inspect", "received", "ended"]);

describe("operator audit, usage and tickets ended", function () {
  let database: Database;
  let stores: InstanceStores;
  let folder: string;
  beforeEach(async () => {
    database = temporaryDatabase();
    stores = embeddedStores(database);
    folder = mkdtempSync(join(tmpdir(), "cloister-history-"));
    await writeFile(join(folder, "pepper"), `0x${"07".repeat(32)}\n`, { mode: 0o600 });
  });
  afterEach(async () => {
    rmSync(folder, { recursive: true, force: true });
    await database.close();
  });

  async function run(...args: string[]): Promise<Result> {
    const { values, positionals } = parseStoreCommand(args);
    const kept = { stores, values, data: undefined, by: authorOf(values) };
    const [command = "", ...words] = positionals;
    if (command === "audit") return auditCommand(kept, words);
    if (command === "usage") return usageCommand(kept, words);
    return (await runVerb(VERBS[command] ?? {}, words, kept)) ?? assert.fail("no answer");
  }
  const olga = (...args: string[]): Promise<Result> => run("--by", "olga", ...args);

  interface Entry {
    readonly number: number;
    readonly verb: string;
    readonly by: unknown;
    readonly developer: string | null;
  }
  async function log(...words: string[]): Promise<readonly Entry[]> {
    const { entries } = (await run("audit", "--limit", "1000", ...words)).data as { entries: Entry[] };
    return entries;
  }

  it("leaves an entry for each verb that changes the store, of whoever ran it, and none of its secrets", async () => {
    await stores.feeRules.describe({
      addressPrefix: "clo",
      assets: [{ address: USDC, symbol: "USDC", decimals: 6 }],
    });
    const draft = { ...bridgeDraft(3, {}), watchUntil: Date.now() + 1e9 };
    await stores.bridges.make(draft, { openPerUser: 9, openPerDeveloper: 9, openPerInstance: 9 });
    const app = ["--issuer", "https://login.example", "--audience", "pay", "--perm", "read"];
    const at = ["--jwks", "https://login.example/jwks", "--jwks-host", "login.example"];
    const pepper = ["--pepper", join(folder, "pepper")];
    let key = { key: "", id: "" };
    const steps: readonly [verb: string, step: () => Promise<Result>][] = [
      ["developers add", () => olga("developers", "add", "Shop", "--id", "shop")],
      ["developers limits", () => olga("developers", "limits", "shop", "--key-per-minute", "9")],
      ["developers origins", () => olga("developers", "origins", "shop", "--origin", "https://a.example")],
      ["developers revoke-sessions", () => olga("developers", "revoke-sessions", "shop")],
      ["developers revoke-sessions", () => olga("developers", "revoke-sessions", "shop", "--sub", "alice")],
      ["keys create", () => olga("keys", "create", "shop", "main", ...pepper)],
      ["keys revoke", () => olga("keys", "revoke", key.id)],
      ["apps add", () => olga("apps", "add", "shop", "--id", "app_one", ...app, ...at)],
      ["apps remove", () => olga("apps", "remove", "app_one")],
      ["fees set", () => olga("fees", "set", "shop", "USDC", "withdraw", "--bps", "25", "--sink", SINK)],
      ["fees remove", () => olga("fees", "remove", "shop", "USDC", "withdraw")],
      ["developers disable", () => olga("developers", "disable", "shop")],
      ["developers enable", () => olga("developers", "enable", "shop")],
      ["bridges screen", () => olga("bridges", "screen", draft.id, "refuse")],
      ["bridges resend", () => olga("bridges", "resend", draft.id)],
      ["bridges close", () => olga("bridges", "close", draft.id)],
    ];
    const changing = Object.entries(VERBS).flatMap(([command, verbs]) =>
      Object.keys(verbs).flatMap((verb) => (READING.has(verb) ? [] : `${command} ${verb}`)),
    );
    assert.deepEqual(new Set(steps.map(([verb]) => verb)), new Set(changing), "every verb is tried here");
    for (const [i, [verb, step]] of steps.entries()) {
      const { data } = await step();
      if (verb === "keys create") key = data as typeof key;
      assert.equal((await log()).length, i + 1, verb);
    }
    const entries = await log();
    assert.deepEqual(entries.map(({ verb }) => verb).reverse(), [
      ...["developer.add", "developer.limits", "developer.origins", "developer.revoke-sessions"],
      ...[
        "user.revoke-sessions",
        "key.create",
        "key.revoke",
        "app.add",
        "app.remove",
        "fee.set",
        "fee.remove",
      ],
      ...["developer.disable", "developer.enable", "bridge.screen", "bridge.resend", "bridge.close"],
    ]);
    for (const { by } of entries) assert.deepEqual(by, { kind: "operator", name: "olga" });
    assert.equal((await log("--developer", "shop")).length, 13);
    const text = JSON.stringify(entries);
    for (const secret of [key.key.slice(20), "alice", SINK, draft.address])
      assert.ok(!text.includes(secret), secret);
  });

  it("shows the log a page at a time, and as lines", async () => {
    for (const origin of ["a", "b", "c"]) await olga("developers", "add", origin, "--id", `dev_${origin}`);
    const { text, data } = await run("audit", "--limit", "2");
    assert.match(
      text,
      /^20\S+\toperator olga\tdeveloper\.add\tdeveloper dev_c\tnull -> \{"name":"c".*\n20.*dev_b/,
    );
    assert.match(text, /\nmore: --cursor 2$/);
    assert.equal((data as { next: number }).next, 2);
    assert.deepEqual(
      (await log("--cursor", "2")).map(({ developer }) => developer),
      ["dev_a"],
    );
    assert.equal((await run("audit", "--developer", "nobody")).text, "none");
    await assert.rejects(run("audit", "extra"), /too many words/);
    await assert.rejects(run("audit", "--limit", "0"), /--limit/);
    await assert.rejects(olga("audit", "--by", "x".repeat(65)), /--by/);
    assert.notEqual(authorOf({}).kind === "operator" && (authorOf({}) as { name: string }).name, "");
  });

  it("lists ended tickets by developer, user, state and time, without what they sent", async () => {
    const day = Date.UTC(2026, 2, 5);
    const fence = await stores.lease.take("test", 60_000);
    for (const [n, sub] of ["alice", "bob", undefined].entries()) {
      const draft = { ...ticketDraft(n, [n]), owner: { developerId: "past", sub }, createdAt: day };
      await stores.tickets.accept(draft, 10);
      const change = { id: draft.id, status: { state: "failed", error: ERROR } } as const;
      await stores.tickets.underLease(fence ?? 0).change([change], day + n);
    }
    const ended = ["tickets", "ended", "--developer", "past"];
    const listed = async (...words: string[]): Promise<string[]> =>
      ((await run(...ended, ...words)).data as { tickets: { id: string }[] }).tickets.map(({ id }) => id);
    assert.deepEqual(await listed(), ["id-2", "id-1", "id-0"]);
    assert.deepEqual(await listed("--sub", "alice", "--state", "failed"), ["id-0"]);
    assert.deepEqual(await listed("--state", "finalized"), []);
    assert.deepEqual(await listed("--from", "2026-03-05T00:00:00.001Z", "--to", "2026-03-06"), [
      "id-2",
      "id-1",
    ]);
    const { text, data } = await run(...ended, "--limit", "2");
    const [, cursor = ""] = /\nmore: --cursor (\S+)$/.exec(text) ?? [];
    assert.deepEqual(await listed("--cursor", cursor), ["id-0"]);
    assert.deepEqual((data as { tickets: { code: string }[] }).tickets[0]?.code, ERROR.code);
    assert.ok(!JSON.stringify(data).includes("07".repeat(4)), "its proof");
    const wrong = [
      ["--state", "queued"],
      ["--cursor", "x"],
      ["--from", "yesterday"],
      ["--limit", "0"],
    ];
    for (const words of wrong) await assert.rejects(run(...ended, ...words), /--/, words.join(" "));
    await assert.rejects(run("tickets", "ended", "--sub", "alice"), /--sub needs --developer/);
  });

  it("shows usage of one developer or of all, by day", async () => {
    const used = { developerId: "past", day: Date.UTC(2026, 2, 5) / DAY_MS, operation: "relay" };
    const one = [
      { ...used, code: undefined, count: 7 },
      { ...used, code: "RATE_LIMITED", count: 2 },
    ];
    await stores.usage.pour("test", 1, [...one, { ...one[0]!, developerId: "also" }]);
    const march = ["--from", "2026-03-01", "--to", "2026-03-07"];
    const { text } = await run("usage", "--developer", "past", ...march);
    assert.deepEqual(
      new Set(text.split("\n")),
      new Set(["2026-03-05\tpast\trequests\trelay\t7", "2026-03-05\tpast\trefused\trelay\tRATE_LIMITED\t2"]),
    );
    const { usage } = (await run("usage", ...march)).data as { usage: { developer: string; day: string }[] };
    assert.deepEqual(
      usage.map(({ developer, day }) => `${day} ${developer}`),
      ["2026-03-05 also", "2026-03-05 past"],
    );
    assert.equal((await run("usage")).text, "none");
    await assert.rejects(run("usage", "--from", "2020-01-01"), /366 days/);
    await assert.rejects(run("usage", "--from", "2026-02-30"), /takes a day/);
  });
});

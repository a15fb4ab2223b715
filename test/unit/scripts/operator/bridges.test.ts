// The operator's commands about bridge requests, over a real store: what they show, what they change, and what they refuse.
import assert from "node:assert/strict";
import { UsageError } from "../../../../scripts/base/command.ts";
import { BRIDGES } from "../../../../scripts/operator/bridges.ts";
import { parseStoreCommand, runVerb, type Result } from "../../../../scripts/operator/command-line.ts";
import { embeddedStores, type InstanceStores } from "../../../../proxy/base/store/instance.ts";
import type { Database } from "../../../../proxy/base/store/lmdb/database.ts";
import { bridgeDraft } from "../../../support/bridges.ts";
import { temporaryDatabase } from "../../../support/fees.ts";

const LIMITS = { openPerUser: 9, openPerDeveloper: 9, openPerInstance: 9 };
const BY = { kind: "operator", name: "olga" } as const;

describe("operator bridges", () => {
  let database: Database;
  let stores: InstanceStores;
  const [way, out] = [bridgeDraft(1, {}), bridgeDraft(2, { kind: "to-exchange", sub: "bob" })];
  beforeEach(async () => {
    database = temporaryDatabase();
    stores = embeddedStores(database);
    for (const draft of [way, out]) await stores.bridges.make(draft, LIMITS);
  });
  afterEach(() => database.close());

  async function run(...words: string[]): Promise<Result> {
    const { values } = parseStoreCommand([]);
    const result = await runVerb(BRIDGES, words, { stores, data: undefined, values, by: BY });
    return result ?? assert.fail("no answer");
  }
  const listed = async (...words: string[]): Promise<string[]> => {
    const { bridges } = (await run("list", ...words)).data as { bridges: { id: string; user: string }[] };
    return bridges.map(({ id, user }) => `${id.slice(-2)} ${user}`);
  };

  it("lists the open ones, of all developers or of one", async () => {
    assert.deepEqual(await listed(), ["01 user", "02 bob"]);
    assert.deepEqual(await listed("d"), ["01 user", "02 bob"]);
    assert.deepEqual(await listed("another"), []);
    assert.equal((await run("list", "another")).text, "none is open");
    await stores.bridges.close(way.id, way.watchUntil);
    assert.deepEqual(await listed(), ["02 bob"]);
  });

  it("inspects one by its id or an address in any spelling, and shows no note of it", async () => {
    for (const name of [way.id, way.address, way.address.toUpperCase().replace("0X", "0x")]) {
      const { data, text } = await run("inspect", name);
      assert.equal((data as { id: string }).id, way.id);
      assert.ok(!text.includes("ciphertext") && !text.includes("npk"));
    }
    const { data } = await run("inspect", out.id);
    assert.match(JSON.stringify(data), /"pays":\{"account":"0x/);
  });

  it("refuses to sweep one, allows it again, and has the next step tried", async () => {
    await run("screen", way.id, "refuse");
    assert.equal((await stores.bridges.get(way.id))?.screening?.isRefused, true);
    assert.match((await run("list")).text, /01 .*perpvenue in .*refused/);
    await run("screen", way.id, "allow");
    assert.equal((await stores.bridges.get(way.id))?.screening?.isRefused, false);
    await run("resend", out.id);
    assert.ok(((await stores.bridges.get(out.id))?.resendAt ?? 0) > 0);
    assert.equal((await stores.bridges.get(way.id))?.resendAt, undefined);
  });

  it("ends the watch of one, and of all of a developer", async () => {
    const isEnded = async ({ id }: typeof way): Promise<boolean> =>
      ((await stores.bridges.get(id))?.watchUntil ?? Infinity) <= Date.now();
    for (const draft of [way, out]) await stores.bridges.takeUp(draft.id, Date.now() + 1e9, LIMITS);
    await run("close", way.id);
    assert.deepEqual([await isEnded(way), await isEnded(out)], [true, false]);
    await run("close", "d");
    assert.equal(await isEnded(out), true);
    assert.equal(
      (await stores.bridges.get(out.id))?.closedAt,
      undefined,
      "the relay closes it, once it is empty",
    );
  });

  it("refuses words that make no sense", async () => {
    for (const words of [
      ["inspect", "0190a0a0-0000-7000-8000-00000000dead"],
      ["screen", way.id],
      ["screen", way.id, "maybe"],
      ["resend"],
      ["close", "nobody"],
      ["sweep", way.id],
    ])
      await assert.rejects(run(...words), UsageError, words.join(" "));
  });
});

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import {
  createDisagreements,
  type Disagreements,
} from "../../../../../proxy/api/enclave-link/disagreements.ts";
import { embeddedStores } from "../../../../../proxy/base/store/instance.ts";
import { openDatabase, type Database } from "../../../../../proxy/base/store/lmdb/database.ts";
import { StoreUnavailable } from "../../../../../proxy/base/store/unavailable.ts";
import type { DisagreementStore } from "../../../../../proxy/base/store/disagreements.ts";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { poll } from "../../../../../scripts/base/poll.ts";
import { SILENT } from "../../../../support/money.ts";

const id = (byte: string): Bytes32 => `0x${byte.repeat(32)}` as Bytes32;
const answers = [
  {
    ...{ enclave: 0, kind: 1, signer: `0x${"a1".repeat(20)}` as Address },
    signature: new Uint8Array(65).fill(7),
  },
  { enclave: 1, kind: 2, refusal: "PROOF_INVALID" },
  { enclave: 2, refusal: "EXT_MALFORMED" },
];
const found = { id: id("11"), request: Uint8Array.of(1, 2, 3), answers };

describe("enclave-link/disagreements", () => {
  let folder: string;
  let database: Database;
  let store: DisagreementStore;
  const started: Disagreements[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-disagreements-"));
    database = openDatabase(folder);
    store = embeddedStores(database).disagreements;
  });
  afterEach(async () => {
    for (const one of started.splice(0)) one.stop();
    await database.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(over: Pick<DisagreementStore, "keep" | "list"> = store): Promise<Disagreements> {
    const made = createDisagreements({ store: over, logger: SILENT, now: () => 99, everyMs: 10 });
    started.push(made);
    await made.start();
    return made;
  }
  const until = async (of: Disagreements, count: number): Promise<void> => {
    const reached = await poll(async () => (of.open() === count ? true : undefined));
    assert.ok(reached, `${of.open()} are open, not ${count}`);
  };

  it("keeps a case as it was, stops every proxy of the instance, and a later start too", async () => {
    const [here, there] = [await start(), await start()];
    assert.deepEqual([here.open(), there.open()], [0, 0]);
    await here.report(found);
    assert.equal(here.open(), 1);
    await until(there, 1);
    assert.equal((await start()).open(), 1);
    assert.deepEqual(await store.list(), [{ ...found, at: 99, isOpen: true }]);
  });

  it("goes on when the last case is settled, and stops again at the same one", async () => {
    const [here, there] = [await start(), await start()];
    await here.report(found);
    await here.report({ ...found, id: id("22") });
    await until(there, 2);
    assert.equal((await store.settle(id("11")))?.isOpen, false);
    await until(there, 1);
    await store.settle(id("22"));
    await until(here, 0);
    await until(there, 0);
    assert.equal((await store.list()).length, 2);
    await there.report(found);
    await until(here, 1);
    assert.equal(await store.settle(id("33")), undefined);
  });

  it("stops though the store cannot keep the case, and keeps it as soon as it can", async () => {
    let isAway = false;
    let tries = 0;
    const unlessAway = async <T>(ask: () => Promise<T>): Promise<T> => {
      tries += 1;
      if (isAway) throw new StoreUnavailable(new Error("away"));
      return ask();
    };
    const leaky: Pick<DisagreementStore, "keep" | "list"> = {
      keep: (one) => unlessAway(() => store.keep(one)),
      list: () => unlessAway(() => store.list()),
    };
    const here = await start(leaky);
    isAway = true;
    await here.report(found);
    assert.equal(here.open(), 1);
    const before = tries;
    assert.ok(await poll(async () => (tries > before + 3 ? true : undefined)));
    assert.equal(here.open(), 1);
    assert.deepEqual(await store.list(), []);
    isAway = false;
    const kept = await poll(async () => ((await store.list()).length === 1 ? true : undefined));
    assert.ok(kept);
    assert.equal(here.open(), 1);
  });
});

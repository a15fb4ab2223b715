import assert from "node:assert/strict";
import { StateStore } from "../../../../../shared/client/state/state-store.ts";
import type { WalletState } from "../../../../../shared/client/state/state.ts";
import {
  memoryStorage,
  type PartChange,
  type WalletStorage,
} from "../../../../../shared/client/state/storage.ts";
import {
  addBlock,
  contentsOf,
  hashOf,
  HOME,
  KEY,
  paid,
  paymentOf,
  wholeState,
} from "../../../../support/whole-state.ts";

const LEAVES = 520;

/** Holds parts, and tells what it was given. */
function partedStorage() {
  const head = memoryStorage();
  const parts = new Map<string, Uint8Array>();
  const written: string[][] = [];
  const storage: WalletStorage = {
    ...head,
    parts: {
      read: (names) => Promise.resolve(new Map([...parts].filter(([name]) => names.includes(name)))),
      async save(bytes, replaces, { added, named }: PartChange) {
        const version = await head.save(bytes, replaces);
        if (version === undefined) return undefined;
        for (const [name, part] of added) parts.set(name, part.slice());
        for (const name of parts.keys()) if (!named.has(name)) parts.delete(name);
        written.push([...added.keys()]);
        return version;
      },
    },
  };
  return { storage, parts, written };
}
const storeOf = (storage: WalletStorage): StateStore => new StateStore(storage, { home: HOME, key: KEY });
async function opened(storage: WalletStorage): Promise<WalletState> {
  const found = await storeOf(storage).load();
  assert.equal(found?.isDamaged, false);
  return found.state;
}

describe("a wallet's store", () => {
  for (const [title, make] of [
    ["in parts", () => partedStorage().storage],
    ["in one piece", memoryStorage],
  ] as const)
    it(`${title}, a stale tab saves nothing, and what it saves after it has read replaces nobody's promise`, async () => {
      const storage = make();
      assert.equal(await storeOf(storage).load(), undefined);
      await storeOf(storage).save(wholeState(LEAVES));
      const [one, two] = [storeOf(storage), storeOf(storage)];
      const [mine, theirs] = [(await one.load())!.state, (await two.load())!.state];
      paid(theirs);
      assert.equal(await two.save(theirs), true);
      mine.payments.set(hashOf(800), paymentOf(800));
      assert.equal(await one.save(mine), false);
      assert.deepEqual(contentsOf(await opened(storage)), contentsOf(theirs), "nothing was overwritten");

      const seen = (await one.load())!.state;
      assert.deepEqual(contentsOf(seen), contentsOf(theirs));
      seen.payments.set(hashOf(800), paymentOf(800));
      assert.equal(await one.save(seen), true);
      assert.deepEqual(contentsOf(await opened(storage)), contentsOf(seen));
      assert.equal(await two.save(theirs), false);
    });

  it("after another tab's save it writes what differs from that, and all that it names is there", async () => {
    const { storage, parts, written } = partedStorage();
    await storeOf(storage).save(wholeState(LEAVES));
    const [one, two] = [storeOf(storage), storeOf(storage)];
    const [mine, theirs] = [(await one.load())!.state, (await two.load())!.state];
    theirs.payments.set(hashOf(801), paymentOf(801));
    await two.save(theirs);
    assert.equal(written.at(-1)!.length, 1, "one section of payments");
    mine.contacts.set("clodev1ann", { address: "clodev1ann", label: "Ann", at: 4 });
    assert.equal(await one.save(mine), false);
    // The other's payment comes to this tab, whose own objects are others of the same content.
    const found = (await one.load())!.state;
    mine.payments.set(hashOf(801), found.payments.get(hashOf(801))!);
    assert.equal(await one.save(mine), true);
    assert.equal(written.at(-1)!.length, 2, "payments and contacts, and no leaf");
    assert.deepEqual(contentsOf(await opened(storage)), contentsOf(mine));
    assert.ok(parts.size < written.flat().length, "what nobody names any more is gone");
  });

  it("reads once more where another tab has saved in between, and says so where parts are gone without that", async () => {
    const { storage, parts } = partedStorage();
    const other = storeOf(storage);
    const state = wholeState(LEAVES);
    await other.save(state);
    let saves = 0;
    const { read } = storage.parts!;
    const interrupted: WalletStorage = {
      ...storage,
      parts: {
        ...storage.parts!,
        async read(names) {
          if (saves < 3) {
            saves += 1;
            addBlock(state);
            for (const [statement, record] of state.payments) state.payments.set(statement, { ...record });
            await other.save(state);
          }
          return read(names);
        },
      },
    };
    assert.deepEqual(contentsOf(await opened(interrupted)), contentsOf(state));
    assert.equal(saves, 3);
    parts.clear();
    await assert.rejects(storeOf(storage).load(), { code: "STORAGE_CORRUPT" });
  });

  it("a storage that another one wraps without its parts never loses them: it is refused until it passes them on", async () => {
    const { storage } = partedStorage();
    const state = wholeState(LEAVES);
    await storeOf(storage).save(state);
    const wrapped: WalletStorage = { load: storage.load, save: storage.save };
    await assert.rejects(storeOf(wrapped).load(), {
      code: "STORAGE_FAILED",
      message: /WalletStorage\.parts/,
    });
    assert.deepEqual(contentsOf(await opened(storage)), contentsOf(state));
  });

  it("goes over from one piece to parts with the next save", async () => {
    const { storage, parts } = partedStorage();
    const state = wholeState(LEAVES);
    await storeOf({ load: storage.load, save: storage.save }).save(state);
    assert.equal(parts.size, 0);
    const store = storeOf(storage);
    const found = (await store.load())!.state;
    paid(found);
    await store.save(found);
    assert.ok([...parts.keys()].length > 5);
    paid(state);
    assert.deepEqual(contentsOf(await opened(storage)), contentsOf(state));
  });

  it("what a storage throws is STORAGE_FAILED, also where it is asked for a part", async () => {
    const { storage } = partedStorage();
    await storeOf(storage).save(wholeState(8));
    const fault = (): Promise<never> => Promise.reject(new Error("the disk is gone"));
    for (const broken of [
      { ...storage, load: fault },
      { ...storage, parts: { ...storage.parts!, read: fault } },
    ])
      await assert.rejects(storeOf(broken).load(), { code: "STORAGE_FAILED" });
    const store = storeOf({ ...storage, parts: { ...storage.parts!, save: fault } });
    await assert.rejects(store.save(wholeState(8)), { code: "STORAGE_FAILED" });
  });
});

// A save that is cut at any of its writes leaves the wallet as it was before it, or as it is after it, and the next one goes
// through and leaves nothing behind.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { asTheyLie, BUNDLING } from "../../../../../scripts/base/programs.ts";
import { fileStorage } from "../../../../../shared/client/node/index.ts";
import { StateStore } from "../../../../../shared/client/state/state-store.ts";
import type { WalletState } from "../../../../../shared/client/state/state.ts";
import { watchWrites } from "../../../../support/cut-disk.ts";
import { contentsOf, HOME, KEY, paid, wholeState } from "../../../../support/whole-state.ts";

const PROGRAM = fileURLToPath(new URL("../../../../support/cut-save.ts", import.meta.url));
const LEAVES = 1_028;
const EARLIER = new URL("../../../../support/vectors/earlier-wallets.json", import.meta.url);

const storeOf = (file: string): StateStore => new StateStore(fileStorage(file), { home: HOME, key: KEY });
async function opened(file: string): Promise<WalletState> {
  const found = await storeOf(file).load();
  assert.equal(found?.isDamaged, false, "the history is whole");
  return found.state;
}
function stateAfter(leaves: number): WalletState {
  const state = wholeState(leaves);
  paid(state);
  return state;
}

/** What it is now, and that another save works and leaves only what it names. */
async function requireEither(file: string, leaves: number, title: string): Promise<"before" | "after"> {
  const store = storeOf(file);
  const { state } = (await store.load())!;
  const isBefore = state.tree.leafCount === leaves;
  assert.deepEqual(
    contentsOf(await opened(file)),
    contentsOf(isBefore ? wholeState(leaves) : stateAfter(leaves)),
    title,
  );
  if (isBefore) paid(state);
  assert.equal(await store.save(state), true, title);
  assert.deepEqual(contentsOf(await opened(file)), contentsOf(stateAfter(leaves)), title);
  // Of who was killed before it had the lock, the name under which it waited may be there: some bytes.
  const beside = (await readdir(path.dirname(file))).filter((name) => !/^wallet\.lock[.-]/.test(name));
  assert.deepEqual(beside.sort(), ["wallet", "wallet.parts"], title);
  const names = await readdir(`${file}.parts`);
  assert.equal(names.length, (await partsIn(file)).size, title);
  return isBefore ? "before" : "after";
}

/** The parts that opening the wallet reads. */
async function partsIn(file: string): Promise<Set<string>> {
  const storage = fileStorage(file);
  const read = new Set<string>();
  const { parts } = storage;
  const watched = {
    ...storage,
    parts: {
      ...parts!,
      read(names: readonly string[]) {
        for (const name of names) read.add(name);
        return parts!.read(names);
      },
    },
  };
  await new StateStore(watched, { home: HOME, key: KEY }).load();
  return read;
}

describe("a save to files that is cut", function () {
  this.timeout(300_000);
  let folder: string;
  let programs: string;
  before(async () => {
    programs = await mkdtemp(path.join(tmpdir(), "cloister-cut-program-"));
    await build({ ...BUNDLING, outdir: programs, entryPoints: { save: PROGRAM }, plugins: [asTheyLie] });
  });
  after(() => rm(programs, { recursive: true, force: true }));
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-cut-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  /** Undefined when it was killed. */
  const saveElsewhere = (file: string, cutAt: number): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const args = [path.join(programs, "save.mjs"), file, String(cutAt)];
      execFile(process.execPath, args, (error, stdout, stderr) => {
        if (error === null) resolve(Number(stdout));
        else if (error.signal === "SIGKILL") resolve(undefined);
        else reject(new Error(stderr));
      });
    });

  async function cutEverywhere(original: string, leaves: number): Promise<void> {
    const total = await saveElsewhere(await copyOf(original, "whole"), 0);
    assert.ok(total !== undefined && total > 10);
    const ends = new Set<string>();
    for (let first = 1; first <= total; first += 2)
      await Promise.all(
        [first, first + 1].map(async (cutAt) => {
          if (cutAt > total) return;
          const file = await copyOf(original, String(cutAt));
          assert.equal(await saveElsewhere(file, cutAt), undefined, `killed at ${String(cutAt)}`);
          ends.add(await requireEither(file, leaves, `killed at write ${String(cutAt)} of ${String(total)}`));
        }),
      );
    assert.deepEqual([...ends].sort(), ["after", "before"]);
  }
  async function copyOf(original: string, name: string): Promise<string> {
    const copy = path.join(folder, name);
    await cp(path.dirname(original), copy, { recursive: true });
    return path.join(copy, "wallet");
  }

  it("killed at each write, it is the wallet of before or the one of after", async () => {
    const file = path.join(folder, "original", "wallet");
    await storeOf(file).save(wholeState(LEAVES));
    await cutEverywhere(file, LEAVES);
  });

  it("killed at each write while it gives the file of an earlier release its new form, likewise", async () => {
    const { versions } = JSON.parse(await readFile(EARLIER, "utf8")) as { versions: { "4": string } };
    const file = path.join(folder, "original", "wallet");
    await fileStorage(file).save(Buffer.from(versions["4"], "base64"), undefined);
    await cutEverywhere(file, 264);
  });

  it("with a disk that is full from any write on, it fails and nothing has changed, and it goes through when there is room", async () => {
    const original = path.join(folder, "original", "wallet");
    await storeOf(original).save(wholeState(LEAVES));
    for (let from = 1, isDone = false; !isDone; from++) {
      const file = await copyOf(original, String(from));
      const store = storeOf(file);
      const { state } = (await store.load())!;
      const parts = (await readdir(`${file}.parts`)).sort();
      paid(state);
      let written = 0;
      const writes = await watchWrites(async (_count, half) => {
        if (half === undefined || ++written < from) return;
        await half();
        throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      });
      const failure = await store.save(state).then(
        () => undefined,
        (error: unknown) => error as { code?: string },
      );
      isDone = written < from;
      writes.end();
      if (failure === undefined) continue;
      assert.equal(failure.code, "STORAGE_FAILED");
      assert.deepEqual((await readdir(`${file}.parts`)).sort(), parts, "a full disk is not filled further");
      assert.deepEqual(
        contentsOf(await opened(file)),
        contentsOf(wholeState(LEAVES)),
        `full from ${String(from)}`,
      );
      assert.equal(await store.save(state), true);
      await requireEither(file, LEAVES, `full from ${String(from)}`);
    }
  });

  it("parts that are missing, damaged or of an older save are told from a wallet that is whole", async () => {
    const file = path.join(folder, "original", "wallet");
    await storeOf(file).save(wholeState(LEAVES));
    const older = await copyOf(file, "older");
    const store = storeOf(file);
    const { state } = (await store.load())!;
    paid(state);
    await store.save(state);
    const parts = `${file}.parts`;
    for (const name of await readdir(parts)) {
      const bytes = await readFile(path.join(parts, name));
      for (const damage of [undefined, bytes.subarray(1)]) {
        if (damage === undefined) await rm(path.join(parts, name));
        else await writeFile(path.join(parts, name), damage);
        const isNoticed = await storeOf(file)
          .load()
          .then(
            (found) => found?.isDamaged,
            (error: unknown) => (error as { code?: string }).code === "STORAGE_CORRUPT",
          );
        assert.equal(isNoticed, true);
        await writeFile(path.join(parts, name), bytes);
      }
    }
    // The head of the older save over the parts of the newer one.
    await cp(older, file);
    await assert.rejects(storeOf(file).load(), { code: "STORAGE_CORRUPT" });
    await cp(`${older}.parts`, parts, { recursive: true });
    assert.deepEqual(contentsOf(await opened(file)), contentsOf(wholeState(LEAVES)), "a whole older copy");
  });
});

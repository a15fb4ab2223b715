import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { withFileLock } from "../../../../../shared/client/node/file-lock.ts";
import { fileStorage } from "../../../../../shared/client/node/file-storage.ts";
import { until } from "../../../../support/until.ts";

const MODULE = new URL("../../../../../shared/client/node/file-storage.ts", import.meta.url).href;

describe("file storage", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-wallet-"));
    file = path.join(folder, "inner", "wallet");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it("gives back what it was last given; the file is its owner's alone, and nothing lies beside it", async () => {
    const storage = fileStorage(file);
    assert.equal(await storage.load(), undefined);
    const first = await storage.save(new Uint8Array([1, 2, 3]), undefined);
    const second = await storage.save(new Uint8Array([4]), first);
    assert.deepEqual(await storage.load(), { bytes: new Uint8Array([4]), version: second });
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(path.dirname(file)), ["wallet"]);
  });

  it("a file that cannot be read is an error, not an empty wallet", async () => {
    await mkdir(file, { recursive: true });
    await assert.rejects(fileStorage(file).load());
    await assert.rejects(fileStorage(file).save(new Uint8Array([1]), undefined));
    assert.deepEqual(await readdir(path.dirname(file)), ["wallet"], "a failed save leaves nothing behind");
  });

  it("keeps a save from a writer who has not seen it, one that began with the file as it was before included", async () => {
    const [one, two] = [fileStorage(file), fileStorage(file)];
    assert.equal(await one.save(new Uint8Array([1]), "another"), undefined);
    const first = await one.save(new Uint8Array([1]), undefined);
    assert.equal(await two.save(new Uint8Array([2]), undefined), undefined);
    const seen = await two.load();
    assert.equal(seen?.version, first);
    const second = await two.save(new Uint8Array([3]), first);
    assert.equal(await one.save(new Uint8Array([4]), first), undefined);
    assert.deepEqual(await one.load(), { bytes: new Uint8Array([3]), version: second });
  });

  it("of processes that save at once, some of them killed while they do, none loses what another has saved", async function () {
    // Each adds its letter to what it has read, and says so when it is saved.
    const program = (letter: string, end: number): string => `
      const { fileStorage } = await import(${JSON.stringify(MODULE)});
      const storage = fileStorage(${JSON.stringify(file)});
      for (let saved = 0; saved < ${end}; ) {
        const held = await storage.load();
        const bytes = new Uint8Array([...(held?.bytes ?? []), ${letter.charCodeAt(0)}]);
        if ((await storage.save(bytes, held?.version)) === undefined) continue;
        saved += 1;
        process.stdout.write(${JSON.stringify(letter)});
      }`;
    const start = (
      letter: string,
      end: number,
    ): { said(): string; kill(): void; ended: Promise<unknown> } => {
      const child = spawn(
        process.execPath,
        ["--import", "tsx", "--input-type=module", "-e", program(letter, end)],
        {
          stdio: ["ignore", "pipe", "inherit"],
        },
      );
      let said = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
      const ended = new Promise((resolve) => child.once("close", resolve));
      return { said: () => said, kill: () => void child.kill("SIGKILL"), ended };
    };
    const [a, b] = [start("a", 60), start("b", 60)];
    const killed: string[] = [];
    for (const letter of ["x", "y", "z"]) {
      const victim = start(letter, Infinity);
      await until(`${letter} saves`, () => victim.said().length >= 5);
      victim.kill();
      await victim.ended;
      killed.push(victim.said());
    }
    await Promise.all([a.ended, b.ended]);
    const text = await readFile(file, "utf8");
    const count = (letter: string): number => text.split(letter).length - 1;
    assert.deepEqual([count("a"), count("b")], [60, 60]);
    for (const said of killed) {
      // The one save that it was killed in may be there without a word of it.
      const more = count(said[0]!) - said.length;
      assert.ok(more === 0 || more === 1, `${said[0]!}: ${more} more than said`);
    }
  });

  it("the lock of a killed process is taken away, by one of those who wait for it; a living one's is not", async () => {
    await mkdir(path.dirname(file), { recursive: true });
    const dead = spawn(process.execPath, ["-e", ""]);
    await new Promise((resolve) => dead.once("exit", resolve));
    const holder = { id: "0123", host: hostname(), pid: dead.pid, began: "1" };
    await writeFile(`${file}.lock`, JSON.stringify(holder));
    const saves = [1, 2, 3, 4].map((byte) => fileStorage(file).save(new Uint8Array([byte]), undefined));
    const won = (await Promise.all(saves)).filter((version) => version !== undefined);
    assert.equal(won.length, 1);

    // The number of a living process, which is another one than the one that wrote it.
    await writeFile(`${file}.lock`, JSON.stringify({ ...holder, pid: process.pid }));
    const next = await fileStorage(file).save(new Uint8Array([5]), won[0]);
    assert.ok(next !== undefined);
    assert.deepEqual(await readdir(path.dirname(file)), ["wallet"]);

    let isOver = false;
    const order: string[] = [];
    const first = withFileLock(`${file}.lock`, async () => {
      await until("the other one waits", async () => (await readdir(path.dirname(file))).length > 2);
      order.push("first");
      isOver = true;
    });
    const second = fileStorage(file)
      .save(new Uint8Array([6]), next)
      .then(() => order.push(isOver ? "second" : "too early"));
    await Promise.all([first, second]);
    assert.deepEqual(order, ["first", "second"]);
  });

  it("killed at any moment of a save, the file holds one whole state", async function () {
    // Each state is 256 KiB of one byte, so a mixture of two would show.
    const program = `
      const { fileStorage } = await import(${JSON.stringify(MODULE)});
      const storage = fileStorage(${JSON.stringify(file)});
      let version = (await storage.load())?.version;
      for (let i = 1; ; i++) {
        version = await storage.save(new Uint8Array(262144).fill(i % 256), version);
        if (version === undefined) throw new Error("nobody else saves");
        if (i === 1) console.log("first");
      }`;
    for (let round = 0; round < 5; round++) {
      const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", program], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = new Promise((resolve) => child.once("exit", resolve));
      await new Promise((resolve) => child.stdout.once("data", resolve));
      for (let turn = 0; turn < round * 3; turn++) await stat(file);
      child.kill("SIGKILL");
      await exited;
      const bytes = await readFile(file);
      assert.equal(bytes.length, 262_144);
      assert.ok(bytes.every((byte) => byte === bytes[0]));
    }
  });
});

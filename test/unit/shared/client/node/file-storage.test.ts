import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileStorage } from "../../../../../shared/client/node/file-storage.ts";

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
    await storage.save(new Uint8Array([1, 2, 3]));
    await storage.save(new Uint8Array([4]));
    assert.deepEqual(await storage.load(), new Uint8Array([4]));
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(path.dirname(file)), ["wallet"]);
  });

  it("a file that cannot be read is an error, not an empty wallet", async () => {
    await mkdir(file, { recursive: true });
    await assert.rejects(fileStorage(file).load());
    await assert.rejects(fileStorage(file).save(new Uint8Array([1])));
    assert.deepEqual(await readdir(path.dirname(file)), ["wallet"], "a failed save leaves nothing behind");
  });

  it("killed at any moment of a save, the file holds one whole state", async function () {
    this.timeout(60_000);
    // Each state is 256 KiB of one byte, so a mixture of two would show.
    const program = `
      const { fileStorage } = await import(${JSON.stringify(MODULE)});
      const storage = fileStorage(${JSON.stringify(file)});
      for (let i = 1; ; i++) {
        await storage.save(new Uint8Array(262144).fill(i % 256));
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

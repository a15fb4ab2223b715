// What the watcher writes is what the operator's screen shows; a file that is old, absent or no such file is said to be.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createAlarms } from "../../../../proxy/dashboard/watcher-file.ts";
import { writeStatus } from "../../../../scripts/watch/status-file.ts";
import { hash } from "../../../support/stores/tickets.ts";

describe("alarms of the watcher at the dashboard", () => {
  let folder: string;
  let file: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "alarms-"));
    file = path.join(folder, "status.json");
  });
  after(() => rm(folder, { recursive: true }));

  it("are none without a file, and unknown before the watcher wrote one", async () => {
    assert.equal((await createAlarms(undefined, Date.now)()).watcher, "not-configured");
    assert.equal((await createAlarms(file, Date.now)()).watcher, "silent");
  });

  it("are shown as the watcher tells them, newest first, with what each means", async () => {
    await writeStatus(file, {
      position: 9,
      alarms: [
        { code: "PROOF_FORGED", block: 7, txHash: hash(1), signers: [], detail: "false" },
        { code: "BALANCE_SHORT", block: 8, detail: "holds less" },
      ],
    });
    const found = await createAlarms(file, Date.now)();
    assert.deepEqual([found.watcher, found.block], ["watching", 9]);
    assert.deepEqual(
      found.alarms.map(({ code, tx_hash: txHash }) => [code, txHash]),
      [
        ["BALANCE_SHORT", null],
        ["PROOF_FORGED", hash(1)],
      ],
    );
    assert.match(found.alarms[1]!.meaning, /proof is false/);
  });

  it("are silent when nobody has watched for two minutes, and unreadable where the file is no such file", async () => {
    await writeStatus(file, { position: 9, alarms: [] });
    assert.equal((await createAlarms(file, () => Date.now() + 119_000)()).watcher, "watching");
    assert.equal((await createAlarms(file, () => Date.now() + 121_000)()).watcher, "silent");
    await writeFile(file, '{"at": 1}');
    assert.equal((await createAlarms(file, Date.now)()).watcher, "unreadable");
  });
});

import assert from "node:assert/strict";
import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { createDiskWatch } from "../../../../../proxy/api/status/disk-watch.ts";
import { until } from "../../../../support/until.ts";

describe("status/disk-watch", () => {
  it("tells the size of the folder's disk and what is free on it for others than root", async () => {
    const watch = createDiskWatch(tmpdir());
    assert.equal(watch.room(), undefined);
    watch.start();
    const room = await until("the first look", () => watch.room() ?? false);
    await watch.stop();
    const { bsize, blocks, bfree } = statfsSync(tmpdir());
    assert.equal(room.sizeBytes, blocks * bsize);
    assert.ok(room.freeBytes > 0 && room.freeBytes <= room.sizeBytes);
    // What root keeps for itself is in bfree.
    assert.ok(room.freeBytes <= bfree * bsize + room.sizeBytes / 100);
  });

  it("says nothing of a folder that is not there, and goes on looking", async () => {
    const watch = createDiskWatch(`${tmpdir()}/cloister-no-such-folder`);
    watch.start();
    await watch.stop();
    assert.equal(watch.room(), undefined);
  });
});

// Reading the log of a program that is writing it.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { loggedLines } from "../../../../scripts/stack/service.ts";

describe("the lines of a log", () => {
  it("are those of JSON that are whole: the last one may be half written", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "cloister-log-"));
    const file = path.join(folder, "proxy.log");
    try {
      await writeFile(
        file,
        '(node:1) Warning: old\n{"msg":"listening"}\n{"kms":"AccessDenied"}\n{"msg":"hal',
      );
      assert.deepEqual(await loggedLines(file), [{ msg: "listening" }, { kms: "AccessDenied" }]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

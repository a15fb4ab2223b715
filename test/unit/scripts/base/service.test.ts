// Reading the log of a program that is writing it.
import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { lineOfLog, loggedLines } from "../../../../scripts/base/service.ts";

describe("the lines of a log", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-log-"));
    file = path.join(folder, "proxy.log");
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("are those of JSON that are whole: the last one may be half written", async () => {
    await writeFile(file, '(node:1) Warning: old\n{"msg":"listening"}\n{"kms":"AccessDenied"}\n{"msg":"hal');
    assert.deepEqual(await loggedLines(file), [{ msg: "listening" }, { kms: "AccessDenied" }]);
  });

  it("are waited for one by one: the newest that fits, once it is whole", async () => {
    await writeFile(file, '{"msg":"listening"}\n{"msg":"refu');
    let looks = 0;
    // The line is whole from the second look on.
    const found = lineOfLog(file, ({ msg }) => {
      if (msg === "listening" && ++looks === 1) void appendFile(file, 'sed","n":1}\n');
      return msg === "refused";
    });
    assert.deepEqual(await found, { msg: "refused", n: 1 });
    await appendFile(file, '{"msg":"refused","n":2}\n');
    assert.deepEqual(await lineOfLog(file, ({ msg }) => msg === "refused"), { msg: "refused", n: 2 });
    assert.equal(await lineOfLog(file, ({ msg }) => msg === "never", 0), undefined);
  });
});

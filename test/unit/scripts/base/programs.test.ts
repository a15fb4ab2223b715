// Programs as files: what a local stack starts does what its source says, and is made again when that changes.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { bundledProgram } from "../../../../scripts/base/programs.ts";
import { PROJECT_ROOT } from "../../../support/tree.ts";

describe("programs as files", () => {
  it("run as the source that they are made from, with its arguments", async function () {
    const source = "scripts/stand-ins/kms/server.ts";
    const file = (await bundledProgram(source)) ?? assert.fail("not bundled");
    const said = execFileSync(process.execPath, [file, "--help"], { encoding: "utf8", cwd: "/" });
    const usage = /Usage: .*/.exec(readFileSync(path.join(PROJECT_ROOT, source), "utf8"))?.[0];
    assert.equal(said.split("\n")[0], usage);
  });

  it("are the same file while nothing changes, and none for a program that nobody starts often", async () => {
    assert.equal(await bundledProgram("proxy/api/main.ts"), await bundledProgram("proxy/api/main.ts"));
    assert.equal(await bundledProgram("scripts/stack/start.ts"), undefined);
  });
});

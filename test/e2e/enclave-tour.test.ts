// The reviewer's tour of the enclave: what it says to type is typed, and every test that it names is there by its title.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { blocksOf, openShell } from "../support/guide.ts";
import { PROJECT_ROOT } from "../support/tree.ts";

const TOUR = "enclave/TOUR.md";
const read = (file: string): Promise<string> => readFile(path.join(PROJECT_ROOT, file), "utf8");

describe("the reviewer's tour of the enclave", function () {
  this.timeout(480_000);

  it("names files of the enclave, and tests that are there, each by its whole title", async () => {
    const rows = [
      ...(await read(TOUR)).matchAll(
        /^\| (`[a-z0-9-]+(?:\.ts|\/)`|the image) +\|.*\| `(test\/[^`]+)`: "([^"]+)" *\|$/gm,
      ),
    ];
    assert.ok(rows.length >= 20, String(rows.length));
    for (const [, of = "", file = "", title = ""] of rows) {
      if (of !== "the image")
        assert.ok(existsSync(path.join(PROJECT_ROOT, "enclave", of.replaceAll("`", ""))), of);
      assert.ok((await read(file)).includes(`it("${title}"`), `${file}: ${title}`);
    }
    for (const [, file = ""] of (await read(TOUR)).matchAll(/`((?:test|scripts)\/[^`*]+)`/g))
      assert.ok(existsSync(path.join(PROJECT_ROOT, file)), file);
  });

  it("is typed as it stands, and shows what it says", async () => {
    const blocks = await blocksOf(TOUR);
    assert.deepEqual(new Set(blocks.map(({ kind }) => kind)), new Set(["sh", "text"]));
    const shell = openShell({});
    try {
      for (const { kind, text } of blocks) if (kind === "sh") await shell.type(text);
    } finally {
      await shell.close();
    }
  });
});

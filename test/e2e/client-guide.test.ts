// The client guide's first half: its Node programs, as they stand, from the packed library on a running stack.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { guideBlocks, guideProject, type GuideProject } from "../support/client-guide.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { PROJECT_ROOT } from "../support/tree.ts";

/** Run here, or imported by what is. */
const IN_NODE = ["service.mjs", "wallets.mjs", "pay.mjs", "fees.mjs", "careful.mjs", "mistakes.mjs"];
/** Run by test/browser/client-guide.test.ts. */
const IN_A_BROWSER = ["server.mjs", "index.html", "app.js", "send.mjs", "sh origin", "sh serve"];
/** As test/support/fresh-project.ts does it: the package from its file. */
const SET_UP = ["sh install"];

describe("the client guide in Node", function () {
  this.timeout(300_000);
  let on: TestStack;
  let project: GuideProject;
  before(async () => {
    on = await startTestStack();
    project = await guideProject(on);
  });
  after(async () => {
    await (project as GuideProject | undefined)?.remove();
    await (on as TestStack | undefined)?.stop();
  });

  it("has no block that is not run", async () => {
    const names = [...(await guideBlocks()).keys()];
    assert.deepEqual(names.toSorted(), [...IN_NODE, ...IN_A_BROWSER, ...SET_UP].toSorted());
    const { version } = JSON.parse(await readFile(path.join(PROJECT_ROOT, "package.json"), "utf8")) as {
      version: string;
    };
    assert.ok((await guideBlocks()).get("sh install")?.includes(`cloister-client-${version}.tgz`));
  });

  it("deposits and pays, and the amounts are exact", async () => {
    const said = await project.node("pay.mjs");
    for (const line of [
      /deposited: 'confirmed'/,
      /paid: 'confirmed'/,
      /fee: 50000n/,
      /alice: 69900000n/,
      /bob: 30000000n/,
    ])
      assert.match(said, line);
  });

  it("shows fees and limits", async () => {
    const said = await project.node("fees.mjs");
    assert.match(said, /^transfer 50000 \+ 0\/10000$/m);
    assert.match(said, /^key-minute \d+ of 6000 requests left$/m);
  });

  it("says of a payment that was not made why not", async () => {
    const said = await project.node("mistakes.mjs");
    const codes = [...said.matchAll(/outcome: 'not paid', code: '([A-Z_]+)', again: (\w+)/g)];
    assert.deepEqual(
      codes.map(([, code, again]) => [code, again]),
      [
        ["INSUFFICIENT_FUNDS", "false"],
        ["ADDRESS_INVALID", "false"],
        ["AMOUNT_INVALID", "false"],
      ],
    );
  });
});

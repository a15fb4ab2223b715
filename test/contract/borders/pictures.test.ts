// The guides' pictures: each that a browser suite names is committed and shown, none is shown that is not there, and none
// is large. A picture drawn by hand would have no name here.
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { SIDES, type Side } from "../../../scripts/build/screens.ts";
import { MOST_PICTURE_BYTES, PICTURES } from "../../browser/pictures.ts";
import { pictureFaults, type PictureRules } from "../../support/guide-pictures.ts";
import { PROJECT_ROOT, plantTree } from "../../support/tree.ts";

const MOST_IN_ALL = 2 * 1024 * 1024;
const AT = "scripts/page/pictures";

/** The smallest of its form: a head, and as many bytes behind it. */
function webP(length = 32): Buffer {
  const picture = Buffer.alloc(length);
  picture.write("RIFF", 0, "latin1");
  picture.writeUInt32LE(length - 8, 4);
  picture.write("WEBP", 8, "latin1");
  return picture;
}

describe("borders: pictures", () => {
  it("of the guides: each named one is there, is shown with words, and is small", async () => {
    const named = Object.entries(SIDES).map(
      ([side, { folder }]) => [folder, PICTURES[side as Side]] as const,
    );
    const rules = { named: new Map(named), mostBytes: MOST_PICTURE_BYTES, mostInAll: MOST_IN_ALL };
    assert.deepEqual(await pictureFaults(PROJECT_ROOT, rules), []);
  });

  describe("the check", () => {
    const rules: PictureRules = {
      named: new Map([[AT, ["wallet", "pay"]]]),
      ...{ mostBytes: 64, mostInAll: 100 },
    };
    const GUIDE = [
      "![The wallet with its balance](pictures/wallet.webp)",
      "[![A form with an amount](pictures/pay.webp)](pictures/pay.webp)",
      "![A badge from another place](https://example.org/badge.svg)",
    ].join("\n");
    const good = (): Map<string, string | Buffer> =>
      new Map<string, string | Buffer>([
        ["README.md", "![The wallet, dark as at night](scripts/page/pictures/wallet.webp)"],
        ["scripts/page/README.md", GUIDE],
        [`${AT}/wallet.webp`, webP()],
        [`${AT}/pay.webp`, webP()],
      ]);
    const faultsWith = async (
      change: (files: Map<string, string | Buffer>) => unknown,
    ): Promise<string[]> => {
      const files = good();
      change(files);
      const tree = await plantTree(new Map([...files].map(([file]) => [file, ""])));
      try {
        for (const [file, content] of files) await writeFile(path.join(tree.root, file), content);
        return await pictureFaults(tree.root, rules);
      } finally {
        await rm(tree.root, { recursive: true, force: true });
      }
    };

    it("finds nothing in a tree as it should be", async () => {
      assert.deepEqual(await faultsWith(() => undefined), []);
    });

    const broken: readonly [string, (files: Map<string, string | Buffer>) => unknown, RegExp[]][] = [
      [
        "a picture that was not committed",
        (files) => files.delete(`${AT}/pay.webp`),
        [/pay\.webp: is named, and is not there/, /README\.md: shows .*pay\.webp, which is not there/],
      ],
      [
        "one that no suite draws",
        (files) => files.set(`${AT}/by-hand.webp`, webP()),
        [/by-hand\.webp: is there, and no suite names it/, /by-hand\.webp: no guide shows it/],
      ],
      [
        "one that no guide shows",
        (files) => files.set("scripts/page/README.md", GUIDE.split("\n")[0]!),
        [/pay\.webp: no guide shows it/],
      ],
      [
        "a guide that shows nothing that there is",
        (files) => files.set("README.md", "![The wallet of another day](scripts/wallet.webp)"),
        [/^README\.md: shows scripts\/wallet\.webp, which is not there/],
      ],
      [
        "one without words",
        (files) => files.set("README.md", "![wallet](scripts/page/pictures/wallet.webp)"),
        [/^README\.md: does not say what is seen/],
      ],
      [
        "another format under this name",
        (files) => files.set(`${AT}/pay.webp`, Buffer.concat([Buffer.from("\u0089PNG", "latin1"), webP(28)])),
        [/pay\.webp: is no whole WebP picture/],
      ],
      [
        "one that was cut off",
        (files) => files.set(`${AT}/pay.webp`, webP().subarray(0, 20)),
        [/pay\.webp: is no whole WebP picture/],
      ],
      ["a large one", (files) => files.set(`${AT}/pay.webp`, webP(66)), [/pay\.webp: has 66 bytes/]],
      [
        "too much in all",
        (files) => files.set(`${AT}/pay.webp`, webP(64)).set(`${AT}/wallet.webp`, webP(64)),
        [/all pictures have 128 bytes/],
      ],
    ];
    for (const [what, change, expected] of broken)
      it(`notices ${what}`, async () => {
        const faults = await faultsWith(change);
        assert.equal(faults.length, expected.length, faults.join("; "));
        expected.forEach((words, i) => assert.match(faults[i] ?? "", words));
      });
  });
});

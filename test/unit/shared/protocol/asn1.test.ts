import assert from "node:assert/strict";
import { childrenOf, readAsn1, TAG, type Element } from "../../../../shared/protocol/asn1.ts";
import { concatBytes, mustFromHex, toHex } from "../../../../shared/protocol/bytes.ts";

const read = (digits: string, rules: "DER" | "BER"): Element | undefined =>
  readAsn1(mustFromHex(`0x${digits}`), rules);

describe("shared/protocol/asn1", () => {
  it("reads a tree, each element with its contents and with its whole bytes", () => {
    for (const rules of ["DER", "BER"] as const) {
      const root = read("300a3000020105300302017f", rules);
      assert.ok(root);
      assert.deepEqual(
        root.children.map(({ tag, body, whole }) => [tag, toHex(body), toHex(whole)]),
        [
          [0x30, "0x", "0x3000"],
          [0x02, "0x05", "0x020105"],
          [0x30, "0x02017f", "0x300302017f"],
        ],
      );
      assert.equal(toHex(root.children[2]!.children[0]!.body), "0x7f");
    }
  });

  it("reads lengths of one, two and three bytes", () => {
    for (const [length, head] of [
      [0x7f, "047f"],
      [0x80, "048180"],
      [0xff, "0481ff"],
      [0x100, "04820100"],
      [0xffff, "0482ffff"],
    ] as const) {
      const bytes = concatBytes(mustFromHex(`0x${head}`), new Uint8Array(length));
      assert.equal(readAsn1(bytes, "DER")?.body.length, length);
      assert.equal(readAsn1(bytes.slice(1), "DER"), undefined);
      assert.equal(readAsn1(bytes.slice(0, -1), "DER"), undefined);
    }
  });

  it("reads indefinite lengths in BER, nested too, and never in DER", () => {
    const root = read("3080a0800401aa0401bb000002010500 00".replaceAll(" ", ""), "BER");
    assert.deepEqual(
      root?.children.map(({ tag }) => tag),
      [0xa0, 0x02],
    );
    assert.equal(toHex(root.children[0]!.body), "0x0401aa0401bb");
    assert.equal(toHex(root.children[0]!.whole), "0xa0800401aa0401bb0000");
    assert.equal(read("3080a0800401aa0401bb00000201050000", "DER"), undefined);
    assert.equal(read("30800000", "DER"), undefined);
    assert.deepEqual(read("30800000", "BER")?.children, []);
    assert.deepEqual(read("300430800000", "BER")?.children[0]?.children, []);
  });

  const refused: Record<string, string> = {
    "nothing at all": "",
    "a tag without a length": "30",
    "a byte left over": "020105ff",
    "a second element": "020105020105",
    "contents cut off": "02020 5".replace(" ", ""),
    "5 in two bytes of length": "02810105",
    "127 in two bytes of length": `04817f${"00".repeat(127)}`,
    "255 in three bytes of length": `048200ff${"00".repeat(255)}`,
    "a length of three bytes": `0483010000${"00".repeat(65_536)}`,
    "a length cut off": "0482",
    "a length of 127 bytes": "04ff",
    "a tag of more bytes": "1f0100",
    "a constructed tag of more bytes": "bf0100",
    "tag 0": "0000",
    "a child that is longer than its parent": "3003040200ff",
    "a child that reaches into what follows its parent": "300730030402050500",
    "a child that ends behind its parent": "3002040100",
    "a primitive of indefinite length": "0480aa0000",
    "an empty primitive of indefinite length": "04800000",
    "an indefinite length without its end": "30800401aa",
    "an indefinite length with half its end": "30800401aa00",
    "an end of contents that is not empty": "3080000100 0000".replace(" ", ""),
    "an indefinite child whose end is its parent's": "308030800000",
    "an indefinite child that ends behind its parent": "300230800000",
    "an end of contents in a definite sequence": "30020000",
    "twelve deep": Array.from(
      { length: 12 },
      (_, i) => `30${(22 - 2 * i).toString(16).padStart(2, "0")}`,
    ).join(""),
    "twelve deep and indefinite": `${"3080".repeat(12)}${"0000".repeat(12)}`,
  };
  for (const [what, digits] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.equal(read(digits, "BER"), undefined);
      assert.equal(read(digits, "DER"), undefined);
    });
  }

  it("reads eleven deep", () => {
    const deep = Array.from({ length: 11 }, (_, i) => `30${(20 - 2 * i).toString(16).padStart(2, "0")}`);
    assert.ok(read(deep.join(""), "DER"));
    assert.ok(read(`${"3080".repeat(11)}${"0000".repeat(11)}`, "BER"));
  });

  it("gives the children of an element only when it and they are what was expected", () => {
    const root = read("300602010504010a", "DER");
    assert.equal(childrenOf(root, TAG.sequence, TAG.integer, TAG.octetString)?.length, 2);
    assert.equal(childrenOf(root, TAG.set, TAG.integer, TAG.octetString), undefined);
    assert.equal(childrenOf(root, TAG.sequence, TAG.octetString, TAG.integer), undefined);
    assert.equal(childrenOf(root, TAG.sequence, TAG.integer), undefined);
    assert.equal(childrenOf(root, TAG.sequence, TAG.integer, TAG.octetString, TAG.integer), undefined);
    assert.equal(childrenOf(undefined, TAG.sequence), undefined);
    assert.deepEqual(childrenOf(read("3000", "DER"), TAG.sequence), []);
  });
});

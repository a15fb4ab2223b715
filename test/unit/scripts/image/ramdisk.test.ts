import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { entriesOf, makeRamdisk, type RamdiskEntry } from "../../../../scripts/image/ramdisk.ts";

interface Unpacked {
  readonly name: string;
  readonly mode: string;
  readonly content: string;
  /** Everything else that the format records. */
  readonly rest: readonly number[];
}

/** As the kernel does it (init/initramfs.c): headers at multiples of four, up to the trailer. */
function unpack(archive: Buffer): Unpacked[] {
  const found: Unpacked[] = [];
  const aligned = (at: number): number => Math.ceil(at / 4) * 4;
  for (let at = 0; ;) {
    assert.equal(archive.toString("latin1", at, at + 6), "070701");
    const numbers = Array.from({ length: 13 }, (_, i) =>
      parseInt(archive.toString("latin1", at + 6 + 8 * i, at + 14 + 8 * i), 16),
    );
    const [, mode = 0, , , , , size = 0, , , , , nameSize = 0] = numbers;
    const name = archive.toString("utf8", at + 110, at + 110 + nameSize - 1);
    assert.equal(archive[at + 110 + nameSize - 1], 0);
    const start = aligned(at + 110 + nameSize);
    at = aligned(start + size);
    if (name === "TRAILER!!!") {
      assert.equal(archive.length, Math.ceil(at / 512) * 512);
      assert.ok(archive.subarray(at).every((byte) => byte === 0));
      return found;
    }
    const rest = numbers.filter((_, i) => ![1, 6, 11].includes(i));
    found.push({
      name,
      mode: mode.toString(8),
      content: archive.toString("utf8", start, start + size),
      rest,
    });
  }
}

describe("scripts/image/ramdisk", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-ramdisk-"));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const TREE: readonly (readonly [name: string, content?: string, mode?: number])[] = [
    ["bin"],
    ["bin.d"],
    ["proc"],
    ["bin/node", "program", 0o755],
    ["bin/a", ""],
    ["bin.d/ä", "five!"],
  ];
  const plant = async (tree: typeof TREE): Promise<void> => {
    for (const [name, content, mode = 0o644] of tree) {
      const at = path.join(folder, name);
      await mkdir(content === undefined ? at : path.dirname(at), { recursive: true });
      if (content === undefined) continue;
      await writeFile(at, content);
      await chmod(at, mode);
    }
  };

  it("holds every file and folder, folders first, owned by root and made at no time", async () => {
    await plant(TREE);
    const unpacked = unpack(makeRamdisk(await entriesOf(folder)));
    assert.deepEqual(
      unpacked.map(({ name, mode, content }) => [name, mode, content]),
      [
        ["bin", "40755", ""],
        ["bin.d", "40755", ""],
        ["bin.d/ä", "100644", "five!"],
        ["bin/a", "100644", ""],
        ["bin/node", "100755", "program"],
        ["proc", "40755", ""],
      ],
    );
    // inode, owner, group, links, time, four numbers of devices, check
    assert.deepEqual(unpacked[0]?.rest, [1, 0, 0, 2, 0, 0, 0, 0, 0, 0]);
    assert.deepEqual(unpacked[4]?.rest, [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  });

  it("is the same for the same files, whenever, in whatever order and by whomever they were made", async () => {
    await plant(TREE);
    const first = makeRamdisk(await entriesOf(folder));
    await rm(folder, { recursive: true });
    await plant([...TREE].reverse());
    await utimes(path.join(folder, "bin/node"), 1, 1);
    for (const [name, mode] of [
      ["bin/node", 0o700],
      ["bin/a", 0o600],
      ["proc", 0o700],
    ] as const)
      await chmod(path.join(folder, name), mode);
    assert.deepEqual(makeRamdisk((await entriesOf(folder)).reverse()), first);
  });

  it("changes with a name, a byte, and whether something is a program", () => {
    const entry: RamdiskEntry = { name: "a", content: Uint8Array.of(1) };
    const all = [
      entry,
      { ...entry, name: "b" },
      { ...entry, content: Uint8Array.of(2) },
      { ...entry, isProgram: true },
      { name: "a" },
    ].map((one) => makeRamdisk([one]).toString("latin1"));
    assert.equal(new Set(all).size, all.length);
  });

  it("refuses a link: where it points to is not in the image", async () => {
    await symlink("/etc/passwd", path.join(folder, "link"));
    await assert.rejects(entriesOf(folder), /link is neither file nor folder/);
  });
});

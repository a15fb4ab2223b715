// Files written here by hand, byte by byte, against the reader; and the writer against those.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { makeRoot, toPem } from "../../../../scripts/image/certificates.ts";
import { measureEif, readEif, writeEif, type Eif, type EifSection } from "../../../../scripts/image/eif.ts";
import { encodeCbor, type Cbor } from "../../../../shared/protocol/cbor.ts";

const KERNEL = { type: 1, content: Buffer.from("a kernel") };
const CMDLINE = { type: 2, content: Buffer.from("reboot=k panic=30") };
const BOOT = { type: 3, content: Buffer.from("the first ramdisk") };
const PROGRAM = { type: 3, content: Buffer.from("the second") };
const METADATA = { type: 5, content: Buffer.from("{}") };
const USUAL = [KERNEL, CMDLINE, METADATA, BOOT, PROGRAM];

interface Written {
  readonly type: number;
  readonly content: Buffer;
  readonly flags?: number;
  /** What the file says in the place of the truth. */
  readonly offset?: bigint;
  readonly size?: bigint;
  readonly ownSize?: bigint;
}

interface Header {
  readonly magic?: string;
  readonly version?: number;
  readonly flags?: number;
  readonly reserved?: number;
  readonly count?: number;
  readonly unused?: number;
  readonly crc?: number;
  readonly tail?: Buffer;
  /** Of a section that is not counted. */
  readonly strayOffset?: bigint;
  readonly straySize?: bigint;
}

const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
const u32 = (value: number): Buffer =>
  Buffer.from([0, 8, 16, 24].map((shift) => (value >>> (24 - shift)) & 255));
const u64 = (value: bigint): Buffer => Buffer.from(value.toString(16).padStart(16, "0"), "hex");

function aFile(sections: readonly Written[] = USUAL, header: Header = {}): Buffer {
  const offsets: bigint[] = [];
  const sizes: bigint[] = [];
  const bodies: Buffer[] = [];
  let at = 548n;
  for (const { type, content, flags = 0, offset, size, ownSize } of sections) {
    const length = BigInt(content.length);
    offsets.push(offset ?? at);
    sizes.push(size ?? length);
    bodies.push(u16(type), u16(flags), u64(ownSize ?? length), content);
    at += 12n + length;
  }
  while (offsets.length < 32) offsets.push(offsets.length === 31 ? (header.strayOffset ?? 0n) : 0n);
  while (sizes.length < 32) sizes.push(sizes.length === 31 ? (header.straySize ?? 0n) : 0n);
  const before = Buffer.concat([
    Buffer.from(header.magic ?? ".eif"),
    u16(header.version ?? 4),
    u16(header.flags ?? 0),
    u64(1n << 30n),
    u64(2n),
    u16(header.reserved ?? 0),
    u16(header.count ?? sections.length),
    ...offsets.map(u64),
    ...sizes.map(u64),
    u32(header.unused ?? 0),
  ]);
  const after = Buffer.concat([...bodies, header.tail ?? Buffer.alloc(0)]);
  return Buffer.concat([before, u32(header.crc ?? crc32(Buffer.concat([before, after]))), after]);
}

function read(file: Buffer): Eif {
  const eif = readEif(file);
  if (typeof eif === "string") assert.fail(eif);
  return eif;
}

const sha384 = (...parts: Buffer[]): Buffer => createHash("sha384").update(Buffer.concat(parts)).digest();
const register = (...parts: Buffer[]): string => sha384(Buffer.alloc(48), sha384(...parts)).toString("hex");

describe("scripts/image/eif", () => {
  it("reads what is in a file, for either processor", () => {
    const { architecture, sections } = read(aFile());
    assert.equal(architecture, "x86_64");
    assert.deepEqual(
      sections.map(({ type, content }) => [type, Buffer.from(content).toString()]),
      [
        ["kernel", "a kernel"],
        ["cmdline", "reboot=k panic=30"],
        ["metadata", "{}"],
        ["ramdisk", "the first ramdisk"],
        ["ramdisk", "the second"],
      ],
    );
    assert.equal(read(aFile(USUAL, { flags: 1 })).architecture, "aarch64");
  });

  it("measures what is loaded: all of it, what boots, and what runs", () => {
    const measurement = {
      pcr0: register(KERNEL.content, CMDLINE.content, BOOT.content, PROGRAM.content),
      pcr1: register(KERNEL.content, CMDLINE.content, BOOT.content),
      pcr2: register(PROGRAM.content),
    };
    assert.deepEqual(measureEif(read(aFile())), measurement);
    const otherWords = { ...METADATA, content: Buffer.from('{"ImageName":"another"}') };
    assert.deepEqual(measureEif(read(aFile([KERNEL, CMDLINE, BOOT, PROGRAM, otherWords]))), measurement);
    const third = { type: 3, content: Buffer.from("third") };
    assert.deepEqual(measureEif(read(aFile([KERNEL, CMDLINE, BOOT, PROGRAM, third]))), {
      pcr0: register(KERNEL.content, CMDLINE.content, BOOT.content, PROGRAM.content, third.content),
      pcr1: measurement.pcr1,
      pcr2: register(PROGRAM.content, third.content),
    });
    assert.deepEqual(measureEif(read(aFile([KERNEL, CMDLINE, BOOT]))), {
      pcr0: measurement.pcr1,
      pcr1: measurement.pcr1,
      pcr2: register(),
    });
  });

  for (const [i, name] of ["kernel", "cmdline", "metadata", "first ramdisk", "second ramdisk"].entries()) {
    it(`measures a changed ${name}${name === "metadata" ? " as the same" : " as another image"}`, () => {
      const changed = USUAL.map((section, at) =>
        at === i ? { ...section, content: Buffer.concat([section.content, Buffer.from(" ")]) } : section,
      );
      const [before, after] = [measureEif(read(aFile())), measureEif(read(aFile(changed)))];
      assert.ok(typeof before !== "string" && typeof after !== "string");
      const differ = (["pcr0", "pcr1", "pcr2"] as const).filter(
        (register) => before[register] !== after[register],
      );
      assert.deepEqual(
        differ,
        name === "metadata" ? [] : name === "second ramdisk" ? ["pcr0", "pcr2"] : ["pcr0", "pcr1"],
      );
    });
  }

  describe("of a signed file", () => {
    const { certificate } = makeRoot(new Date());
    const pem = Buffer.from(toPem(certificate));
    const signed = (section: Cbor): Eif =>
      read(aFile([...USUAL, { type: 4, content: Buffer.from(encodeCbor(section)) }]));
    const one = (bytes: Cbor): Cbor =>
      new Map<string, Cbor>([
        ["signing_certificate", bytes],
        ["signature", [1]],
      ]);

    it("measures the certificate's DER, spelt as AWS's builder does and as bytes", () => {
      for (const bytes of [[...pem], new Uint8Array(pem)]) {
        const measurement = measureEif(signed([one(bytes)]));
        assert.ok(typeof measurement !== "string");
        assert.equal(measurement.pcr8, register(Buffer.from(certificate)));
        assert.deepEqual(
          { ...measurement, pcr8: undefined },
          { ...(measureEif(read(aFile())) as object), pcr8: undefined },
        );
      }
    });

    for (const [what, section] of Object.entries<Cbor>({
      "no signature": [],
      "two signatures": [one([...pem]), one([...pem])],
      "a certificate that is none": [one([1, 2, 3])],
      "numbers that are no bytes": [one([...pem.subarray(1), 256])],
      "no certificate": [new Map([["signature", [1]]])],
      "something else": "signed",
    })) {
      it(`has no measurement with ${what}`, () => {
        assert.equal(measureEif(signed(section)), "SIGNATURE");
      });
    }
  });

  const strange = (section: Partial<Written>): readonly Written[] => [
    KERNEL,
    CMDLINE,
    { ...BOOT, ...section },
    PROGRAM,
  ];
  const faults: Record<string, [Buffer, string]> = {
    "no byte": [Buffer.alloc(0), "TOO_SHORT"],
    "a header that is cut": [aFile().subarray(0, 547), "TOO_SHORT"],
    "another magic": [aFile(USUAL, { magic: ".elf" }), "NO_EIF"],
    "an older version": [aFile(USUAL, { version: 3 }), "VERSION"],
    "a newer version": [aFile(USUAL, { version: 5 }), "VERSION"],
    "flags nobody knows": [aFile(USUAL, { flags: 2 }), "HEADER"],
    "something reserved": [aFile(USUAL, { reserved: 1 }), "HEADER"],
    "something unused": [aFile(USUAL, { unused: 1 }), "HEADER"],
    "more sections than there is room for": [aFile(USUAL, { count: 33 }), "HEADER"],
    "an offset that is not counted": [aFile(USUAL, { strayOffset: 1n }), "HEADER"],
    "a size that is not counted": [aFile(USUAL, { straySize: 1n }), "HEADER"],
    "fewer sections counted than there are": [aFile(USUAL, { count: 4 }), "HEADER"],
    "more sections counted than there are": [aFile(USUAL, { count: 6 }), "SECTION"],
    "an offset before its section": [aFile(strange({ offset: 548n })), "SECTION"],
    "an offset beyond the file": [aFile(strange({ offset: 1n << 63n })), "SECTION"],
    "a size one too large": [aFile(strange({ size: 18n, ownSize: 18n })), "SECTION"],
    "a size one too small": [aFile(strange({ size: 16n, ownSize: 16n })), "SECTION"],
    "a size beyond the file": [aFile(strange({ size: 1n << 40n, ownSize: 1n << 40n })), "SECTION"],
    "a size that only the header says": [aFile(strange({ size: 16n })), "SECTION"],
    "a size that only the section says": [aFile(strange({ ownSize: 16n })), "SECTION"],
    "a section of type 0": [aFile(strange({ type: 0 })), "SECTION"],
    "a section of type 6": [aFile(strange({ type: 6 })), "SECTION"],
    "a section with flags": [aFile(strange({ flags: 1 })), "SECTION"],
    "the last section cut off in its header": [aFile().subarray(0, -PROGRAM.content.length - 4), "SECTION"],
    "the last byte cut off": [aFile().subarray(0, -1), "SECTION"],
    "a byte left over": [aFile(USUAL, { tail: Buffer.alloc(1) }), "LEFT_OVER"],
    "no section": [aFile([]), "ORDER"],
    "no ramdisk": [aFile([KERNEL, CMDLINE]), "ORDER"],
    "no command line": [aFile([KERNEL, BOOT, PROGRAM]), "ORDER"],
    "a second kernel": [aFile([KERNEL, KERNEL, CMDLINE, BOOT]), "ORDER"],
    "the command line first": [aFile([CMDLINE, KERNEL, BOOT]), "ORDER"],
    "a ramdisk before the kernel": [aFile([BOOT, KERNEL, CMDLINE, PROGRAM]), "ORDER"],
    "two signatures": [aFile([...USUAL, { ...BOOT, type: 4 }, { ...BOOT, type: 4 }]), "ORDER"],
    "metadata twice": [aFile([...USUAL, METADATA]), "ORDER"],
    "another checksum": [aFile(USUAL, { crc: 0 }), "CHECKSUM"],
  };
  for (const [what, [file, code]] of Object.entries(faults)) {
    it(`refuses ${what}`, () => {
      assert.equal(readEif(file), code);
    });
  }

  it("notices any byte that was changed", () => {
    const file = aFile();
    const unnoticed = Array.from(file.keys()).filter((at) => {
      const changed = Buffer.from(file);
      changed[at]! ^= 0x20;
      return typeof readEif(changed) !== "string";
    });
    assert.deepEqual(unnoticed, []);
  });

  it("writes what it reads, byte for byte", () => {
    assert.deepEqual(writeEif(read(aFile())), aFile());
    assert.deepEqual(writeEif(read(aFile(USUAL, { flags: 1 }))), aFile(USUAL, { flags: 1 }));
    const empty: EifSection[] = [
      { type: "kernel", content: new Uint8Array(0) },
      { type: "cmdline", content: new Uint8Array(0) },
      { type: "ramdisk", content: new Uint8Array(0) },
    ];
    assert.deepEqual(read(writeEif({ architecture: "x86_64", sections: empty })).sections.length, 3);
  });
});

// Three parties make keys for a circuit of one constraint, each in a folder of its own; then everything that a
// coordinator, a party or a courier could change is changed.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { groth16, zKey } from "snarkjs";
import { announceBeacon, applyBeacon } from "../../../scripts/ceremony/beacon.ts";
import { contribute } from "../../../scripts/ceremony/contribute.ts";
import { finishCeremony } from "../../../scripts/ceremony/finish.ts";
import { initCeremony } from "../../../scripts/ceremony/init.ts";
import { compiledElsewhere } from "../../../scripts/ceremony/sources.ts";
import {
  CeremonyError,
  isKeyEntry,
  linkName,
  parseEntry,
  parseTranscript,
  recordHash,
  recordText,
  type CeremonyFault,
  type Entry,
  type Transcript,
} from "../../../scripts/ceremony/transcript.ts";
import { verifyCeremony, type VerifyOptions } from "../../../scripts/ceremony/verify.ts";
import { contributionsOf } from "../../../scripts/ceremony/zkey-file.ts";
import { repositoryRoot, sha256Hex } from "../../../scripts/build/circuits/compile.ts";
import { makePtau } from "../../../scripts/build/ptau.ts";
import { runProgram } from "../../support/program.ts";

const PRODUCT = `pragma circom 2.1.6;
template Product() {
    signal input product;
    signal input factors[2];
    product === factors[0] * factors[1];
}
component main {public [product]} = Product();
`;
const SQUARE = PRODUCT.replace("factors[0] * factors[1]", "factors[0] * factors[0] + factors[1]");
const CIRCUIT = "product";
const NOW = new Date("2026-01-01T12:00:00.000Z");
const BEACON = "0123456789abcdef".repeat(4);
const PARTIES = ["alice", "bob", "carol"];

describe("the key ceremony of several parties", function () {
  let root: string;
  let ptau: string;
  /** All steps but finish, as an honest ceremony leaves them. */
  let honest: string;
  let copies = 0;

  before(async () => {
    root = await mkdtemp(path.join(os.tmpdir(), "cloister-ceremony-test-"));
    ptau = path.join(root, "powers.ptau");
    await makePtau({ power: 3, contributions: 1, outFile: ptau });
    await compile(root, CIRCUIT, PRODUCT);
    await compile(root, "square", SQUARE);

    let folder = path.join(root, "coordinator");
    await initCeremony({ folder, ptau, sources: await compiledElsewhere(root, [CIRCUIT]), now: NOW, say });
    for (const party of PARTIES) {
      const own = path.join(root, party);
      await cp(folder, own, { recursive: true });
      await contribute({ folder: own, party, ownEntropy: Buffer.from(party), now: NOW, say });
      folder = own;
    }
    honest = await copyOf(folder);
    await announceBeacon({
      folder: honest,
      source: "hash of block 100",
      iterationsExponent: 10,
      now: NOW,
      say,
    });
    await applyBeacon({ folder: honest, value: `0x${BEACON}`, now: NOW, say });
  });

  after(() => rm(root, { recursive: true, force: true }));

  async function copyOf(folder: string): Promise<string> {
    copies += 1;
    const copy = path.join(root, `copy-${String(copies)}`);
    await cp(folder, copy, { recursive: true });
    return copy;
  }

  describe("when everybody is honest", () => {
    it("verifies, with every party's own record, and with the newest keys alone", async () => {
      const records = PARTIES.map(async (party, at) =>
        parseEntry(
          await readFile(path.join(root, party, `000${String(at + 1)}-${party}`, "record.json"), "utf8"),
        ),
      );
      const expected = await Promise.all(records);
      const { transcript } = await verifyCeremony({ folder: honest, expected, say });
      assert.deepEqual(transcript.entries.map(linkName), [
        "0001-alice",
        "0002-bob",
        "0003-carol",
        "0004-announcement",
        "0005-beacon",
      ]);
      const light = await copyOf(honest);
      await rm(keyOf(light, "0001-alice"));
      await verify(light, { newestOnly: true });
      await refuses("FILE_MISSING", /0001-alice/, verify(light));
    });

    it("finishes with keys that prove, pinned by a manifest that says ceremony", async () => {
      const out = path.join(root, "finished");
      await finishCeremony({ folder: honest, out, say });
      const manifest = JSON.parse(await readFile(path.join(out, "manifest.json"), "utf8")) as {
        purpose: string;
        setup: { parties: string[]; beacon: { hex: string; source: string }; transcript: { sha256: string } };
        circuits: Record<
          string,
          { contributions: number; zkey: { sha256: string }; verificationKey: { sha256: string } }
        >;
      };
      assert.equal(manifest.purpose, "ceremony");
      assert.deepEqual(manifest.setup.parties, PARTIES);
      assert.equal(manifest.setup.beacon.hex, BEACON);
      assert.equal(manifest.setup.beacon.source, "hash of block 100");
      const keyText = await readFile(path.join(out, "verification-keys", `${CIRCUIT}.json`));
      const zkey = await readFile(keyOf(honest, "0005-beacon"));
      assert.equal(manifest.circuits[CIRCUIT]?.contributions, 3);
      assert.equal(manifest.circuits[CIRCUIT].verificationKey.sha256, sha256Hex(keyText));
      assert.equal(manifest.circuits[CIRCUIT].zkey.sha256, sha256Hex(zkey));
      const transcript = await readFile(path.join(out, "transcript.json"));
      assert.equal(manifest.setup.transcript.sha256, sha256Hex(transcript));

      const wasm = new Uint8Array(await readFile(path.join(honest, "circuits", `${CIRCUIT}.wasm`)));
      const input = { product: "15", factors: ["3", "5"] };
      const { proof, publicSignals } = await groth16.fullProve(input, wasm, new Uint8Array(zkey));
      const key: unknown = JSON.parse(keyText.toString("utf8"));
      assert.equal(await groth16.verify(key, publicSignals, proof), true);
      assert.equal(await groth16.verify(key, ["16"], proof), false);
      await refuses("ORDER_OF_STEPS", /exists already/, finishCeremony({ folder: honest, out, say }));
    });

    it("reads the same contribution hash from a key as snarkjs gives", async () => {
      const to = path.join(root, "hash.zkey");
      const hash = (await zKey.contribute(keyOf(honest, "0001-alice"), to, "dave", "text")) as Uint8Array;
      const history = contributionsOf(await readFile(to));
      assert.deepEqual(
        history.map(({ name }) => name),
        ["alice", "dave"],
      );
      assert.equal(history[1]?.hash, Buffer.from(hash).toString("hex"));
    });

    it("starts with the same keys wherever it is started", async () => {
      const folder = path.join(root, "again");
      const sources = await compiledElsewhere(root, [CIRCUIT]);
      const { transcript } = await initCeremony({ folder, ptau, sources, now: NOW, say });
      assert.deepEqual(transcript.opening, (await transcriptOf(honest)).opening);
      await refuses("ORDER_OF_STEPS", /already/, initCeremony({ folder, ptau, sources, now: NOW, say }));
    });
  });

  describe("when a step comes at the wrong time", () => {
    const common = { now: NOW, say };

    it("refuses a second contribution of a party, and a name that is none", async () => {
      const folder = await copyOf(path.join(root, "bob"));
      await refuses("PARTY_REPEATED", /alice/, contribute({ folder, party: "alice", ...common }));
      for (const party of ["Alice", "../dave", "", "beacon", "announcement", "opening"])
        await refuses("MALFORMED", /--name/, contribute({ folder, party, ...common }));
    });

    it("refuses a contribution after the announcement", async () => {
      await refuses("ORDER_OF_STEPS", /0006-dave/, contribute({ folder: honest, party: "dave", ...common }));
    });

    it("refuses a beacon that was not announced, is announced twice, or is no 32 bytes", async () => {
      const folder = await copyOf(path.join(root, "bob"));
      await refuses("ORDER_OF_STEPS", /announced/, applyBeacon({ folder, value: BEACON, ...common }));
      const source = "hash of block 100";
      const announce = (iterationsExponent: number): Promise<unknown> =>
        announceBeacon({ folder, source, iterationsExponent, ...common });
      await refuses("MALFORMED", /iterationsExponent/, announce(9));
      await announce(10);
      await refuses("ORDER_OF_STEPS", /announced once/, announce(10));
      await refuses("MALFORMED", /64 hex digits/, applyBeacon({ folder, value: "00", ...common }));
    });

    it("does not finish without the beacon, or with one party", async () => {
      const folder = path.join(root, "alice");
      const out = path.join(root, "unfinished");
      await refuses("TOO_FEW_PARTIES", /is 1/, finishCeremony({ folder, out, say }));
      await refuses("ORDER_OF_STEPS", /beacon/, finishCeremony({ folder: path.join(root, "bob"), out, say }));
      assert.ok(!(await readdir(root)).includes("unfinished"));
    });

    it("does not begin with powers of tau that are not the expected ones, or are damaged", async () => {
      const sources = await compiledElsewhere(root, [CIRCUIT]);
      const folder = path.join(root, "not-begun");
      const ptauSha256 = "00".repeat(32);
      await refuses(
        "FILE_REPLACED",
        /powers/,
        initCeremony({ folder, ptau, ptauSha256, sources, ...common }),
      );
      const damaged = path.join(root, "damaged.ptau");
      const bytes = await readFile(ptau);
      // Past the header: the last contribution's section, which the whole accumulator must agree with.
      await writeFile(damaged, flipped(bytes, bytes.length - 200));
      await refuses(
        "POWERS_OF_TAU_INVALID",
        /verify/,
        initCeremony({ folder, ptau: damaged, sources, ...common }),
      );
      await refuses("FILE_MISSING", /transcript/, verify(folder));
    });
  });

  describe("when a step was interrupted", () => {
    it("repeats a contribution that stopped in the middle of a key", async () => {
      const folder = await copyOf(path.join(root, "alice"));
      await mkdir(path.join(folder, "0002-bob.partial"));
      await writeFile(path.join(folder, "0002-bob.partial", `${CIRCUIT}.zkey.part`), "torn");
      await contribute({ folder, party: "bob", now: NOW, say });
      await verify(folder);
      assert.ok(!(await readdir(folder)).some((name) => name.includes("partial")));
    });

    it("keeps a key that was finished, and makes one again that continues another link", async () => {
      const folder = await copyOf(path.join(root, "alice"));
      const partial = path.join(folder, "0002-bob.partial");
      await cp(path.join(root, "bob", "0002-bob"), partial, { recursive: true });
      const kept = sha256Hex(await readFile(path.join(partial, `${CIRCUIT}.zkey`)));
      await contribute({ folder, party: "bob", now: NOW, say });
      assert.equal(sha256Hex(await readFile(keyOf(folder, "0002-bob"))), kept);

      const other = await copyOf(path.join(root, "bob"));
      const stale = path.join(other, "0003-dave.partial");
      await mkdir(stale);
      await zKey.contribute(keyOf(other, "0001-alice"), path.join(stale, `${CIRCUIT}.zkey`), "dave", "text");
      await mkdir(path.join(other, "0002-dave.partial"));
      await contribute({ folder: other, party: "dave", now: NOW, say });
      await verify(other);
      assert.ok(!(await readdir(other)).some((name) => name.includes("partial")));
    });

    it("takes up an entry whose files were in place before the transcript was written", async () => {
      const folder = await copyOf(path.join(root, "bob"));
      await cp(path.join(root, "alice", "transcript.json"), path.join(folder, "transcript.json"));
      const { transcript } = await verify(folder);
      assert.deepEqual(transcript.entries.map(linkName), ["0001-alice", "0002-bob"]);
      await contribute({ folder, party: "carol", now: NOW, say });
      assert.equal((await transcriptOf(folder)).entries.length, 3);
    });
  });

  describe("when somebody tampers", () => {
    it("refuses a key that was replaced by another contribution", async () => {
      const folder = await copyOf(honest);
      await zKey.contribute(keyOf(folder, "0001-alice"), keyOf(folder, "0002-bob"), "bob", "another");
      await refuses("FILE_REPLACED", /0002-bob/, verify(folder));
    });

    it("refuses the replacement also when entry and record are rewritten for it", async () => {
      const folder = await copyOf(honest);
      const file = keyOf(folder, "0002-bob");
      await zKey.contribute(keyOf(folder, "0001-alice"), file, "bob", "another");
      await rewrite(folder, async ({ entries }) => {
        await tellTruthAbout(folder, entries[1]);
        return entries;
      });
      await refuses("LINK_BROKEN", /0003-carol does not follow 0002-bob/, verify(folder));
    });

    it("refuses a history made again without somebody, to whom holds a record of the true one", async () => {
      const bobs = parseEntry(await readFile(path.join(root, "bob", "0002-bob", "record.json"), "utf8"));
      const folder = await copyOf(path.join(root, "alice"));
      for (const party of ["bob", "carol"]) await contribute({ folder, party, now: NOW, say });
      // By itself it is as good as the true one: names are only names.
      await verify(folder);
      await refuses("RECORD_NOT_INCLUDED", /0002-bob/, verify(folder, { expected: [bobs] }));
    });

    it("refuses entries in another order", async () => {
      const folder = await copyOf(honest);
      await rewrite(folder, ({ entries }) => [entries[1], entries[0], ...entries.slice(2)]);
      await refuses("NUMBERING_BROKEN", /0002-bob/, verify(folder));
    });

    it("refuses a dropped entry, however well the rest is joined again", async () => {
      const drop = async (join: (kept: Entry[], transcript: Transcript) => void): Promise<string> => {
        const folder = await copyOf(honest);
        await rm(path.join(folder, "0002-bob"), { recursive: true });
        await rewrite(folder, (transcript) => {
          const kept = transcript.entries.filter(({ number }) => number !== 2);
          join(kept, transcript);
          return kept;
        });
        return folder;
      };
      await refuses("NUMBERING_BROKEN", /0003-carol/, verify(await drop(() => undefined)));
      await refuses("LINK_BROKEN", /0002-carol/, verify(await drop((kept) => renumber(kept))));
      const relinked = await drop((kept, { opening }) => {
        renumber(kept);
        relink(opening, kept);
      });
      await refuses("FORKED", /0002-carol/, verify(relinked));
      const refitted = await drop((kept, { opening }) => {
        renumber(kept);
        for (const [at, entry] of kept.entries()) {
          const before = kept.slice(0, at).filter(isKeyEntry).at(-1)?.circuits[CIRCUIT]?.to;
          if (isKeyEntry(entry) && before !== undefined)
            entry.circuits[CIRCUIT] = { ...stepOf(entry), from: before };
        }
        relink(opening, kept);
      });
      await refuses("KEY_HISTORY_DIFFERS", /0002-carol/, verify(refitted));
    });

    it("refuses two contributions to the same key", async () => {
      const folder = await copyOf(path.join(root, "bob"));
      const other = await copyOf(path.join(root, "alice"));
      await contribute({ folder: other, party: "dave", now: NOW, say });
      await cp(path.join(other, "0002-dave"), path.join(folder, "0002-dave"), { recursive: true });
      await refuses("FORKED", /0002-dave and 0002-bob/, verify(folder));
      // Also under the next free number.
      await rename(path.join(folder, "0002-dave"), path.join(folder, "0003-dave"));
      await refuses("FILE_REPLACED", /0003-dave/, verify(folder));
      const record = JSON.parse(
        await readFile(path.join(folder, "0003-dave", "record.json"), "utf8"),
      ) as Entry;
      const previous = recordHash((await transcriptOf(folder)).entries[1] ?? assert.fail());
      await writeFile(
        path.join(folder, "0003-dave", "record.json"),
        recordText({ ...record, number: 3, previous }),
      );
      await refuses("FORKED", /0003-dave/, verify(folder));
    });

    it("refuses a record that was changed after it was signed, and one that is gone", async () => {
      const folder = await copyOf(honest);
      const record = path.join(folder, "0003-carol", "record.json");
      await writeFile(record, (await readFile(record, "utf8")).replace("2026-01-01", "2026-01-02"));
      await refuses("ENTRY_ALTERED", /0003-carol/, verify(folder));
      await rm(record);
      await refuses("FILE_MISSING", /0003-carol/, verify(folder));
    });

    it("names the party whose key is no contribution, also when others built on it", async () => {
      const folder = await copyOf(path.join(root, "bob"));
      const file = keyOf(folder, "0002-bob");
      await writeFile(file, withForeignPoint(await readFile(file)));
      await rewrite(folder, async ({ opening, entries }) => {
        await tellTruthAbout(folder, entries[1]);
        relink(opening, entries);
        return entries;
      });
      await refuses("KEY_INVALID", /0002-bob/, verify(folder));
      await refuses("KEY_INVALID", /0002-bob/, contribute({ folder, party: "carol", now: NOW, say }));

      const link = path.join(folder, "0003-carol");
      await cp(path.join(root, "carol", "0003-carol"), link, { recursive: true });
      await zKey.contribute(file, keyOf(folder, "0003-carol"), "carol", "text");
      await rewrite(folder, async ({ opening, entries }) => {
        const carols = parseEntry(await readFile(path.join(link, "record.json"), "utf8"));
        await tellTruthAbout(folder, carols, stepOf(entries[1]).to);
        const all = [...entries, carols];
        relink(opening, all);
        return all;
      });
      await refuses("KEY_INVALID", /0002-bob/, verify(folder));
    });

    it("refuses a key with a point that is not on the curve", async () => {
      const folder = await copyOf(path.join(root, "alice"));
      const file = keyOf(folder, "0001-alice");
      const zkey = await readFile(file);
      await writeFile(file, flipped(zkey, sectionOf(zkey, 8).at));
      await rewrite(folder, async ({ opening, entries }) => {
        await tellTruthAbout(folder, entries[0]);
        relink(opening, entries);
        return entries;
      });
      await refuses("KEY_INVALID", /0001-alice/, verify(folder));
    });

    it("refuses a beacon of another value, and a contribution that passes for one", async () => {
      const another = await copyOf(honest);
      await rewrite(another, ({ opening, entries }) => {
        const last = entries[4];
        assert.equal(last?.type, "beacon");
        last.value = "ff".repeat(32);
        relink(opening, entries);
        return entries;
      });
      await refuses("KEY_HISTORY_DIFFERS", /0005-beacon/, verify(another));

      const passing = await copyOf(honest);
      await zKey.contribute(keyOf(passing, "0003-carol"), keyOf(passing, "0005-beacon"), "beacon", "chosen");
      await rewrite(passing, async ({ opening, entries }) => {
        await tellTruthAbout(passing, entries[4]);
        relink(opening, entries);
        return entries;
      });
      await refuses("KEY_HISTORY_DIFFERS", /0005-beacon/, verify(passing));
    });

    it("refuses another circuit, with its hash in the opening and all links made again", async () => {
      const folder = await copyOf(honest);
      const square = await readFile(path.join(root, "square.r1cs"));
      await writeFile(path.join(folder, "circuits", `${CIRCUIT}.r1cs`), square);
      await refuses("FILE_REPLACED", /r1cs/, verify(folder));
      await rewrite(folder, ({ opening, entries }) => {
        const pinned = opening.circuits[CIRCUIT];
        if (pinned !== undefined) pinned.r1cs = sha256Hex(square);
        relink(opening, entries);
        return entries;
      });
      await refuses("INITIAL_KEY_FOREIGN", /product/, verify(folder));
    });

    it("refuses other powers of tau, with their hash in the opening and all links made again", async () => {
      const folder = await copyOf(honest);
      const file = path.join(folder, "powers-of-tau.ptau");
      const bytes = await readFile(file);
      const damaged = flipped(bytes, bytes.length - 200);
      await writeFile(file, damaged);
      await refuses("FILE_REPLACED", /powers of tau/, verify(folder));
      await rewrite(folder, ({ opening, entries }) => {
        opening.ptau.sha256 = sha256Hex(damaged);
        relink(opening, entries);
        return entries;
      });
      await refuses("POWERS_OF_TAU_INVALID", /verify/, verify(folder, { trustPowersOfTau: false }));
    });

    it("refuses circuits that this checkout's sources do not compile to", async () => {
      const sources = await compiledElsewhere(root, [CIRCUIT]);
      const [product] = sources.circuits;
      assert.ok(product !== undefined);
      const folder = path.join(root, "foreign");
      const circuits = [{ ...product, name: "deposit-shield" }];
      await initCeremony({ folder, ptau, sources: { ...sources, circuits }, now: NOW, say });
      await verify(folder);
      await refuses("NOT_COMPILED_FROM_HERE", /deposit-shield/, verify(folder, { recompile: true }));
    });

    it("refuses a transcript that is no transcript", async () => {
      const folder = await copyOf(honest);
      await writeFile(path.join(folder, "transcript.json"), "{");
      await refuses("MALFORMED", /JSON/, verify(folder));
      await writeFile(path.join(folder, "transcript.json"), "{}");
      await refuses("MALFORMED", /opening/, verify(folder));
    });
  });

  describe("at the terminal", () => {
    it("explains itself, each step too, and knows no other", async () => {
      for (const args of [[], ["init"], ["contribute"], ["verify"], ["beacon"], ["finish"]]) {
        const { code, output } = await run([...args, "--help"]);
        assert.equal(code, 0, output);
        assert.match(output, /^Usage: npm run ceremony/);
      }
      const unknown = await run(["conclude"]);
      assert.equal(unknown.code, 2);
      assert.match(unknown.output, /init, contribute, verify, beacon, finish/);
    });

    it("contributes with entropy from a pipe, which it never repeats, and verifies", async () => {
      const folder = await copyOf(path.join(root, "carol"));
      const secret = "nobody may read this";
      const made = await run(["contribute", "--folder", folder, "--name", "dave", "--entropy"], secret);
      assert.equal(made.code, 0, made.output);
      assert.doesNotMatch(made.output, new RegExp(secret));
      assert.match(made.output, /could not wipe/);
      const expect = path.join(folder, "0004-dave", "record.json");
      const good = await run(["verify", "--folder", folder, "--expect", expect]);
      assert.equal(good.code, 0, good.output);
      const bad = await run(["verify", "--folder", path.join(root, "carol"), "--expect", expect]);
      assert.equal(bad.code, 1);
      assert.match(bad.output, /^RECORD_NOT_INCLUDED: /m);
    });

    it("takes no entropy from its arguments", async () => {
      const folder = await copyOf(path.join(root, "carol"));
      const { code } = await run(["contribute", "--folder", folder, "--name", "dave", "--entropy=secret"]);
      assert.notEqual(code, 0);
      assert.ok(!(await readdir(folder)).some((name) => name.includes("dave")));
    });
  });
});

function say(): void {
  // The words of a step are for people.
}

function verify(folder: string, options: Partial<VerifyOptions> = {}): ReturnType<typeof verifyCeremony> {
  return verifyCeremony({ folder, trustPowersOfTau: true, say, ...options });
}

async function refuses(code: CeremonyFault, words: RegExp, step: Promise<unknown>): Promise<void> {
  await assert.rejects(step, (error) => {
    assert.ok(error instanceof CeremonyError, String(error));
    assert.equal(error.code, code, error.message);
    assert.match(error.message, words);
    return true;
  });
}

function keyOf(folder: string, link: string): string {
  return path.join(folder, link, `${CIRCUIT}.zkey`);
}

async function transcriptOf(folder: string): Promise<Transcript> {
  return parseTranscript(await readFile(path.join(folder, "transcript.json"), "utf8"));
}

/** Writes transcript and records as a tamperer would; folders follow the links' names. */
async function rewrite(
  folder: string,
  change: (
    transcript: Transcript,
  ) => readonly (Entry | undefined)[] | Promise<readonly (Entry | undefined)[]>,
): Promise<void> {
  const transcript = await transcriptOf(folder);
  const names = new Map(transcript.entries.map((entry) => [entry, linkName(entry)]));
  const entries = (await change(transcript)).map((entry) => entry ?? assert.fail());
  for (const entry of entries) {
    const was = names.get(entry);
    if (was !== undefined && was !== linkName(entry))
      await rename(path.join(folder, was), path.join(folder, linkName(entry)));
    await writeFile(path.join(folder, linkName(entry), "record.json"), recordText(entry));
  }
  const text = JSON.stringify({ opening: transcript.opening, entries });
  await writeFile(path.join(folder, "transcript.json"), text);
}

/** Hashes as they are now. */
async function tellTruthAbout(folder: string, entry: Entry | undefined, from?: string): Promise<void> {
  assert.ok(entry !== undefined && isKeyEntry(entry));
  const zkey = await readFile(keyOf(folder, linkName(entry)));
  const contribution = contributionsOf(zkey).at(-1)?.hash ?? assert.fail();
  entry.circuits[CIRCUIT] = { from: from ?? stepOf(entry).from, to: sha256Hex(zkey), contribution };
}

function stepOf(entry: Entry | undefined): { from: string; to: string; contribution: string } {
  assert.ok(entry !== undefined && isKeyEntry(entry));
  return entry.circuits[CIRCUIT] ?? assert.fail();
}

function renumber(entries: readonly Entry[]): void {
  for (const [at, entry] of entries.entries()) entry.number = at + 1;
}

function relink(opening: Transcript["opening"], entries: readonly Entry[]): void {
  for (const [at, entry] of entries.entries()) entry.previous = recordHash(entries[at - 1] ?? opening);
}

function flipped(bytes: Buffer, at: number): Buffer {
  const changed = Buffer.from(bytes);
  changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
  return changed;
}

/** The first point of the L section replaced by one of the H section: on the curve, but the wrong one. */
function withForeignPoint(zkey: Buffer): Buffer {
  const changed = Buffer.from(zkey);
  const from = sectionOf(zkey, 9).at;
  zkey.copy(changed, sectionOf(zkey, 8).at, from, from + 64);
  assert.notDeepEqual(changed, zkey);
  return changed;
}

function sectionOf(zkey: Buffer, type: number): { at: number; size: number } {
  let at = 12;
  for (let i = 0; i < zkey.readUInt32LE(8); i++) {
    const size = Number(zkey.readBigUInt64LE(at + 4));
    if (zkey.readUInt32LE(at) === type) return { at: at + 12, size };
    at += 12 + size;
  }
  return assert.fail();
}

async function compile(folder: string, name: string, source: string): Promise<void> {
  await writeFile(path.join(folder, `${name}.circom`), source);
  const near = path.relative(repositoryRoot, folder);
  const circom = path.join(repositoryRoot, "node_modules", "circom2", "cli.js");
  const args = [circom, path.join(near, `${name}.circom`), "--r1cs", "--wasm", "-o", near];
  await promisify(execFile)(process.execPath, args, { cwd: repositoryRoot });
}

async function run(args: readonly string[], input = ""): Promise<{ code: number | null; output: string }> {
  const { code, said } = await runProgram("scripts/ceremony/main.ts", args, { input });
  return { code, output: said };
}

// The command with stand-ins for Docker, which gives what the Dockerfile would, and for nitro-cli, which measures
// by itself. What Docker and nitro-cli really do is an acceptance step of scripts/image/README.md.
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync } from "node:fs";
import { appendFile, chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseConfiguration } from "../../../../enclave/configuration.ts";
import { buildImage } from "../../../../scripts/image/assemble.ts";
import { PROGRAM_NAMES } from "../../../../scripts/image/measurement.ts";
import { AWS_NITRO_ROOT, developmentConfiguration } from "../../../../scripts/image/configuration.ts";
import { readEif, type EifMeasurement } from "../../../../scripts/image/eif.ts";
import { runProgram, type Ended } from "../../../support/program.ts";
import { PROJECT_ROOT } from "../../../support/tree.ts";

const COMMITTED_KEYS = path.join(PROJECT_ROOT, "shared/protocol/verification-keys");

const DOCKER = `
const { cpSync, existsSync } = require("node:fs");
const args = process.argv.slice(2);
if (args[0] === "info" && existsSync(__dirname + "/no-daemon")) process.exit(1);
if (args[0] !== "build") process.exit(0);
const after = (start) => args.find((arg) => arg.startsWith(start)).slice(start.length);
const to = after("type=local,dest=");
const program = args[args.indexOf("--target") + 1];
cpSync(__dirname + "/../built-" + program, to, { recursive: true });
cpSync(after("configuration=") + "/configuration.json", to + "/image/enclave/configuration.json");`;

const NITRO_CLI = `
const { createHash } = require("node:crypto");
const { existsSync, readFileSync } = require("node:fs");
if (process.argv[2] !== "describe-eif") process.exit(0);
const file = readFileSync(process.argv[4]);
const found = [];
for (let at = 548; at < file.length; ) {
  const size = Number(file.readBigUInt64BE(at + 4));
  found.push([file.readUInt16BE(at), file.subarray(at + 12, at + 12 + size)]);
  at += 12 + size;
}
const ramdisks = found.filter(([type]) => type === 3).map(([, content]) => content);
const start = found.filter(([type]) => type < 3).map(([, content]) => content);
if (existsSync(__dirname + "/lies")) start.push(Buffer.from("x"));
const sha384 = (...parts) => createHash("sha384").update(Buffer.concat(parts)).digest();
const register = (...parts) => sha384(Buffer.alloc(48), sha384(...parts)).toString("hex");
console.log(JSON.stringify({ EifVersion: 4, Measurements: { HashAlgorithm: "Sha384 { ... }",
  PCR0: register(...start, ...ramdisks), PCR1: register(...start, ramdisks[0]), PCR2: register(...ramdisks.slice(1)) } }));`;

describe("scripts/image", function () {
  let folder: string;
  let kmsKey: string;
  let keyFolder: string;
  let blobs: string;

  const at = (...parts: string[]): string => path.join(folder, ...parts);
  const run = (...args: string[]): Promise<Ended> => runWith("bin", ...args);
  const runWith = (bin: string, ...args: string[]): Promise<Ended> =>
    runProgram("scripts/image/main.ts", args, {
      env: { PATH: `${at(bin)}:${path.dirname(process.execPath)}-none` },
    });
  const build = (...args: string[]): Promise<Ended> =>
    run(
      ...["--kms-public-key", kmsKey, "--verification-keys", keyFolder],
      ...["--blobs", blobs, "--out", at("out.eif"), ...args],
    );
  const refused = async (reason: RegExp, ran: Promise<Ended>): Promise<void> => {
    const { code, out, err } = await ran;
    assert.match(err, reason);
    assert.deepEqual([code, out], [1, ""]);
  };
  const standIn = async (bin: string, name: string, text: string): Promise<void> => {
    await mkdir(at(bin), { recursive: true });
    await writeFile(at(bin, name), `#!${process.execPath}\n${text}\n`);
    await chmod(at(bin, name), 0o755);
  };

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-build-image-"));
    await standIn("bin", "docker", DOCKER);
    await standIn("bin", "nitro-cli", NITRO_CLI);
    for (const program of PROGRAM_NAMES) {
      const built = at(`built-${program}`);
      await buildImage({ to: path.join(built, "image/enclave"), configuration: "", program });
      await mkdir(path.join(built, "image/usr/local/bin"), { recursive: true });
      await writeFile(path.join(built, "image/usr/local/bin/node"), "node");
      await mkdir(path.join(built, "boot"));
      await writeFile(path.join(built, "boot/init"), "init");
      await chmod(path.join(built, "boot/init"), 0o755);
    }
    blobs = at("blobs");
    await mkdir(blobs);
    for (const [name, text] of Object.entries({
      bzImage: "kernel",
      cmdline: "reboot=k panic=30\n",
      "nsm.ko": "module",
      init: "AWS's own, which is not used",
    }))
      await writeFile(path.join(blobs, name), text);

    keyFolder = at("keys");
    await cp(COMMITTED_KEYS, keyFolder, { recursive: true });
    for (const kind of ["deposit-shield", "spend", "spend9", "private-swap"]) {
      const file = path.join(keyFolder, `${kind}.json`);
      const key = JSON.parse(await readFile(file, "utf8")) as { vk_delta_2: unknown; vk_gamma_2: unknown };
      await writeFile(file, JSON.stringify({ ...key, vk_delta_2: key.vk_gamma_2 }));
    }
    kmsKey = at("kms.der");
    const { publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    await writeFile(kmsKey, publicKey.export({ type: "spki", format: "der" }));
    await writeFile(at("kms.pem"), publicKey.export({ type: "spki", format: "pem" }));
  });
  after(() => rm(folder, { recursive: true, force: true }));
  afterEach(async () => {
    for (const file of ["bin/lies", "bin/no-daemon"]) await rm(at(file), { force: true });
  });

  it("builds a file that nitro-cli measures the same, twice the same, and can measure it later", async () => {
    const first = await build("--out", at("one.eif"), "--json");
    assert.equal(first.err, "");
    const result = JSON.parse(first.out) as EifMeasurement & { configurationHash: string };
    const pem = ["--kms-public-key", at("kms.pem"), "--verification-keys", keyFolder, "--blobs", blobs];
    const second = await run(...pem, "--out", at("two.eif"));
    assert.equal(
      second.out,
      ["pcr0", "pcr1", "pcr2"].map((name) => `${name}  ${result[name as "pcr0"]}\n`).join(""),
    );
    const file = await readFile(at("one.eif"));
    assert.ok(file.equals(await readFile(at("two.eif"))));

    const eif = readEif(file);
    assert.ok(typeof eif !== "string");
    const text = (type: string): string =>
      eif.sections
        .filter((section) => section.type === type)
        .map(({ content }) => Buffer.from(content))
        .join("|");
    assert.equal(text("kernel"), "kernel");
    assert.equal(text("cmdline"), "reboot=k panic=30");
    assert.match(text("ramdisk"), /^070701[^|]*init[^|]*nsm\.ko[^|]*\|070701/);
    assert.doesNotMatch(text("ramdisk"), /AWS's own/);
    const configuration = parseConfiguration(
      /\{\n {2}"attestationRoot"[^]*?\n\}\n/.exec(text("ramdisk"))?.[0] ?? "",
    );
    assert.equal(configuration.attestationRoot, AWS_NITRO_ROOT);
    assert.equal(configuration.hash, result.configurationHash);

    assert.ok(text("ramdisk").includes(await readFile(at("one.configuration.json"), "utf8")));
    const measured = await readFile(at("one.measurement.json"), "utf8");
    const { pcr0, pcr1, pcr2 } = result;
    assert.deepEqual(JSON.parse(measured), { pcr0, pcr1, pcr2 });
    const again = await run("--eif", at("one.eif"), "--expect", at("one.measurement.json"));
    assert.deepEqual([again.code, again.out, again.err], [0, second.out, ""]);
    const asNitro = { Measurements: { PCR0: pcr0.toUpperCase(), PCR1: pcr1, PCR2: "00".repeat(48) } };
    await writeFile(at("other.json"), JSON.stringify(asNitro));
    const other = await run("--eif", at("one.eif"), "--expect", at("other.json"));
    assert.equal(other.code, 1);
    assert.match(other.err, /another image: pcr2 differ/);
  });

  it("builds the second program when it is named, another image, and no third", async () => {
    const [first, second] = [await build("--json"), await build("--program", "second", "--json")];
    const [one, two] = [first, second].map(({ out }) => JSON.parse(out) as EifMeasurement);
    assert.notEqual(one!.pcr2, two!.pcr2);
    assert.equal(one!.pcr1, two!.pcr1);
    await refused(/neither first nor second/, build("--program", "third"));
    await rm(at("out.eif"));
  });

  it("refuses when nitro-cli measures something else", async () => {
    await writeFile(at("bin/lies"), "");
    await refused(/nitro-cli measures .* differently \(pcr0, pcr1\)/, build());
    assert.equal(existsSync(at("out.eif")), false);
  });

  it("refuses when the container built other code than these sources give", async () => {
    const file = at("built-first/image/enclave/dist/enclave/attest.js");
    const text = await readFile(file);
    await appendFile(file, "\n");
    await refused(/built other files than these sources/, build());
    await writeFile(file, text);
  });

  it("refuses what is for development, each for its own reason", async () => {
    await writeFile(at("development.json"), await developmentConfiguration());
    await refused(/development root/, run("--configuration", at("development.json"), "--blobs", blobs));
    const committed = ["--verification-keys", COMMITTED_KEYS, "--blobs", blobs];
    await refused(
      /development key: whoever made it can forge/,
      run("--kms-public-key", kmsKey, ...committed),
    );
  });

  it("says what is missing, and how to get it", async () => {
    await refused(/dnf install aws-nitro-enclaves-cli-devel/, build("--blobs", at("nowhere")));
    const args = ["--kms-public-key", kmsKey, "--verification-keys", keyFolder, "--blobs", blobs];
    await refused(/docker with buildx is needed/, runWith("empty", ...args));
    await standIn("only-docker", "docker", DOCKER);
    await refused(/nitro-cli is needed/, runWith("only-docker", ...args));
    await writeFile(at("bin/no-daemon"), "");
    await refused(/its daemon does not answer/, build());
  });

  it("refuses a kernel with modules that the init would not load", async () => {
    const modules = at("modules");
    await cp(blobs, modules, { recursive: true });
    await writeFile(path.join(modules, "virtio_mmio.ko"), "");
    await refused(/modules that the init does not load: virtio_mmio\.ko/, build("--blobs", modules));
  });

  it("refuses half a choice, a file that is no image, and registers that are none", async () => {
    await refused(/needed are either/, run());
    await refused(/needed are either/, run("--kms-public-key", kmsKey));
    await refused(/needed are either/, build("--configuration", at("development.json")));
    await refused(/TOO_SHORT/, run("--eif", kmsKey));
    await writeFile(at("half.json"), JSON.stringify({ pcr0: "ab".repeat(48), pcr2: "ab".repeat(48) }));
    const { code, err } = await run("--eif", at("one.eif"), "--expect", at("half.json"));
    assert.deepEqual([code, err], [1, "build-image: PCR0 to PCR2 are not there\n"]);
  });
});

// `npm run build-image`: the enclave image file for Nitro, from the sources, a KMS key and a kernel; and its
// measurement, which is computed here and held against nitro-cli's. Also measures a file that is there already.
import { execFile } from "node:child_process";
import { createHash, createPublicKey } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { parseConfiguration } from "../../enclave/configuration.ts";
import { buildImage, type Assembly } from "./assemble.ts";
import { composeEif, type Kernel } from "./compose.ts";
import { productionConfiguration, refuseDevelopment } from "./configuration.ts";
import { measureEif, readEif, type EifMeasurement } from "./eif.ts";
import {
  CONFIGURATION_FILE,
  measureImage,
  programNamed,
  type Measurement,
  type ProgramName,
} from "./measurement.ts";
import { entriesOf } from "./ramdisk.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const BLOBS = "/usr/share/nitro_enclaves/blobs";
const REGISTERS = ["pcr0", "pcr1", "pcr2", "pcr8"] as const;
const NODE_IN_IMAGE = "usr/local/bin/node";

const HELP = `Usage: npm run build-image -- --kms-public-key FILE --verification-keys FOLDER [--out FILE] [--json]
       npm run build-image -- --configuration FILE [--out FILE] [--json]
       npm run build-image -- --eif FILE [--expect FILE] [--json]

Builds the enclave image file in a pinned container, measures it, and compares with nitro-cli. Nothing that is
known to everybody gets in: development roots, KMS keys and verification keys are refused. Needs Docker with
buildx and nitro-cli; needs no Nitro hardware. scripts/image/README.md has the steps before and after.

  --program first|second      which of the two verifiers (default: first); each has a KMS key of its own
  --kms-public-key FILE       of the image's KMS key, as GetPublicKey gives it (DER) or as PEM
  --verification-keys FOLDER  <kind>.json of the ceremony
  --configuration FILE        a configuration.json made before, in the place of the two
  --blobs FOLDER              bzImage, cmdline, nsm.ko (default: ${BLOBS})
  --out FILE                  default: enclave.eif; beside it enclave.configuration.json and
                              enclave.measurement.json, for the operator and the KMS policy
  --eif FILE                  measure this file and build nothing
  --expect FILE               JSON with the registers it must have: nitro-cli's, or this command's with --json
  --json                      all results as JSON
  --help                      this text`;

/** A reason for the person at the keyboard. */
class Refusal extends Error {}

/** Throws what is wrong with the file. */
export function measureFile(file: Uint8Array): EifMeasurement {
  const eif = readEif(file);
  const measurement = typeof eif === "string" ? eif : measureEif(eif);
  if (typeof measurement === "string")
    throw new Refusal(`not an enclave image file as it should be: ${measurement}`);
  return measurement;
}

/** From nitro-cli's JSON or ours. Throws where PCR0 to 2 are not there. */
export function readRegisters(text: string): EifMeasurement {
  const json = JSON.parse(text) as Record<string, unknown>;
  const found = (json["Measurements"] ?? json) as Record<string, unknown>;
  const registers = REGISTERS.flatMap((name): [string, string][] => {
    const value = found[name] ?? found[name.toUpperCase()];
    return typeof value === "string" && /^[0-9a-f]{96}$/i.test(value) ? [[name, value.toLowerCase()]] : [];
  });
  if (registers.length < 3 || registers[2]?.[0] !== "pcr2") throw new Refusal("PCR0 to PCR2 are not there");
  return Object.fromEntries(registers) as unknown as EifMeasurement;
}

/** The registers that differ. */
export function differences(ours: EifMeasurement, theirs: EifMeasurement): string[] {
  return REGISTERS.filter((name) => ours[name] !== theirs[name]);
}

interface Sources {
  readonly program: ProgramName;
  readonly configuration: string;
  readonly blobs: string;
  readonly out: string;
}

async function build({ program, configuration, blobs, out }: Sources): Promise<Record<string, unknown>> {
  const kernel = await readKernel(blobs);
  await needsTools();
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-eif-"));
  try {
    await writeFile(path.join(folder, CONFIGURATION_FILE), configuration);
    const built = path.join(folder, "built");
    await run("docker", [
      ...["build", "--platform", "linux/amd64", "--file", path.join(ROOT, "enclave/Dockerfile")],
      ...["--target", program],
      ...["--build-context", `configuration=${folder}`, "--output", `type=local,dest=${built}`, ROOT],
    ]);
    const assembly = { to: path.join(folder, "own"), configuration, program };
    const simulated = await agreesWithSources(path.join(built, "image"), assembly);

    const file = composeEif({
      ...kernel,
      boot: await entriesOf(path.join(built, "boot")),
      program: await entriesOf(path.join(built, "image")),
    });
    // Only what both measure the same comes to the place where it would be used.
    const made = path.join(folder, "enclave.eif");
    await writeFile(made, file);
    const ours = measureFile(await readFile(made));
    const theirs = readRegisters(await run("nitro-cli", ["describe-eif", "--eif-path", made]));
    const different = differences(ours, theirs);
    if (different.length > 0) {
      throw new Refusal(
        `nitro-cli measures what was built differently (${different.join(", ")}), so it is not kept. Ours: ${JSON.stringify(ours)}, nitro-cli's: ${JSON.stringify(theirs)}`,
      );
    }
    await writeFile(out, file);
    const beside = out.replace(/\.eif$/, "");
    await writeFile(`${beside}.configuration.json`, configuration);
    await writeFile(`${beside}.measurement.json`, `${JSON.stringify(ours, null, 2)}\n`);
    return {
      ...ours,
      eif: out,
      configurationHash: parseConfiguration(configuration).hash,
      simulated,
      sha256: {
        bzImage: sha256(kernel.kernel),
        cmdline: sha256(kernel.cmdline),
        "nsm.ko": kernel.module ? sha256(kernel.module) : null,
      },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function readKernel(blobs: string): Promise<Kernel> {
  const files = await readdir(blobs).catch(() => undefined);
  if (files?.includes("bzImage") !== true || !files.includes("cmdline")) {
    throw new Refusal(
      `${blobs} holds no bzImage and cmdline. On Amazon Linux: dnf install aws-nitro-enclaves-cli-devel; elsewhere take the folder from there and name it with --blobs.`,
    );
  }
  const others = files.filter((file) => file.endsWith(".ko") && file !== "nsm.ko");
  if (others.length > 0)
    throw new Refusal(`this kernel wants modules that the init does not load: ${others.join(", ")}`);
  const read = (file: string): Promise<Buffer> => readFile(path.join(blobs, file));
  return {
    kernel: await read("bzImage"),
    cmdline: Buffer.from((await read("cmdline")).toString("utf8").trim()),
    module: files.includes("nsm.ko") ? await read("nsm.ko") : undefined,
  };
}

async function needsTools(): Promise<void> {
  await run("docker", ["buildx", "version"]).catch(() => {
    throw new Refusal(
      "docker with buildx is needed and was not found: see https://docs.docker.com/engine/install/",
    );
  });
  await run("docker", ["info", "--format", "{{.ServerVersion}}"]).catch(() => {
    throw new Refusal(
      "docker is installed but its daemon does not answer: start it (systemctl start docker)",
    );
  });
  await run("nitro-cli", ["--version"]).catch(() => {
    throw new Refusal(
      "nitro-cli is needed to compare measurements and was not found. On Amazon Linux 2023: dnf install aws-nitro-enclaves-cli aws-nitro-enclaves-cli-devel (no Nitro hardware is needed to build)",
    );
  });
}

/** What was emitted in the container is what these sources emit here: the reviewer reads the same files. */
async function agreesWithSources(image: string, assembly: Assembly): Promise<Measurement> {
  await buildImage(assembly);
  const node = path.join(image, NODE_IN_IMAGE);
  const [built, here] = await Promise.all([
    measureImage(path.join(image, "enclave"), { node }),
    measureImage(assembly.to, { node }),
  ]);
  if (built.pcr0 !== here.pcr0)
    throw new Refusal(
      "the container built other files than these sources give here: run npm run build and look for changes",
    );
  return built;
}

async function run(command: string, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(command, args, { maxBuffer: 1 << 28 })).stdout;
  } catch (error) {
    const { stderr = "" } = error as { readonly stderr?: string };
    throw new Refusal(`${command} ${args[0] ?? ""} failed:\n${stderr.slice(-4_000)}`, { cause: error });
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

async function readPublicKey(file: string): Promise<Buffer> {
  const bytes = await readFile(file);
  const isPem = bytes.subarray(0, 11).toString("latin1") === "-----BEGIN ";
  return isPem ? createPublicKey(bytes).export({ format: "der", type: "spki" }) : bytes;
}

type Parts = "kms-public-key" | "verification-keys" | "configuration";

async function configurationOf(options: { readonly [Part in Parts]?: string }): Promise<string> {
  const { configuration, "kms-public-key": kms, "verification-keys": keyFolder } = options;
  if (configuration !== undefined && kms === undefined && keyFolder === undefined) {
    const text = await readFile(configuration, "utf8");
    await refuseDevelopment(parseConfiguration(text));
    return text;
  }
  if (configuration !== undefined || kms === undefined || keyFolder === undefined)
    throw new Refusal(
      "needed are either --kms-public-key and --verification-keys, or --configuration; see --help",
    );
  return productionConfiguration({ kmsPublicKey: await readPublicKey(kms), keyFolder });
}

function print(result: Record<string, unknown>, asJson: boolean): void {
  const lines = REGISTERS.filter((name) => name in result).map((name) => `${name}  ${String(result[name])}`);
  console.log(asJson ? JSON.stringify(result, null, 2) : lines.join("\n"));
}

async function main(): Promise<void> {
  const text = { type: "string" } as const;
  const { values } = parseArgs({
    options: {
      program: text,
      "kms-public-key": text,
      "verification-keys": text,
      configuration: text,
      blobs: text,
      out: text,
      eif: text,
      expect: text,
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const asJson = values.json === true;
  if (values.eif === undefined) {
    const { blobs = BLOBS, out = "enclave.eif" } = values;
    const program = programNamed(values.program);
    print(await build({ program, configuration: await configurationOf(values), blobs, out }), asJson);
    return;
  }
  const measurement = measureFile(await readFile(values.eif));
  print({ ...measurement, eif: values.eif }, asJson);
  if (values.expect === undefined) return;
  const different = differences(measurement, readRegisters(await readFile(values.expect, "utf8")));
  if (different.length > 0)
    throw new Refusal(`${values.eif} is another image: ${different.join(", ")} differ`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  main().catch((error: unknown) => {
    console.error(`build-image: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  });
}

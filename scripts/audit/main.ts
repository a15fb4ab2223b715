// `npm run audit`: what a reviewer of the enclave checks, in one report: what is in the image and how much of it
// there is to read, that it builds to one measurement, what it pins, and whether a running service is that.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { parseConfiguration, type Configuration } from "../../enclave/configuration.ts";
import type { Measurement } from "../../shared/protocol/attestation-document.ts";
import { KIND_NAMES } from "../../shared/protocol/statements.ts";
import { auditService, type Audited, type Finding, type ServiceAt } from "./service.ts";
import { changedSince, readingOrderOf, vendoredPairings, type Change, type Vendored } from "./reading.ts";
import { lockedPackages, ownFiles, type Package, type SourceFile } from "./source.ts";
import { DEFAULT_FOLDER, runningStack, type NetworkEntry, type StackFile } from "../base/stack-file.ts";
import { buildImage } from "../image/assemble.ts";
import { AWS_NITRO_ROOT, developmentConfiguration, refuseDevelopment } from "../image/configuration.ts";
import {
  imageFiles,
  measureImage,
  PROGRAM_NAMES,
  programNamed,
  type ProgramName,
} from "../image/measurement.ts";
import { readMeasurement } from "../operator/command-line.ts";

const HELP = `Usage: npm run audit [-- OPTIONS]

Prints what a reviewer of the enclave checks: the files of the image in the order of reading, with their lines, what in it
was generated, its packages with their hashes, the measurement of two clean builds in two folders, what the configuration pins, and whether a running service is
that: live attestation documents, signers on the chain and their birth certificates. Ends with 0 only when every
check holds. One program at a time is read; a service that runs both is checked for both.

  --program first|second  which of the two verifiers (default: first)
  --configuration FILE  the image's configuration.json (default: the development configuration)
  --measurement FILE    what the services must run, as \`npm run build-image\` writes it for a Nitro image, whose registers
                        cover more than these sources (default: the measurement of the clean build)
  --other-configuration FILE, --other-measurement FILE
                        the same of the other program, for a service that runs both (default for the local stack: the
                        development configuration, where a pool of it asks for both)
  --url URL             a service to check; as often as there are services. CLOISTER_API_KEY in the environment is an
                        API key of it, any developer's
  --rpc URL             a node of that service's chain, for the signers in its pool; in the order of --url
  --folder PATH         of the local stack, whose services are checked when no --url is given (default ${DEFAULT_FOLDER})
  --since COMMIT        what of the image's files changed since then, with lines added and removed
  --sources             check no service
  --json                one JSON object, last
  --help                this text`;

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Without blanks and comments; the second verifier's own, which its program has beside it, are not counted. */
const MOST_LINES = 1_300;
const MOST_PACKAGES = 2;
const OWN = /^enclave\/(?!second\/)/;

interface Report {
  /** In the order of reading. */
  readonly files: readonly SourceFile[];
  /** Undefined for the second program, which has no such file. */
  readonly vendored: Vendored | undefined;
  /** Undefined when nobody asked. */
  readonly changes: readonly Change[] | undefined;
  readonly packages: readonly Package[];
  readonly measurement: Measurement;
  readonly configuration: Configuration;
  readonly findings: readonly Finding[];
}

interface ExpectedImage {
  readonly program: ProgramName;
  /** Text of configuration.json. */
  readonly configuration: string;
  readonly expected: Measurement | undefined;
}

async function audit(
  configurationText: string,
  services: readonly ServiceAt[],
  {
    program,
    expected,
    other,
    since,
  }: {
    readonly program: ProgramName;
    readonly expected?: Measurement | undefined;
    /** Of the other program, which the services run too. */
    readonly other?: ExpectedImage | undefined;
    readonly since?: string | undefined;
  },
): Promise<Report> {
  const folders = await Promise.all([1, 2].map(async () => mkdtemp(path.join(tmpdir(), "cloister-audit-"))));
  try {
    const measurements: Measurement[] = [];
    for (const folder of folders) {
      await buildImage({ to: folder, configuration: configurationText, program });
      measurements.push(await measureImage(folder));
    }
    const [folder = ""] = folders;
    const [measurement, again] = measurements;
    if (measurement === undefined) throw new Error("nothing was measured");
    const found = await ownFiles(ROOT, folder, await imageFiles(folder));
    const names = found.map(({ file }) => file);
    const order = await readingOrderOf(ROOT, names);
    const files = found.toSorted((a, b) => order.indexOf(a.file) - order.indexOf(b.file));
    const vendored = program === "first" ? await vendoredPairings(ROOT) : undefined;
    const changes = since === undefined ? undefined : await changedSince(ROOT, since, names);
    const packages = await lockedPackages(folder);
    const own = sum(files.filter(({ file }) => OWN.test(file)).map(({ lines }) => lines));
    const configuration = parseConfiguration(configurationText);
    const findings: Finding[] = [
      {
        what: `enclave/ has at most ${String(MOST_LINES)} lines`,
        ok: own <= MOST_LINES,
        detail: `${String(own)} without blanks and comments`,
      },
      {
        what: `at most ${String(MOST_PACKAGES)} packages`,
        ok: packages.length <= MOST_PACKAGES,
        detail: String(packages.length),
      },
      ...(vendored === undefined
        ? []
        : [
            {
              what: `${vendored.file} is what its generator makes`,
              ok: vendored.isReproduced,
              detail: vendored.generators.join(", "),
            },
          ]),
      {
        what: "two clean builds in two folders are one image",
        ok: JSON.stringify(measurement) === JSON.stringify(again),
        detail: measurement.pcr0,
      },
    ];
    const images = [{ configuration, measurement: expected ?? measurement }];
    if (other !== undefined) images.push(await measured(other));
    for (const service of services) findings.push(...(await auditService(service, images)));
    return { files, vendored, changes, packages, measurement, configuration, findings };
  } finally {
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

/** Of what the sources build to, where no measurement is given. */
async function measured({ program, configuration, expected }: ExpectedImage): Promise<Audited> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-audit-"));
  try {
    const parsed = parseConfiguration(configuration);
    if (expected !== undefined) return { configuration: parsed, measurement: expected };
    await buildImage({ to: folder, configuration, program });
    return { configuration: parsed, measurement: await measureImage(folder) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function print({ files, vendored, changes, packages, ...rest }: Report): Promise<void> {
  const { measurement, configuration, findings } = rest;
  const row = ({ file, lines, emittedLines }: SourceFile): string =>
    `  ${file.padEnd(48)}${String(lines).padStart(6)}${String(emittedLines).padStart(9)}`;
  const total = (name: string, chosen: readonly SourceFile[]): SourceFile => ({
    file: name,
    lines: sum(chosen.map(({ lines }) => lines)),
    emittedLines: sum(chosen.map(({ emittedLines }) => emittedLines)),
  });
  const enclave = files.filter(({ file }) => OWN.test(file));
  const second = files.filter(({ file }) => file.startsWith("enclave/second/"));
  const protocol = files.filter(({ file }) => !file.startsWith("enclave/"));
  const development = await developmentPart(configuration);
  const root = configuration.attestationRoot;
  console.log(
    [
      "To read, in this order            lines without blanks and comments: source, as emitted",
      ...files.map(row),
      row(total("enclave/", enclave)),
      ...(second.length === 0 ? [] : [row(total("enclave/second/", second))]),
      row(total("shared/protocol/, what the enclave reaches of it", protocol)),
      row(total("all", files)),
      "",
      ...(vendored === undefined
        ? []
        : [
            "Vendored: generated, and read by nobody",
            `  ${vendored.file}  ${String(vendored.bytes)} bytes, by ${vendored.generators.join(" and ")}`,
            `  SHA-256 ${vendored.sha256}`,
            "",
          ]),
      ...(changes === undefined ? [] : changesText(changes)),
      "Packages in the image",
      ...packages.map(({ name, version, integrity }) => `  ${`${name} ${version}`.padEnd(28)}${integrity}`),
      "",
      "Measurement of a clean build",
      ...(["pcr0", "pcr1", "pcr2"] as const).map((register) => `  ${register}  ${measurement[register]}`),
      "",
      "Pinned by its configuration",
      `  configuration     ${configuration.hash}`,
      `  attestation root  ${root}${root === AWS_NITRO_ROOT ? " (AWS Nitro Enclaves G1)" : ""}`,
      `  KMS key           ${configuration.kmsKeyHash} (SHA-256 of its SPKI; that it is in KMS is the builder's word)`,
      ...KIND_NAMES.map((kind) => `  ${kind.padEnd(16)}  ${configuration.verifyingKeyHashes[kind]}`),
      ...(development === undefined ? [] : [`  For development only: ${development}.`]),
      "",
      "Checks",
      ...findings.map(
        ({ what, ok, detail }) => `  ${ok ? "ok  " : "FAIL"}  ${what}${detail === "" ? "" : `: ${detail}`}`,
      ),
    ].join("\n"),
  );
}

function changesText(changes: readonly Change[]): string[] {
  const count = (lines: number | undefined, sign: string): string =>
    (lines === undefined ? "bytes" : `${sign}${String(lines)}`).padStart(7);
  const rows = changes.map(
    ({ file, added, removed }) => `  ${file.padEnd(48)}${count(added, "+")}${count(removed, "-")}`,
  );
  return ["Changed since", ...(rows.length === 0 ? ["  nothing"] : rows), ""];
}

/** What of it is known to everybody; undefined for a configuration that could be production's. */
async function developmentPart(configuration: Configuration): Promise<string | undefined> {
  try {
    await refuseDevelopment(configuration);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      program: { type: "string" },
      configuration: { type: "string" },
      measurement: { type: "string" },
      "other-configuration": { type: "string" },
      "other-measurement": { type: "string" },
      url: { type: "string", multiple: true },
      rpc: { type: "string", multiple: true },
      folder: { type: "string", default: DEFAULT_FOLDER },
      since: { type: "string" },
      sources: { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const program = programNamed(values.program);
  const configuration =
    values.configuration === undefined
      ? await developmentConfiguration(undefined, program)
      : await readFile(values.configuration, "utf8");
  const stack =
    values.sources === true || values.url !== undefined ? undefined : await runningStack(values.folder);
  const services =
    values.sources === true
      ? []
      : (values.url?.map((baseUrl, i) => ({ baseUrl, apiKey: apiKeyGiven(), rpc: values.rpc?.[i] })) ??
        servicesOf(stack));
  const expected = await measurementIn(values.measurement);
  const otherName = PROGRAM_NAMES.find((name) => name !== program)!;
  const otherText =
    values["other-configuration"] !== undefined
      ? await readFile(values["other-configuration"], "utf8")
      : networksOf(stack).some(({ second_enclave: second }) => second !== undefined)
        ? await developmentConfiguration(undefined, otherName)
        : undefined;
  if (otherText === undefined && values["other-measurement"] !== undefined)
    throw new Error("--other-measurement without --other-configuration; see --help");
  const other: ExpectedImage | undefined =
    otherText === undefined
      ? undefined
      : {
          ...{ program: otherName, configuration: otherText },
          expected: await measurementIn(values["other-measurement"]),
        };
  const report = await audit(configuration, services, { program, expected, other, since: values.since });
  if (values.json === true) {
    const { files, vendored, changes, packages, measurement, findings } = report;
    const { hash, circuitsHash, attestationRoot, kmsKeyHash, verifyingKeyHashes } = report.configuration;
    const pinned = { hash, circuitsHash, attestationRoot, kmsKeyHash, verifyingKeyHashes };
    console.log(
      JSON.stringify({ files, vendored, changes, packages, measurement, configuration: pinned, findings }),
    );
  } else {
    await print(report);
    if (services.length === 0)
      console.log(
        "\nNo service was checked: none runs from here, or only the sources were asked for (see --help).",
      );
  }
  return report.findings.every(({ ok }) => ok) ? 0 : 1;
}

function apiKeyGiven(): string {
  const key = process.env["CLOISTER_API_KEY"];
  if (key === undefined || key === "") throw new Error("CLOISTER_API_KEY is not set; see --help");
  return key;
}

async function measurementIn(file: string | undefined): Promise<Measurement | undefined> {
  return file === undefined ? undefined : readMeasurement(await readFile(file, "utf8"));
}

/** Those of the local stack, if it runs. */
function servicesOf(stack: StackFile | undefined): ServiceAt[] {
  return networksOf(stack).map((network) => ({
    baseUrl: network.base_url,
    apiKey: stack?.api_key ?? "",
    rpc: network.chain_rpc,
    fromBlock: network.deployment_block,
  }));
}

function networksOf(stack: StackFile | undefined): NetworkEntry[] {
  return Object.values(stack?.networks ?? {}).filter((network) => network !== undefined);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main();
  } catch (error) {
    console.error(`audit: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 2;
  }
}

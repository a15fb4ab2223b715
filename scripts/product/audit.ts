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
import { auditService, type Finding, type ServiceAt } from "./audit/service.ts";
import { lockedPackages, ownFiles, type Package, type SourceFile } from "./audit/source.ts";
import { DEFAULT_FOLDER, runningStack } from "./stack-file.ts";
import { buildImage } from "./image/assemble.ts";
import { AWS_NITRO_ROOT, developmentConfiguration, refuseDevelopment } from "./image/configuration.ts";
import { imageFiles, measureImage } from "./image/measurement.ts";
import { readMeasurement } from "./operator/command-line.ts";

const HELP = `Usage: npm run audit [-- OPTIONS]

Prints what a reviewer of the enclave checks: the files and lines of the image, its packages with their hashes, the
measurement of two clean builds in two folders, what the configuration pins, and whether a running service is
that: live attestation documents, signers on the chain and their birth certificates. Ends with 0 only when every
check holds.

  --configuration FILE  the image's configuration.json (default: the development configuration)
  --measurement FILE    what the services must run, as \`npm run build-image\` writes it for a Nitro image, whose registers
                        cover more than these sources (default: the measurement of the clean build)
  --url URL             a service to check; as often as there are services. CLOISTER_API_KEY in the environment is an
                        API key of it, any developer's
  --rpc URL             a node of that service's chain, for the signers in its pool; in the order of --url
  --folder PATH         of the local stack, whose services are checked when no --url is given (default ${DEFAULT_FOLDER})
  --sources             check no service
  --json                one JSON object, last
  --help                this text`;

const ROOT = path.resolve(import.meta.dirname, "../..");
/** Without blanks and comments. */
const MOST_LINES = 1_500;
const MOST_PACKAGES = 6;

interface Report {
  readonly files: readonly SourceFile[];
  readonly packages: readonly Package[];
  readonly measurement: Measurement;
  readonly configuration: Configuration;
  readonly findings: readonly Finding[];
}

async function audit(
  configurationText: string,
  services: readonly ServiceAt[],
  expected?: Measurement,
): Promise<Report> {
  const folders = await Promise.all([1, 2].map(async () => mkdtemp(path.join(tmpdir(), "cloister-audit-"))));
  try {
    const measurements: Measurement[] = [];
    for (const folder of folders) {
      await buildImage({ to: folder, configuration: configurationText });
      measurements.push(await measureImage(folder));
    }
    const [folder = ""] = folders;
    const [measurement, again] = measurements;
    if (measurement === undefined) throw new Error("nothing was measured");
    const files = await ownFiles(ROOT, folder, await imageFiles(folder));
    const packages = await lockedPackages(folder);
    const own = sum(files.filter(({ file }) => file.startsWith("enclave/")).map(({ lines }) => lines));
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
      {
        what: "two clean builds in two folders are one image",
        ok: JSON.stringify(measurement) === JSON.stringify(again),
        detail: measurement.pcr0,
      },
    ];
    for (const service of services) {
      findings.push(
        ...(await auditService(service, { configuration, measurement: expected ?? measurement })),
      );
    }
    return { files, packages, measurement, configuration, findings };
  } finally {
    await Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true })));
  }
}

async function print({ files, packages, measurement, configuration, findings }: Report): Promise<void> {
  const row = ({ file, lines, emittedLines }: SourceFile): string =>
    `  ${file.padEnd(48)}${String(lines).padStart(6)}${String(emittedLines).padStart(9)}`;
  const total = (name: string, chosen: readonly SourceFile[]): SourceFile => ({
    file: name,
    lines: sum(chosen.map(({ lines }) => lines)),
    emittedLines: sum(chosen.map(({ emittedLines }) => emittedLines)),
  });
  const enclave = files.filter(({ file }) => file.startsWith("enclave/"));
  const protocol = files.filter(({ file }) => !file.startsWith("enclave/"));
  const development = await developmentPart(configuration);
  const root = configuration.attestationRoot;
  console.log(
    [
      "Own files in the image            lines without blanks and comments: source, as emitted",
      ...[...enclave, ...protocol].map(row),
      row(total("enclave/", enclave)),
      row(total("shared/protocol/, what the enclave reaches of it", protocol)),
      row(total("all", files)),
      "",
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
      configuration: { type: "string" },
      measurement: { type: "string" },
      url: { type: "string", multiple: true },
      rpc: { type: "string", multiple: true },
      folder: { type: "string", default: DEFAULT_FOLDER },
      sources: { type: "boolean" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return 0;
  }
  const configuration =
    values.configuration === undefined
      ? await developmentConfiguration()
      : await readFile(values.configuration, "utf8");
  const services =
    values.sources === true
      ? []
      : values.url !== undefined
        ? values.url.map((baseUrl, i) => ({ baseUrl, apiKey: apiKeyGiven(), rpc: values.rpc?.[i] }))
        : await localServices(values.folder);
  const expected =
    values.measurement === undefined
      ? undefined
      : readMeasurement(await readFile(values.measurement, "utf8"));
  const report = await audit(configuration, services, expected);
  if (values.json === true) {
    const { files, packages, measurement, findings } = report;
    const { hash, circuitsHash, attestationRoot, kmsKeyHash, verifyingKeyHashes } = report.configuration;
    const pinned = { hash, circuitsHash, attestationRoot, kmsKeyHash, verifyingKeyHashes };
    console.log(JSON.stringify({ files, packages, measurement, configuration: pinned, findings }));
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

/** Those of the local stack, if it runs. */
async function localServices(folder: string): Promise<ServiceAt[]> {
  const stack = await runningStack(folder);
  const networks = Object.values(stack?.networks ?? {}).filter((network) => network !== undefined);
  return networks.map((network) => ({
    baseUrl: network.base_url,
    apiKey: stack?.api_key ?? "",
    rpc: network.chain_rpc,
    fromBlock: network.deployment_block,
  }));
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

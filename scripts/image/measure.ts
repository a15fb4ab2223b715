// `npm run measure`: the measurement of the enclave's image, from a clean build of the sources.
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildImage } from "./assemble.ts";
import { developmentConfiguration } from "./configuration.ts";
import { imageFiles, measureImage, programNamed } from "./measurement.ts";

const HELP = `Usage: npm run measure -- [--program first|second] [--configuration FILE] [--json]

Compiles the enclave from its sources into a folder of its own, puts the image together there, and prints its
measurement (see enclave/README.md).

  --program first|second which of the two verifiers (default: first)
  --configuration FILE   the image's configuration.json (default: the development configuration)
  --json                 all three registers and the list of files
  --help                 this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      program: { type: "string" },
      configuration: { type: "string" },
      json: { type: "boolean" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  const program = programNamed(values.program);
  const configuration =
    values.configuration === undefined
      ? await developmentConfiguration(undefined, program)
      : await readFile(values.configuration, "utf8");
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-measure-"));
  try {
    await buildImage({ to: folder, configuration, program });
    const measurement = await measureImage(folder);
    console.log(
      values.json === true
        ? JSON.stringify({ ...measurement, files: await imageFiles(folder) })
        : measurement.pcr0,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

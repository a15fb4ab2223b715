/** `npm run examples`: asks a stack of its own and writes what it was asked and answered into the OpenAPI document's examples. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { format, resolveConfig } from "prettier";
import { developmentProver } from "../../shared/client/node/development.ts";
import { startStack } from "../stack/local-stack.ts";
import { IDENTITY_SETTINGS } from "../stack/example-identity.ts";
import { Parties } from "../base/parties.ts";
import { ROOMY_KEYS } from "../stack/proxy-settings.ts";
import { playExamples } from "./play.ts";

const HELP = `Usage: npm run examples [-- --help]

Starts both networks, the first with its bridges, in a folder of their own, asks each endpoint with real proofs, and writes requests and answers
into shared/api/examples.json, where the OpenAPI document takes its examples from. Stops and forgets the networks.
Takes about two minutes; run it after a change of the interface, of the circuits or of the contracts.`;

const FILE = fileURLToPath(new URL("../../shared/api/examples.json", import.meta.url));
const FREE = { proxy: 0, chain: 0 };

async function record(parties: Parties): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-examples-"));
  parties.add({ stop: () => rm(folder, { recursive: true, force: true }) });
  const prover = await developmentProver();
  parties.add({ stop: () => prover.close() });
  const stack = parties.add(
    await startStack({
      folder,
      ports: { first: FREE, second: FREE },
      bridges: true,
      proxySettings: { ...ROOMY_KEYS, ...IDENTITY_SETTINGS },
      say: console.log,
    }),
  );
  const text = JSON.stringify(await playExamples(stack, prover));
  const style = await resolveConfig(FILE);
  await writeFile(FILE, await format(text, { ...style, parser: "json" }));
  console.log(`Wrote ${FILE}.`);
  await parties.stop();
}

const { values } = parseArgs({ options: { help: { type: "boolean", short: "h" } } });
if (values.help === true) console.log(HELP);
else await Parties.start(record);

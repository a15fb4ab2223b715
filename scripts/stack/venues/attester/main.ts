// The attester as a program: the third party that watches for messages and signs them. What it protects here is worth
// nothing; that it alone holds its keys is what the programs around it must cope with.
import { parseArgs } from "node:util";
import { z } from "zod";
import { serveJson } from "../json-server.ts";
import { portShape } from "../shapes.ts";
import { answerAttester } from "./api.ts";
import { runAttester } from "./attester.ts";
import { readSettings } from "./settings.ts";

const HELP = `Usage: node --import tsx scripts/stack/venues/attester/main.ts --folder <dir> --settings <file> [--port <n>]

Runs the attester of the local chains and prints one line of JSON when it listens: url. Ends on SIGINT and SIGTERM.

  --folder <dir>      its keys (made at the first start) and its book
  --settings <file>   JSON: the chains that it follows, fees, finality (see settings.ts)
  --port <n>          default: a free one
  --help              this text`;

const argsShape = z.object({ folder: z.string().min(1), settings: z.string().min(1), port: portShape });

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      folder: { type: "string" },
      settings: { type: "string" },
      port: { type: "string", default: "0" },
      help: { type: "boolean" },
    },
  });
  const args = argsShape.safeParse(values);
  if (values.help === true || !args.success) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const { folder, settings, port } = args.data;
  const attester = await runAttester(folder, await readSettings(settings), (domain, error) =>
    report(`domain ${String(domain)}`, error),
  );
  const server = await serveJson({
    port,
    answer: (request) => answerAttester(attester, request),
    onFault: (error) => report("request", error),
  });
  const stop = (): void =>
    void server
      .close()
      .then(() => attester.stop())
      .then(() => process.exit(0));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  console.log(JSON.stringify({ url: server.url }));
}

function report(where: string, error: unknown): void {
  console.error(`attester: ${where}: ${error instanceof Error ? error.message : String(error)}`);
}

main().catch((error: unknown) => {
  report("start", error);
  process.exit(1);
});

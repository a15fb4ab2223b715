// The perpetuals exchange as a program: accounts, ledger and both doors, without the trading. Worth nothing; what
// talks to it meets the real one's rules.
import { parseArgs } from "node:util";
import { z } from "zod";
import { serveJson } from "../json-server.ts";
import { portShape } from "../shapes.ts";
import { answerExchange } from "./api.ts";
import { runExchange } from "./exchange.ts";
import { readSettings } from "./settings.ts";

const HELP = `Usage: node --import tsx scripts/stack/venues/exchange/main.ts --folder <dir> --settings <file> [--port <n>]

Runs the local exchange and prints one line of JSON when it listens: url. Ends on SIGINT and SIGTERM.

  --folder <dir>      its keys (made when first asked for) and its state
  --settings <file>   JSON: its chains, contracts and fees (see settings.ts)
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
  const exchange = await runExchange(folder, await readSettings(settings), report);
  const server = await serveJson({
    port,
    answer: (request) => answerExchange(exchange, request),
    onFault: (error) => report("request", error),
  });
  const stop = (): void =>
    void server
      .close()
      .then(() => exchange.stop())
      .then(() => process.exit(0));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  console.log(JSON.stringify({ url: server.url }));
}

function report(where: string, error: unknown): void {
  console.error(`exchange: ${where}: ${error instanceof Error ? error.message : String(error)}`);
}

main().catch((error: unknown) => {
  report("start", error);
  process.exit(1);
});

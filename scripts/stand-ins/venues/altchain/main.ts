/** The other blockchain as a program of its own; says in one line of JSON where it listens. */
import { parseArgs } from "node:util";
import { TOKEN_PROGRAM } from "../../../../shared/altchain/token.ts";
import { TOKEN_DECIMALS } from "./genesis.ts";
import { startAltchain } from "./server.ts";

const HELP = `Usage: node --import tsx scripts/stand-ins/venues/altchain/main.ts --folder <path> [--port <n>] [--slot-ms <n>]

Runs the local chain of the other kind, with a token mint in it, and prints one line of JSON when it listens: url,
mint, decimals, program. JSON-RPC is at /, what only a local chain can do at /dev/mint, /dev/slots, /dev/reorganise.
Goes on where it was when the folder has a chain already. Ends on SIGINT and SIGTERM.

  --folder <path>   where the chain is kept
  --port <n>        default: a free one
  --slot-ms <n>     length of a slot, default 400; 0: only /dev/slots makes slots pass
  --help            this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      folder: { type: "string" },
      port: { type: "string" },
      "slot-ms": { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true || values.folder === undefined) {
    console.log(HELP);
    process.exitCode = values.help === true ? 0 : 2;
    return;
  }
  const slotMs = values["slot-ms"];
  const altchain = await startAltchain({
    folder: values.folder,
    port: Number(values.port ?? "0"),
    ...(slotMs === undefined ? {} : { slotMs: Number(slotMs) }),
  });
  const stop = (): void => void altchain.close().then(() => process.exit(0));
  process.once("SIGINT", stop).once("SIGTERM", stop);
  const { url, mint } = altchain;
  console.log(JSON.stringify({ url, mint, decimals: TOKEN_DECIMALS, program: TOKEN_PROGRAM }));
}

main().catch((error: unknown) => {
  console.error(`altchain: ${error instanceof Error ? error.message : String(error)}`);
  process.exit(1);
});

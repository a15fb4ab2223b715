// `npm start`: the whole service on this machine, until Ctrl-C. A second start resumes the first.
import path from "node:path";
import { parseArgs } from "node:util";
import {
  DEFAULT_CHAIN_PORT,
  DEFAULT_FOLDER,
  DEFAULT_PORT,
  startStack,
  type Stack,
} from "./dev/local-stack.ts";
import { StackError } from "./dev/stack-folder.ts";

const HELP = `Usage: npm start -- [options]

Runs the whole service on this machine with real parts: a local EVM chain with the pool and a test USDC, the
enclave on a simulated platform, and the proxy. Resumes what an earlier start left in its folder. Stop with
Ctrl-C.

  --fresh              begin anew: forget chain, accounts, keys and tickets
  --network first      which network to run; the second comes with the swap issue
  --port <n>           port of the proxy (default ${String(DEFAULT_PORT)}, or a free one when that is taken)
  --chain-port <n>     port of the chain's RPC (default ${String(DEFAULT_CHAIN_PORT)}, or a free one when that is taken)
  --block-time <secs>  seconds between blocks (default 1)
  --folder <path>      where everything is kept (default ${DEFAULT_FOLDER})
  --help               this text

DEVELOPMENT ONLY: its chain, its keys and its enclave protect no money.`;

interface Arguments {
  readonly fresh: boolean;
  readonly folder: string;
  readonly port: number | undefined;
  readonly chainPort: number | undefined;
  readonly blockTimeSecs: number | undefined;
}

async function main(): Promise<number> {
  const options = readArguments();
  if (options === undefined) return 2;
  if (options === "help") {
    console.log(HELP);
    return 0;
  }
  let interrupt: () => void = () => undefined;
  const interrupted = new Promise<"interrupted">((resolve) => (interrupt = () => resolve("interrupted")));
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);

  const { fresh, folder, port, chainPort, blockTimeSecs } = options;
  const stack = await startStack({
    folder,
    fresh,
    say: console.log,
    ...(port === undefined ? {} : { port }),
    ...(chainPort === undefined ? {} : { chainPort }),
    ...(blockTimeSecs === undefined ? {} : { blockTimeSecs }),
  });
  console.log(banner(stack));
  const why = await Promise.race([interrupted, stack.failed]);
  console.log(why === "interrupted" ? "\nStopping; npm start resumes." : `\nStopping, because ${why}`);
  await stack.stop();
  return why === "interrupted" ? 0 : 1;
}

function banner({ file, folder }: Stack): string {
  const { base_url, chain_rpc, pool, usdc } = file.networks.first;
  const elsewhere = folder.path === path.resolve(DEFAULT_FOLDER) ? "" : ` -- --folder ${folder.path}`;
  return `
Cloister is running. DEVELOPMENT ONLY: nothing here protects real money.

  HTTP interface  ${base_url}
  API key         ${file.api_key}
  chain RPC       ${chain_rpc}
  pool            ${pool}
  test USDC       ${usdc}   (anyone may call mint(address,uint256))
  state           ${folder.path}   (addresses in stack.json, logs in first/logs)

Try:
  npm run demo${elsewhere}
  curl -H 'X-API-Key: ${file.api_key}' ${base_url}/info
  curl -H 'X-API-Key: ${file.api_key}' ${base_url}/merkle/root
  curl -N -H 'X-API-Key: ${file.api_key}' ${base_url}/events/stream

Ctrl-C stops everything in order.`;
}

function readArguments(): Arguments | "help" | undefined {
  try {
    const { values } = parseArgs({
      options: {
        fresh: { type: "boolean", default: false },
        network: { type: "string", default: "first" },
        port: { type: "string" },
        "chain-port": { type: "string" },
        "block-time": { type: "string" },
        folder: { type: "string", default: DEFAULT_FOLDER },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return "help";
    if (values.network !== "first")
      throw new Error(`--network ${values.network}: only first can be run so far`);
    return {
      fresh: values.fresh,
      folder: values.folder,
      port: wholeNumber(values.port, "--port", 0, 65_535),
      chainPort: wholeNumber(values["chain-port"], "--chain-port", 0, 65_535),
      blockTimeSecs: wholeNumber(values["block-time"], "--block-time", 1, 60),
    };
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${HELP}`);
    return undefined;
  }
}

function wholeNumber(
  text: string | undefined,
  option: string,
  least: number,
  most: number,
): number | undefined {
  if (text === undefined) return undefined;
  const value = /^[0-9]{1,5}$/.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  throw new Error(`${option} must be a whole number from ${String(least)} to ${String(most)}`);
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    // A StackError is meant for the person at the keyboard; anything else shows where it came from.
    console.error(error instanceof StackError ? error.message : error);
    process.exit(1);
  },
);

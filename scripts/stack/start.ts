// `npm start`: the whole service on this machine, until Ctrl-C. A second start resumes the first.
import path from "node:path";
import { startReference } from "../../proxy/base/http/reference.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { interruption, runStackCommand } from "./command.ts";
import {
  EXAMPLE_APP,
  IDENTITY_SETTINGS,
  startExampleIdentity,
  type ExampleIdentity,
} from "./example-identity.ts";
import { liarOf } from "./liar.ts";
import { startLocalDashboard, type LocalDashboard } from "./local-dashboard.ts";
import { startStack, type Stack } from "./local-stack.ts";
import { NETWORKS, portOption } from "./networks.ts";
import { Parties } from "../base/parties.ts";
import { startWalletPage, type WalletPage } from "./wallet-page.ts";
import { DEFAULT_FOLDER, NETWORK_NAMES, type NetworkName } from "../base/stack-file.ts";

/** On one machine: each is a process that keeps a processor busy. */
const MOST_ENCLAVES = 8;

const portHelp = (name: NetworkName): string =>
  `${String(NETWORKS[name].port)} and ${String(NETWORKS[name].chainPort)}`;

const HELP = `Usage: npm start -- [options]

Runs the whole service on this machine with real parts. Two networks, each with its own EVM chain, pool,
enclave (on a simulated platform) and proxy: the first for payments and bridges, with two more chains, an exchange, another
blockchain and an attester in processes of their own; the second also for private swaps, with Uniswap v3 and liquidity
on its chain. Resumes what an earlier start left in its folder. Stop with Ctrl-C.

  --fresh                  begin again: forget chains, accounts, keys and tickets
  --network first|second   run this one only
  --port <n>               port of the first network's proxy
  --chain-port <n>         port of the first network's chain
  --second-port <n>        port of the second network's proxy
  --second-chain-port <n>  port of the second network's chain
  --identity               an example identity provider with a registered app, for /session/exchange
  --no-dashboard           without the dashboard of the first network that runs
  --dashboard-port <n>     its port (default 8791, or a free one where that is taken)
  --no-bridges             without bridges on the first network: two chains and three venues less
  --no-pages               without the example wallet's page and the server of its sessions
  --operations             metrics and probes of each proxy, on free ports of the loopback address
  --block-time <secs>      seconds between blocks (default 1)
  --liar <seed>            nodes, attester and exchange lie to the services by chance, and the chain has two nodes; what
                           they did is said at the end. 0: another seed each time, which is said
  --threshold <n>          enclaves that must sign: each network runs so many, and its pool asks for an attestation of
                           each. Fixed when the pool is deployed (default: as it was made, 1 for a new one)
  --folder <path>          where everything is kept (default ${DEFAULT_FOLDER})
  --help                   this text

Ports are ${portHelp("first")} (first), ${portHelp("second")} (second), or free ones where those are
taken; 0 means a free one.

DEVELOPMENT ONLY: its chains, its keys and its enclaves protect no money.`;

const COMMAND = {
  help: HELP,
  options: {
    fresh: { type: "boolean", default: false },
    network: { type: "string" },
    port: { type: "string" },
    "chain-port": { type: "string" },
    "second-port": { type: "string" },
    "second-chain-port": { type: "string" },
    "block-time": { type: "string" },
    liar: { type: "string" },
    threshold: { type: "string" },
    operations: { type: "boolean", default: false },
    identity: { type: "boolean", default: false },
    "no-bridges": { type: "boolean", default: false },
    "no-dashboard": { type: "boolean", default: false },
    "dashboard-port": { type: "string" },
    "no-pages": { type: "boolean", default: false },
    folder: { type: "string", default: DEFAULT_FOLDER },
    help: { type: "boolean" },
  },
} as const;

await runStackCommand(COMMAND, async ({ values }) => {
  const networks = networksOf(values.network);
  const port = (of: NetworkName, what: "port" | "chain-port"): number | undefined => {
    const option = portOption(of, what);
    if (values[option] !== undefined && !networks.includes(of))
      throw new UsageError(`--${option} is for the ${of} network, which is not to run`);
    const given = values[option];
    return given === undefined ? undefined : wholeNumber(`--${option}`, given, 0, 65_535);
  };
  const portsOf = (name: NetworkName) => ({ proxy: port(name, "port"), chain: port(name, "chain-port") });
  const options = {
    ...{ fresh: values.fresh, folder: values.folder, networks, bridges: !values["no-bridges"] },
    ports: { first: portsOf("first"), second: portsOf("second") },
    blockTimeSecs: wholeNumber("--block-time", values["block-time"] ?? "1", 1, 60),
    size: {
      threshold:
        values.threshold === undefined
          ? undefined
          : wholeNumber("--threshold", values.threshold, 1, MOST_ENCLAVES),
    },
    proxySettings: {
      // The operator's screen asks there.
      ...(values.operations || !values["no-dashboard"] ? { CLOISTER_OPERATIONS_PORT: "0" } : {}),
      ...(values.identity ? IDENTITY_SETTINGS : {}),
    },
  };
  const liar = values.liar === undefined ? undefined : liarOf(values.liar);
  const interrupted = interruption();
  return Parties.start(async (parties) => {
    if (liar !== undefined) parties.add(liar);
    const stack = parties.add(await startStack({ ...options, liar, say: console.log }));
    const identity = values.identity ? parties.add(await startExampleIdentity(stack)) : undefined;
    if (identity !== undefined)
      parties.watch(identity.ended, (how) => `the identity provider ended (${how})`);
    const dashboard = await startDashboard(values, stack);
    if (dashboard !== undefined) {
      parties.add(dashboard);
      parties.watch(dashboard.ended, (how) => `the dashboard ended (${how})`);
    }
    const reference = await startReference("127.0.0.1", 0);
    parties.add({ stop: () => reference.stop(0) });
    const wallet = values["no-pages"] ? undefined : parties.add(await startWalletPage(stack));
    const besides = { identity, dashboard, wallet, showOperations: values.operations };
    console.log(banner(stack, reference.port, besides));
    const why = await Promise.race([interrupted, stack.failed, parties.failed]);
    const isWanted = why === "interrupted";
    console.log(isWanted ? "\nStopping; npm start resumes." : `\nStopping, because ${why}`);
    await parties.stop();
    if (liar !== undefined) console.log(`Lies, seed ${String(liar.seed)}: ${liar.told()}`);
    return isWanted ? 0 : 1;
  });
});

interface Besides {
  readonly identity: ExampleIdentity | undefined;
  readonly dashboard: LocalDashboard | undefined;
  readonly wallet: WalletPage | undefined;
  readonly showOperations: boolean;
}

async function startDashboard(
  values: { readonly "no-dashboard": boolean; readonly "dashboard-port"?: string | undefined },
  { networks }: Stack,
): Promise<LocalDashboard | undefined> {
  const port = values["dashboard-port"];
  const [first] = networks;
  if (values["no-dashboard"] || first === undefined) return undefined;
  return startLocalDashboard(
    first,
    port === undefined ? undefined : wholeNumber("--dashboard-port", port, 0, 65_535),
  );
}

function banner(
  { file, folder, networks }: Stack,
  referencePort: number,
  { identity, dashboard, wallet, showOperations }: Besides,
): string {
  const elsewhere = folder.path === path.resolve(DEFAULT_FOLDER) ? "" : ` -- --folder ${folder.path}`;
  const addresses = networks.map(({ name, entry }) => {
    const what = NETWORKS[name].swaps ? "payments and private swaps" : "payments";
    return `  ${`${name} network`.padEnd(15)} ${entry.base_url}   ${what}`;
  });
  const operations = networks.flatMap((network) => {
    const url = network.operationsUrl();
    return url === undefined || !showOperations
      ? []
      : [`\n  operations      ${url}/metrics   (${network.name}; also /live and /ready)`];
  });
  const signIn =
    identity === undefined
      ? ""
      : `\n  identity        ${identity.issuer}   (app ${EXAMPLE_APP}; a token: npm run --silent sign-in -- user-1${elsewhere.replace(" --", "")})`;
  const people =
    dashboard === undefined
      ? ""
      : `
  dashboard       ${dashboard.origin}   (passkeys; these links are good once, for a day)
    developer     ${dashboard.invitations.developer}
    operator      ${dashboard.invitations.operator}`;
  const walletPage =
    wallet === undefined
      ? ""
      : `\n  wallet page     ${wallet.url}   (an example to copy: scripts/wallet-page/README.md)`;
  const key = `-H 'X-API-Key: ${file.api_key}'`;
  const first = networks[0]?.entry.base_url ?? "";
  return `
Cloister is running. DEVELOPMENT ONLY: nothing here protects real money.

${addresses.join("\n")}${walletPage}
  API key         ${file.api_key}   (60 requests a minute, 10,000 a day, as every developer's)
  reference page  http://127.0.0.1:${String(referencePort)}   (every endpoint; asks for no key, so give it none)${operations.join("")}${signIn}${people}
  state           ${folder.path}   (every address in stack.json; logs in <network>/logs)

Try:
  npm run demo${elsewhere}
  curl ${key} ${first}/info
  curl ${key} ${first}/merkle/root
  curl -N ${key} ${first}/events/stream

Ctrl-C stops everything in order.`;
}

function networksOf(text: string | undefined): readonly NetworkName[] {
  if (text === undefined) return NETWORK_NAMES;
  const chosen = NETWORK_NAMES.filter((name) => name === text);
  if (chosen.length === 1) return chosen;
  throw new UsageError(`--network takes ${NETWORK_NAMES.join(" or ")}`);
}

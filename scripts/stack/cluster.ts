// `npm run cluster`: an instance with several proxies and enclaves around one Redis on this machine, until Ctrl-C.
import { parseArgs } from "node:util";
import { interruption } from "./command.ts";
import { startCluster } from "./local-cluster.ts";
import { UsageError, wholeNumber } from "../base/command.ts";
import { StackError } from "../base/stack-file.ts";

const FOLDER = ".cloister-cluster";
const MOST = 16;

const HELP = `Usage: npm run cluster -- [options]

Runs the first network as a large instance does: several proxies behind a load balancer, several enclaves with a key
each, and one durable Redis that holds what the proxies share. Any proxy serves any request; one of them submits, and
another goes on when it dies. Resumes what an earlier start left in its folder. Needs redis-server (Debian: apt
install redis-server). Stop with Ctrl-C.

  --proxies <n>      (default 3)
  --enclaves <n>     (default 2)
  --threshold <n>    of how many enclaves the pool wants an attestation; fixed when the pool is deployed (default: as
                     the folder's pool was made, 1 for a new one)
  --fresh            begin again: forget chain, accounts, keys and tickets
  --port <n>         port of the balancer
  --chain-port <n>   port of the chain
  --folder <path>    where everything is kept (default ${FOLDER})
  --help             this text

DEVELOPMENT ONLY: its chain, its keys and its enclaves protect no money.`;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      proxies: { type: "string", default: "3" },
      enclaves: { type: "string", default: "2" },
      threshold: { type: "string" },
      fresh: { type: "boolean", default: false },
      port: { type: "string" },
      "chain-port": { type: "string" },
      folder: { type: "string", default: FOLDER },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const proxies = wholeNumber("--proxies", values.proxies, 1, MOST);
  const enclaves = wholeNumber("--enclaves", values.enclaves, 1, MOST);
  const threshold =
    values.threshold === undefined ? undefined : wholeNumber("--threshold", values.threshold, 1, enclaves);
  const port = (name: string, text: string | undefined): number | undefined =>
    text === undefined ? undefined : wholeNumber(name, text, 0, 65_535);

  const interrupted = interruption();
  const cluster = await startCluster({
    folder: values.folder,
    size: { proxies, enclaves, threshold },
    fresh: values.fresh,
    ports: { proxy: port("--port", values.port), chain: port("--chain-port", values["chain-port"]) },
    say: console.log,
  });
  const { base_url: url } = cluster.network.entry;
  console.log(
    [
      "",
      "The cluster is running. DEVELOPMENT ONLY: nothing here protects real money.",
      "",
      `  balancer  ${url}`,
      ...Array.from({ length: proxies }, (_, i) => {
        const { pid, ready } = cluster.network.proxy(i);
        return `  proxy ${String(i + 1)}   http://127.0.0.1:${String(ready["port"])}   process ${String(pid)}`;
      }),
      `  API key   ${cluster.stack.file.api_key}`,
      "",
      "Try, and kill a proxy in between:",
      `  curl -H 'X-API-Key: ${cluster.stack.file.api_key}' ${url}/health`,
      "",
      "Ctrl-C stops everything in order.",
    ].join("\n"),
  );
  const why = await Promise.race([interrupted, cluster.failed]);
  if (why !== "interrupted") {
    // To survive that is what the others are there for.
    console.error(`${why}; the others go on`);
    await interrupted;
  }
  await cluster.stop();
  return 0;
}

try {
  process.exitCode = await main();
} catch (error) {
  const isForUser =
    error instanceof UsageError ||
    error instanceof StackError ||
    (error instanceof TypeError && "code" in error);
  console.error(isForUser ? error.message : error);
  process.exitCode = isForUser ? 2 : 1;
}

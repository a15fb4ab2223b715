// One network of the local stack, each party in a process of its own: a chain, the enclave on its simulated
// platform, the proxy. Everything it knows is in its folder, so that a second start resumes the first.
// Development only.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { getAddress } from "ethers";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/enclave-messages.ts";
import { startAnvil, type Anvil } from "./anvil.ts";
import { enclaveSigner } from "./enclave-signer.ts";
import { settleContracts } from "./local-contracts.ts";
import { NETWORKS, type NetworkName } from "./networks.ts";
import { localProxySettings } from "./proxy-settings.ts";
import { startService, type Service } from "./service.ts";
import type { Deployment, NetworkEntry, NetworkFolder } from "./stack-folder.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Seed of the wallet that receives the service's fees. */
export const SERVICE_WALLET_SECRET = "service-wallet.seed";

export interface LocalNetworkOptions {
  readonly name: NetworkName;
  readonly folder: NetworkFolder;
  readonly ports: { readonly proxy: number; readonly chain: number };
  /** Under which the API key is in this network's store. */
  readonly pepperFile: string;
  /** Seconds between blocks. */
  readonly blockTimeSecs: number;
  /** More settings for the proxy. */
  readonly proxySettings: Readonly<Record<string, string>>;
  readonly say: (text: string) => void;
}

export interface LocalNetwork {
  readonly name: NetworkName;
  /** What stack.json says of it. */
  readonly entry: NetworkEntry;
  readonly folder: NetworkFolder;
  readonly chain: Anvil;
  readonly enclave: Service;
  proxy(): Service;
  /** Starts the proxy again after it was stopped or killed, on the same data. */
  restartProxy(): Promise<void>;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;
  /** Proxy first, so that nothing is accepted that could not be carried out; the chain last. */
  stop(): Promise<void>;
}

export async function startLocalNetwork(options: LocalNetworkOptions): Promise<LocalNetwork> {
  const { name, folder, say } = options;
  const { chainId, addressPrefix } = NETWORKS[name];
  const started: { stop(): Promise<void> }[] = [];
  const stopAll = async (): Promise<void> => {
    for (const party of started.splice(0).reverse()) await party.stop();
  };
  try {
    const existing = await folder.readDeployment();
    await folder.secrets.file("owner.key"); // makes the folder
    const chain = await startAnvil({
      port: options.ports.chain,
      chainId,
      stateFile: folder.inside("chain-state.json"),
      // A new chain makes its blocks at once until everything is deployed.
      ...(existing === undefined ? {} : { blockTimeSecs: options.blockTimeSecs }),
      // A crash of this supervisor loses at most this much of the chain.
      args: ["--state-interval", "15"],
    });
    started.push(chain);
    say(`chain    ${chain.url} (chain id ${String(chainId)})`);

    const enclave = await startEnclave(folder);
    started.push(enclave);
    const vsockPath = String(enclave.ready["vsockPath"]);
    const signer = await enclaveSigner(vsockPath);
    say(`enclave  signs as ${getAddress(signer)}, a key of this start`);

    const deployment = await settleContracts({ ...options, chain, existing, signer });
    say(`pool     ${getAddress(deployment.pool)}${existing === undefined ? ", deployed" : ", resumed"}`);

    const serviceAddress = SpendingKey.fromSeed(
      mustFromHex(await folder.secrets.text(SERVICE_WALLET_SECRET)),
    ).viewing.addressText(addressPrefix);
    const settings = {
      ...(await localProxySettings({ ...options, chain, deployment, serviceAddress })),
      CLOISTER_ENCLAVES: `unix:${vsockPath}:${String(ENCLAVE_PORT)}`,
      ...options.proxySettings,
    };
    let proxy = await startProxy(folder, settings);
    started.push({ stop: () => proxy.stop() });
    const baseUrl = `http://127.0.0.1:${String(options.ports.proxy)}`;
    say(`proxy    ${baseUrl}`);

    let fail: (what: string) => void = () => undefined;
    const failed = new Promise<string>((resolve) => (fail = resolve));
    let stopping = false;
    const watch = (service: Service): void => {
      void service.ended.then((how) => {
        if (!stopping && (service === enclave || service === proxy))
          fail(`the ${service.name} of the ${name} network ended (${how}); see ${folder.log(service.name)}`);
      });
    };
    watch(enclave);
    watch(proxy);
    void chain.ended.then(() => {
      if (!stopping) fail(`the chain of the ${name} network ended`);
    });
    return {
      name,
      entry: entryOf(deployment, { baseUrl, rpc: chain.url, addressPrefix, serviceAddress, signer }),
      folder,
      chain,
      enclave,
      proxy: () => proxy,
      restartProxy: async () => {
        proxy = await startProxy(folder, settings);
        watch(proxy);
      },
      failed,
      stop: async () => {
        stopping = true;
        await stopAll();
      },
    };
  } catch (error) {
    await stopAll();
    throw error;
  }
}

function entryOf(
  { chain_id, pool, deployment_block, tokens, swaps }: Deployment,
  at: {
    readonly baseUrl: string;
    readonly rpc: string;
    readonly addressPrefix: string;
    readonly serviceAddress: string;
    readonly signer: string;
  },
): NetworkEntry {
  const shown = tokens.map((token) => ({ ...token, address: getAddress(token.address) }));
  return {
    base_url: at.baseUrl,
    chain_rpc: at.rpc,
    chain_id,
    pool: getAddress(pool),
    usdc: shown[0]?.address ?? "",
    deployment_block,
    address_prefix: at.addressPrefix,
    service_address: at.serviceAddress,
    enclave_signer: getAddress(at.signer),
    tokens: shown,
    ...(swaps === undefined
      ? {}
      : {
          swaps: {
            executor: getAddress(swaps.executor),
            factory: getAddress(swaps.factory),
            quoter: getAddress(swaps.quoter),
            position_manager: getAddress(swaps.position_manager),
          },
        }),
  };
}

function startEnclave(folder: NetworkFolder): Promise<Service> {
  return startService({
    name: "enclave",
    command: process.execPath,
    args: [
      "--import",
      import.meta.resolve("tsx"),
      path.join(ROOT, "scripts", "dev", "simulated-platform.ts"),
      "--folder",
      folder.inside("enclave"),
    ],
    env: childEnvironment(),
    logFile: folder.log("enclave"),
    isReady: (line) => typeof line["vsockPath"] === "string",
  });
}

function startProxy(folder: NetworkFolder, settings: Readonly<Record<string, string>>): Promise<Service> {
  return startService({
    name: "proxy",
    command: process.execPath,
    args: ["--import", import.meta.resolve("tsx"), path.join(ROOT, "proxy", "main.ts")],
    env: { ...childEnvironment(), ...settings },
    logFile: folder.log("proxy"),
    isReady: (line) => line["msg"] === "listening",
  });
}

/** What a Node program needs from the surroundings, and nothing else: no credential of the developer's shell gets in. */
function childEnvironment(): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of ["PATH", "HOME", "TMPDIR", "NODE_V8_COVERAGE"]) {
    const value = process.env[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

// One network of the local stack, each party in a process of its own: a chain, the enclave on its simulated
// platform, the proxy. Everything it knows is in its folder, so that a second start resumes the first.
// Development only.
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { getAddress } from "ethers";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { createHash, X509Certificate } from "node:crypto";
import { devNull } from "node:os";
import { createLink } from "../../proxy/enclave-link/link.ts";
import type { SignerPair } from "../../proxy/enclave-link/signer-pair.ts";
import { developmentConfiguration } from "../product/image/configuration.ts";
import type { Measurement } from "../product/image/measurement.ts";
import { startBalancer } from "./balancer.ts";
import { startAnvil, type Anvil } from "./anvil.ts";
import { keptOrNewPair, type KnownImage } from "./development-signer.ts";
import { DEVELOPMENT_CREDENTIAL, DEVELOPMENT_REGION } from "./kms/signature.ts";
import { settleContracts } from "./local-contracts.ts";
import { NETWORKS } from "./networks.ts";
import type { NetworkEntry, NetworkName } from "../product/stack-file.ts";
import { localProxySettings } from "./proxy-settings.ts";
import { childEnvironment, lastLines, startService, type Service } from "./service.ts";
import type { Deployment, NetworkFolder } from "./stack-folder.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

/** Seed of the wallet that receives the service's fees. */
export const SERVICE_WALLET_SECRET = "service-wallet.seed";

export interface LocalNetworkOptions {
  readonly name: NetworkName;
  readonly folder: NetworkFolder;
  readonly ports: { readonly proxy: number; readonly chain: number };
  /** Of the enclave that will run. */
  readonly image: KnownImage;
  /** Where that enclave is built. Default: enclave/. */
  readonly enclaveFolder?: string | undefined;
  /** Folder of the keys that the image, the pool and the proxy go by. Default: the committed ones. */
  readonly verificationKeys?: string | undefined;
  /** URL of the stack's KMS. */
  readonly kmsUrl: string;
  /** Under which the API key is in this network's store. */
  readonly pepperFile: string;
  /** Seconds between blocks. */
  readonly blockTimeSecs: number;
  /** More settings for the proxies. */
  readonly proxySettings: Readonly<Record<string, string>>;
  /** The settings of one proxy, made from what it would have: for whoever puts something between it and its parties. */
  readonly eachProxy?: EachProxy | undefined;
  /** How many there are. Several proxies need a store that they share among their settings. Default: one of each. */
  readonly size?: NetworkSize | undefined;
  readonly say: (text: string) => void;
}

export type EachProxy = (
  number: number,
  settings: Readonly<Record<string, string>>,
) => Promise<Readonly<Record<string, string>>>;

export interface NetworkSize {
  /** More than one are on free ports, behind a balancer on the network's port. */
  readonly proxies: number;
  /** Each with a key of its own. */
  readonly enclaves: number;
  /** Of how many of them the pool wants an attestation. */
  readonly threshold: number;
}

const ONE_OF_EACH: NetworkSize = { proxies: 1, enclaves: 1, threshold: 1 };

export interface LocalNetwork {
  readonly name: NetworkName;
  /** What stack.json says of it. */
  readonly entry: NetworkEntry;
  readonly folder: NetworkFolder;
  readonly chain: Anvil;
  readonly enclave: Service;
  /** The one above is the first of them. */
  readonly enclaves: readonly Service[];
  /** The first one, or another by its number. */
  proxy(number?: number): Service;
  /** Starts it again after it was stopped or killed, on the same data. */
  restartProxy(number?: number): Promise<void>;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;
  /** Of the proxy's figures and probes; undefined where its settings have no port for them. */
  operationsUrl(number?: number): string | undefined;
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

    const { proxies: proxyCount, enclaves: enclaveCount, threshold } = options.size ?? ONE_OF_EACH;
    const enclaves: Service[] = [];
    const keys: KeyOfEnclave[] = [];
    for (let i = 0; i < enclaveCount; i++) {
      const enclave = await startEnclave(folder, numbered("enclave", i), options);
      started.push(enclave);
      enclaves.push(enclave);
      const vsockPath = String(enclave.ready["vsockPath"]);
      const pairFile = folder.secrets.path(`${numbered("signer", i)}.json`);
      keys.push({ vsockPath, pairFile, ...(await keptOrNewPair(pairFile, vsockPath, options.image)) });
      say(`enclave  measured ${options.image.measurement.pcr0.slice(0, 16)}…, waits for its key`);
    }
    const [enclave, [key]] = [enclaves[0], keys];
    if (enclave === undefined || key === undefined) throw new Error("a network without an enclave");
    if (keys.some(({ isNew }) => isNew) && existing !== undefined)
      say(
        "         it is another build than before: KMS keeps the old key from it, a new signer takes its place",
      );

    const pairs = keys.map(({ pair }) => pair);
    const deployment = await settleContracts({ ...options, chain, existing, pairs, threshold });
    say(`pool     ${getAddress(deployment.pool)}${existing === undefined ? ", deployed" : ", resumed"}`);

    const serviceAddress = SpendingKey.fromSeed(
      mustFromHex(await folder.secrets.text(SERVICE_WALLET_SECRET)),
    ).viewing.addressText(addressPrefix);
    const settings = {
      ...(await localProxySettings({ ...options, chain, deployment, serviceAddress })),
      CLOISTER_ENCLAVES: keys.map(({ vsockPath }) => `unix:${vsockPath}:${String(ENCLAVE_PORT)}`).join(","),
      ...keyReleaseSettings(keys.map(({ pairFile }) => pairFile).join(","), options.kmsUrl),
      ...options.proxySettings,
    };
    const proxySettings: Readonly<Record<string, string>>[] = [];
    for (let number = 0; number < proxyCount; number++) {
      const own =
        proxyCount === 1
          ? settings
          : { ...settings, CLOISTER_PORT: "0", CLOISTER_DATA_DIR: folder.inside(numbered("store", number)) };
      proxySettings.push((await options.eachProxy?.(number, own)) ?? own);
    }
    const startOne = (number: number): Promise<Service> =>
      startProxy(folder, numbered("proxy", number), proxySettings[number] ?? settings);
    const proxies: Service[] = [];
    for (let number = 0; number < proxyCount; number++) {
      const proxy = await startOne(number);
      started.push({ stop: () => proxies[number]?.stop() ?? Promise.resolve() });
      proxies.push(proxy);
    }
    if (proxyCount > 1) {
      const ports = (): number[] => proxies.map(({ ready }) => Number(ready["port"]));
      started.push(await startBalancer(options.ports.proxy, ports));
    }
    const baseUrl = `http://127.0.0.1:${String(options.ports.proxy)}`;
    say(`proxy    ${baseUrl}${proxyCount === 1 ? "" : `, a balancer before ${String(proxyCount)} proxies`}`);
    for (const { vsockPath, pair, isNew } of keys) {
      await untilServing(vsockPath, pair, folder.log("proxy"));
      say(
        `signer   ${getAddress(pair.signer)}, ${isNew ? "born at this start" : "the one of before"}, released by KMS`,
      );
    }

    let fail: (what: string) => void = () => undefined;
    const failed = new Promise<string>((resolve) => (fail = resolve));
    let stopping = false;
    const watch = (service: Service): void => {
      void service.ended.then((how) => {
        if (!stopping && [...enclaves, ...proxies].includes(service))
          fail(`the ${service.name} of the ${name} network ended (${how}); see ${folder.log(service.name)}`);
      });
    };
    for (const service of [...enclaves, ...proxies]) watch(service);
    void chain.ended.then(() => {
      if (!stopping) fail(`the chain of the ${name} network ended`);
    });
    return {
      name,
      entry: entryOf(deployment, {
        baseUrl,
        rpc: chain.url,
        addressPrefix,
        serviceAddress,
        pair: key.pair,
        measurement: enclave.ready["measurement"] as Measurement,
        rootCertificate: String(enclave.ready["rootCertificate"]),
      }),
      folder,
      chain,
      enclave,
      enclaves,
      proxy: (number = 0) => existingOne(proxies, number),
      restartProxy: async (number = 0) => {
        const proxy = await startOne(number);
        proxies[number] = proxy;
        watch(proxy);
      },
      failed,
      operationsUrl: (number = 0) => {
        const port = existingOne(proxies, number).ready["operations_port"];
        return typeof port === "number" ? `http://127.0.0.1:${String(port)}` : undefined;
      },
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
    readonly pair: SignerPair;
    readonly measurement: Measurement;
    readonly rootCertificate: string;
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
    enclave_signer: getAddress(at.pair.signer),
    enclave: {
      measurement: at.measurement,
      attestation_root: createHash("sha256")
        .update(new X509Certificate(at.rootCertificate).raw)
        .digest("hex"),
      configuration_hash: at.pair.configurationHash,
    },
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

interface KeyOfEnclave {
  readonly vsockPath: string;
  readonly pairFile: string;
  readonly pair: SignerPair;
  readonly isNew: boolean;
}

/** The first is called as if it were alone. */
function numbered(name: string, i: number): string {
  return i === 0 ? name : `${name}-${String(i + 1)}`;
}

function existingOne(services: readonly Service[], number: number): Service {
  const found = services[number];
  if (found === undefined) throw new RangeError(`there is no proxy ${String(number)}`);
  return found;
}

async function startEnclave(
  folder: NetworkFolder,
  name: string,
  {
    enclaveFolder,
    verificationKeys,
  }: { readonly enclaveFolder?: string | undefined; readonly verificationKeys?: string | undefined },
): Promise<Service> {
  const configuration = folder.inside("configuration.json");
  if (verificationKeys !== undefined)
    await writeFile(configuration, await developmentConfiguration(verificationKeys));
  return startService({
    name,
    command: process.execPath,
    args: [
      "--import",
      import.meta.resolve("tsx"),
      path.join(ROOT, "scripts/stack/simulated-platform.ts"),
      "--folder",
      folder.inside(name),
      ...(enclaveFolder === undefined ? [] : ["--enclave", enclaveFolder]),
      ...(verificationKeys === undefined ? [] : ["--configuration", configuration]),
    ],
    env: childEnvironment(),
    logFile: folder.log(name),
    isReady: (line) => typeof line["vsockPath"] === "string",
  });
}

function startProxy(
  folder: NetworkFolder,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<Service> {
  return startService({
    name,
    command: process.execPath,
    args: ["--import", import.meta.resolve("tsx"), path.join(ROOT, "proxy", "main.ts")],
    env: { ...childEnvironment(), ...settings },
    logFile: folder.log(name),
    isReady: (line) => line["msg"] === "listening",
  });
}

/** What the courier needs. Nothing of the developer's own AWS set-up is read. */
function keyReleaseSettings(pairFiles: string, kmsUrl: string): Record<string, string> {
  return {
    CLOISTER_SIGNER_KEYS: pairFiles,
    CLOISTER_KMS_REGION: DEVELOPMENT_REGION,
    CLOISTER_KMS_ENDPOINT: kmsUrl,
    AWS_ACCESS_KEY_ID: DEVELOPMENT_CREDENTIAL.accessKeyId,
    AWS_SECRET_ACCESS_KEY: DEVELOPMENT_CREDENTIAL.secretAccessKey,
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
  };
}

const SERVING_WITHIN_MS = 60_000;

/** Until the proxy's courier has brought the enclave its key. */
async function untilServing(vsockPath: string, { signer }: SignerPair, proxyLog: string): Promise<void> {
  const link = createLink({ path: vsockPath, port: ENCLAVE_PORT });
  const deadline = Date.now() + SERVING_WITHIN_MS;
  try {
    for (;;) {
      const status = await link.ask({ type: "status" });
      if (status.type === "status" && status.phase === "serving" && status.signer === signer) return;
      if (Date.now() > deadline)
        throw new Error(`the enclave has no key; the end of the proxy's log:\n${await lastLines(proxyLog)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    link.close();
  }
}

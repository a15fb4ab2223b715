// One network of the local stack, each party in a process of its own: a chain, the enclave on its simulated
// platform, the proxy. Everything it knows is in its folder, so that a second start resumes the first.
// Development only.
import { createHash, X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { getAddress } from "ethers";
import { createLink } from "../../proxy/api/enclave-link/link.ts";
import { RELAY_SETTINGS } from "../../proxy/relay/config.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { developmentConfiguration } from "../image/configuration.ts";
import { PROGRAM_NAMES, type Measurement, type ProgramName } from "../image/measurement.ts";
import type { NetworkEntry, NetworkName } from "../base/stack-file.ts";
import { startAnvil, type Anvil } from "../stand-ins/anvil.ts";
import { startBalancer } from "./balancer.ts";
import { startLocalBridges, type LocalBridges } from "./bridges/local-bridges.ts";
import type { Liar } from "./liar.ts";
import { keptOrNewPair, type BirthWishes, type KeptPair, type KnownImage } from "./development-signer.ts";
import { isRegistered, birthChallenge, settleContracts, type PoolTerms } from "./local-contracts.ts";
import { settledSize, type NetworkSize, type SettledSize } from "./network-size.ts";
import { NETWORKS } from "./networks.ts";
import { Parties } from "../base/parties.ts";
import { poll } from "../base/poll.ts";
import { enclaveSettings, localProxySettings } from "./proxy-settings.ts";
import { lastLines, startService, type Service } from "../base/service.ts";
import type { Deployment, NetworkFolder } from "./stack-folder.ts";

/** Seed of the wallet that receives the service's fees. */
export const SERVICE_WALLET_SECRET = "service-wallet.seed";

/** What may be chosen for all networks of a stack. */
export interface NetworkChoices {
  /** Seconds between blocks. Default 1. */
  readonly blockTimeSecs?: number;
  /** Other terms of a new pool than the stack's. */
  readonly poolTerms?: PoolTerms;
  /** A built enclave other than enclave/, as after an upgrade. */
  readonly enclaveFolder?: string;
  /**
   * For benchmarks: a folder of other verification keys than the committed ones, with the manifest.json that names
   * them, as scripts/lab/bench/trapdoor/keys.ts writes it. Image, pool and proxy go by them.
   */
  readonly verificationKeys?: string;
  /** More settings for every proxy. */
  readonly proxySettings?: Readonly<Record<string, string>>;
  /** The settings of one proxy, made from what it would have: for whoever puts something between it and its parties. */
  readonly eachProxy?: EachProxy;
  /** The environment of the relay, made from what it would have. */
  readonly relaySettings?: (
    settings: Readonly<Record<string, string>>,
  ) => Promise<Readonly<Record<string, string>>>;
  /** Whether the network that can has its bridges, with their chains and venues. */
  readonly bridges?: boolean;
  /** Stands before every party outside. */
  readonly liar?: Liar | undefined;
  /** How many there are. Several proxies need a store that they share among their settings. */
  readonly size?: NetworkSize;
}

export interface LocalNetworkOptions extends NetworkChoices {
  readonly name: NetworkName;
  readonly folder: NetworkFolder;
  readonly ports: { readonly proxy: number; readonly chain: number };
  /** Of the enclaves that will run: the first verifier's, and the second's where some pool asks for both. */
  readonly images: readonly KnownImage[];
  /** URL of the stack's KMS. */
  readonly kmsUrl: string;
  /** Under which the API key is in this network's store. */
  readonly pepperFile: string;
  readonly say: (text: string) => void;
}

export type EachProxy = (
  number: number,
  settings: Readonly<Record<string, string>>,
) => Promise<Readonly<Record<string, string>>>;

export interface LocalNetwork {
  readonly name: NetworkName;
  /** What stack.json says of it. */
  readonly entry: NetworkEntry;
  readonly folder: NetworkFolder;
  readonly chain: Anvil;
  /** Undefined where there are none. */
  readonly bridges: LocalBridges | undefined;
  /** The first one, or another by its number. */
  enclave(number?: number): Service;
  /** Starts it again after it was stopped or killed, and waits until the proxy has brought it its key. */
  restartEnclave(number?: number): Promise<void>;
  /** The first one, or another by its number. */
  proxy(number?: number): Service;
  /** Starts it again after it was stopped or killed, on the same data. */
  restartProxy(number?: number): Promise<void>;
  /** Of the bridges. Throws where there are none. */
  relay(): Service;
  /** Starts it again after it was stopped or killed. */
  restartRelay(): Promise<void>;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;
  /** As every proxy has them; one of several has a port and a folder of its own. */
  readonly proxySettings: Readonly<Record<string, string>>;
  /** Of the proxy's figures and probes; undefined where its settings have no port for them. */
  operationsUrl(number?: number): string | undefined;
  /** Relay and proxies, then enclaves; the chain goes on. */
  stopServices(): Promise<void>;
  /** Proxy first, so that nothing is accepted that could not be carried out; the chain last. */
  stop(): Promise<void>;
}

export function startLocalNetwork(options: LocalNetworkOptions): Promise<LocalNetwork> {
  return Parties.start((parties) => startAll(options, parties));
}

async function startAll(options: LocalNetworkOptions, parties: Parties): Promise<LocalNetwork> {
  const { name, folder, blockTimeSecs = 1, liar, say } = options;
  const existing = await folder.readDeployment();
  const size = settledSize(options.size, existing);
  await folder.secrets.file("owner.key"); // makes the folder
  const chain = parties.add(await startChain(options, existing === undefined ? undefined : blockTimeSecs));
  parties.watch(chain.ended, () => `the chain of the ${name} network ended`);
  say(`chain    ${chain.url} (chain id ${String(chain.chainId)})`);

  const enclaves = await bootEnclaves(options, size, parties, {
    // So that its birth certificate registers it in the pool.
    challenge: async () => mustFromHex(await birthChallenge(chain)),
    isUseful: async ({ signer }) => existing !== undefined && isRegistered(chain, existing.pool, signer),
  });
  if (enclaves.some(({ isNew }) => isNew) && existing !== undefined)
    say(
      "         it is another build than before: KMS keeps the old key from it, a new signer takes its place",
    );
  const deployment = await settleContracts({
    ...options,
    ...{ chain, existing, enclaves, blockTimeSecs, threshold: size.threshold },
  });
  const wanted = size.threshold === 1 ? "" : `, asks for ${String(size.threshold)} attestations`;
  say(
    `pool     ${getAddress(deployment.pool)}${existing === undefined ? ", deployed" : ", resumed"}${wanted}`,
  );

  const bridges =
    options.bridges === true && NETWORKS[name].bridges
      ? parties.add(
          await startLocalBridges({
            ...{ folder, home: chain, usdc: deployment.tokens[0]!.address, blockTimeSecs, say, liar },
          }),
        )
      : undefined;
  if (bridges !== undefined) void bridges.failed.then(parties.fail);
  const rpcUrl = liar === undefined ? chain.url : await liar.nodes(chain.url);
  const serviceAddress = SpendingKey.fromSeed(
    mustFromHex(await folder.secrets.text(SERVICE_WALLET_SECRET)),
  ).viewing.addressText(NETWORKS[name].addressPrefix);
  const proxySettings = {
    ...(await localProxySettings({ ...options, rpcUrl, deployment, serviceAddress })),
    ...enclaveSettings(enclaves, options.kmsUrl),
    ...(bridges === undefined ? {} : { CLOISTER_BRIDGES: bridges.settingsFile }),
    ...options.proxySettings,
  };
  const starts = await proxyStarts(options, size.proxies, proxySettings);
  const proxies: Service[] = [];
  for (const [number, start] of starts.entries()) {
    proxies.push(watched(options, parties, await start()));
    parties.add({ stop: () => proxies[number]?.stop() });
  }
  const ofRelay = bridges && (await relayService(options, proxySettings));
  const startRelay = async (): Promise<Service | undefined> =>
    ofRelay && watched(options, parties, await startService(ofRelay));
  let relay = await startRelay();
  parties.add({ stop: () => relay?.stop() });
  if (proxies.length > 1) {
    const ports = (): number[] => proxies.map(({ ready }) => Number(ready["port"]));
    parties.add(await startBalancer(options.ports.proxy, ports));
  }
  const baseUrl = `http://127.0.0.1:${String(options.ports.proxy)}`;
  say(
    `proxy    ${baseUrl}${proxies.length === 1 ? "" : `, a balancer before ${String(proxies.length)} proxies`}`,
  );
  for (const enclave of enclaves) {
    await untilServing(enclave, folder.log("proxy"));
    const origin = enclave.isNew ? "born at this start" : "the one of before";
    say(`signer   ${getAddress(enclave.pair.signer)}, ${origin}, released by KMS`);
  }
  const proxy = (number = 0): Service => existingOne(proxies, number);
  const enclave = (number = 0): LocalEnclave => existingOne(enclaves, number);
  return {
    name,
    entry: {
      ...entryOf(name, deployment, { baseUrl, rpc: chain.url, serviceAddress, enclaves }),
      ...(bridges === undefined ? {} : { bridges: bridges.entry }),
      ...(liar === undefined ? {} : { wallet_rpc: await liar.node(chain.url) }),
    },
    bridges,
    folder,
    chain,
    enclave: (number) => enclave(number).service,
    restartEnclave: async (number = 0) => {
      const again = {
        ...enclave(number),
        service: await startEnclave(options, number, enclave(number).image.program, parties),
      };
      enclaves[number] = again;
      await untilServing(again, folder.log("proxy"));
    },
    proxy,
    restartProxy: async (number = 0) => {
      proxies[number] = watched(options, parties, await existingOne(starts, number)());
    },
    relay: () => {
      if (relay === undefined) throw new Error(`the ${name} network has no bridges`);
      return relay;
    },
    restartRelay: async () => {
      relay = await startRelay();
    },
    failed: parties.failed,
    proxySettings,
    operationsUrl: (number) => {
      const port = proxy(number).ready["operations_port"];
      return typeof port === "number" ? `http://127.0.0.1:${String(port)}` : undefined;
    },
    stopServices: async () => {
      await Promise.all([relay?.stop(), ...proxies.map((one) => one.stop())]);
      await Promise.all(enclaves.map(({ service }) => service.stop()));
    },
    stop: () => parties.stop(),
  };
}

function watched({ name, folder }: LocalNetworkOptions, parties: Parties, service: Service): Service {
  const log = folder.log(service.name);
  parties.watch(
    service.ended,
    (how) => `the ${service.name} of the ${name} network ended (${how}); see ${log}`,
  );
  return service;
}

/** A new chain has no block time: it makes its blocks at once until everything is deployed. */
function startChain(
  { name, folder, ports }: LocalNetworkOptions,
  blockTimeSecs: number | undefined,
): Promise<Anvil> {
  return startAnvil({
    port: ports.chain,
    chainId: NETWORKS[name].chainId,
    stateFile: folder.inside("chain-state.json"),
    ...(blockTimeSecs === undefined ? {} : { blockTimeSecs }),
    // A crash of this supervisor loses at most this much of the chain.
    args: ["--state-interval", "15"],
  });
}

interface LocalEnclave extends KeptPair {
  /** Which it runs. */
  readonly image: KnownImage;
  readonly service: Service;
  readonly vsockPath: string;
  readonly pairFile: string;
}

/** They run then, each without its key. */
async function bootEnclaves(
  options: LocalNetworkOptions,
  { enclaves: count, threshold }: SettledSize,
  parties: Parties,
  wishes: BirthWishes,
): Promise<LocalEnclave[]> {
  const { folder, images, say } = options;
  const enclaves: LocalEnclave[] = [];
  for (let i = 0; i < count; i++) {
    // A pool that asks for several attestations asks for both kinds, so they take turns.
    const image = existingOne(images, threshold === 1 ? 0 : i % 2);
    const service = await startEnclave(options, i, image.program, parties);
    // Whichever is in its place by then.
    parties.add({ stop: () => (enclaves[i]?.service ?? service).stop() });
    const vsockPath = String(service.ready["vsockPath"]);
    const pairFile = folder.secrets.path(`${numbered("signer", i)}.json`);
    const kept = await keptOrNewPair(pairFile, vsockPath, image, wishes);
    enclaves.push({ service, vsockPath, pairFile, image, ...kept });
    const which = threshold === 1 ? "" : `, the ${image.program} verifier`;
    say(`enclave  measured ${image.measurement.pcr0.slice(0, 16)}…${which}, waits for its key`);
  }
  return enclaves;
}

async function startEnclave(
  options: LocalNetworkOptions,
  number: number,
  program: ProgramName,
  parties: Parties,
): Promise<Service> {
  const { folder, enclaveFolder, verificationKeys } = options;
  const name = numbered("enclave", number);
  const configuration = folder.inside(`${name}.configuration.json`);
  if (verificationKeys !== undefined)
    await writeFile(configuration, await developmentConfiguration(verificationKeys, program));
  const service = await startService({
    name,
    program: "scripts/stand-ins/platform/main.ts",
    args: [
      ...["--folder", folder.inside(name), "--program", program],
      ...(enclaveFolder === undefined ? [] : ["--enclave", enclaveFolder]),
      ...(verificationKeys === undefined ? [] : ["--configuration", configuration]),
    ],
    logFile: folder.log(name),
    isReady: (line) => typeof line["vsockPath"] === "string",
  });
  return watched(options, parties, service);
}

/** How each proxy is started, the first time and again. */
async function proxyStarts(
  { folder, eachProxy }: LocalNetworkOptions,
  count: number,
  settings: Readonly<Record<string, string>>,
): Promise<(() => Promise<Service>)[]> {
  const starts = [];
  for (let number = 0; number < count; number++) {
    const name = numbered("proxy", number);
    const store = folder.inside(numbered("store", number));
    const own = count === 1 ? settings : { ...settings, CLOISTER_PORT: "0", CLOISTER_DATA_DIR: store };
    const service = {
      name,
      program: "proxy/api/main.ts",
      settings: (await eachProxy?.(number, own)) ?? own,
      logFile: folder.log(name),
      isReady: (line: Readonly<Record<string, unknown>>) => line["msg"] === "listening",
    };
    starts.push(() => startService(service));
  }
  return starts;
}

async function relayService(
  { folder, relaySettings }: LocalNetworkOptions,
  settings: Readonly<Record<string, string>>,
): Promise<Parameters<typeof startService>[0]> {
  const all = Object.entries({ CLOISTER_RELAY_OPERATIONS_PORT: "0", ...settings });
  const own = Object.fromEntries(all.filter(([name]) => Object.hasOwn(RELAY_SETTINGS, name)));
  return {
    name: "relay",
    program: "proxy/relay/main.ts",
    settings: (await relaySettings?.(own)) ?? own,
    logFile: folder.log("relay"),
    isReady: (line) => line["msg"] === "relaying",
  };
}

function entryOf(
  name: NetworkName,
  { chain_id, pool, deployment_block, threshold, tokens, swaps }: Deployment,
  at: {
    readonly baseUrl: string;
    readonly rpc: string;
    readonly serviceAddress: string;
    readonly enclaves: readonly LocalEnclave[];
  },
): NetworkEntry {
  const shown = tokens.map((token) => ({ ...token, address: getAddress(token.address) }));
  const { service } = existingOne(at.enclaves, 0);
  const [first, second] = PROGRAM_NAMES.map((program) =>
    at.enclaves.find(({ image }) => image.program === program),
  );
  const root = new X509Certificate(String(service.ready["rootCertificate"]));
  return {
    base_url: at.baseUrl,
    chain_rpc: at.rpc,
    chain_id,
    pool: getAddress(pool),
    usdc: shown[0]?.address ?? "",
    deployment_block,
    address_prefix: NETWORKS[name].addressPrefix,
    service_address: at.serviceAddress,
    threshold,
    enclave_signers: at.enclaves.map((enclave) => getAddress(enclave.pair.signer)),
    enclave: {
      ...imageEntryOf(first!),
      attestation_root: createHash("sha256").update(root.raw).digest("hex"),
    },
    ...(second === undefined ? {} : { second_enclave: imageEntryOf(second) }),
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

function imageEntryOf({ pair, service }: LocalEnclave): NonNullable<NetworkEntry["second_enclave"]> {
  return {
    measurement: service.ready["measurement"] as Measurement,
    configuration_hash: pair.configurationHash,
  };
}

/** The first is called as if it were alone. */
function numbered(name: string, i: number): string {
  return i === 0 ? name : `${name}-${String(i + 1)}`;
}

function existingOne<T>(ones: readonly T[], number: number): T {
  const found = ones[number];
  if (found === undefined) throw new RangeError(`there is no number ${String(number)}`);
  return found;
}

/** Until the proxy's courier has brought the enclave its key. */
async function untilServing({ vsockPath, pair }: LocalEnclave, proxyLog: string): Promise<void> {
  const link = createLink({ path: vsockPath, port: ENCLAVE_PORT });
  const look = async (): Promise<true | undefined> => {
    const status = await link.ask({ type: "status" });
    const serves = status.type === "status" && status.phase === "serving" && status.signer === pair.signer;
    return serves || undefined;
  };
  try {
    if ((await poll(look)) === undefined)
      throw new Error(`the enclave has no key; the end of the proxy's log:\n${await lastLines(proxyLog)}`);
  } finally {
    link.close();
  }
}

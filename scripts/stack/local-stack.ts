// The whole service on one machine: the networks of the table, each complete in itself, under one supervisor
// and with one API key. Used by `npm start`, the demo and the end-to-end tests. Development only.
import { readFile } from "node:fs/promises";
import { developmentCredential, pepperFile } from "./development-credential.ts";
import { developmentImage, developmentPolicy } from "./development-signer.ts";
import { requireContinuable } from "./local-contracts.ts";
import { startLocalNetwork, type EachProxy, type LocalNetwork, type NetworkSize } from "./local-network.ts";
import { NETWORKS, portOption } from "./networks.ts";
import { NETWORK_NAMES, type NetworkName, StackError, type StackFile } from "../product/stack-file.ts";
import { Parties } from "./parties.ts";
import { choosePorts } from "./ports.ts";
import { startService, type Service } from "./service.ts";
import { StackFolder } from "./stack-folder.ts";

export interface PortChoice {
  /** Of the proxy. Default: the network's usual one, or a free one when that is taken. 0: a free one. */
  readonly proxy?: number | undefined;
  /** Of the chain's RPC, likewise. */
  readonly chain?: number | undefined;
}

export interface StackOptions {
  readonly folder: string;
  /** Which networks run. Default: all. */
  readonly networks?: readonly NetworkName[];
  /** Begin these networks again: forget chain, store and secrets. */
  readonly fresh?: boolean;
  readonly ports?: Readonly<Partial<Record<NetworkName, PortChoice>>>;
  /** Seconds between blocks. Default 1. */
  readonly blockTimeSecs?: number;
  /** A built enclave other than enclave/, as after an upgrade. */
  readonly enclaveFolder?: string;
  /**
   * For benchmarks: a folder of other verification keys than the committed ones, with the manifest.json that names
   * them, as scripts/lab/bench/trapdoor/keys.ts writes it. The enclave measures differently.
   */
  readonly verificationKeys?: string;
  /** More settings for every proxy. */
  readonly proxySettings?: Readonly<Record<string, string>>;
  readonly eachProxy?: EachProxy | undefined;
  /** Of each network. */
  readonly size?: NetworkSize;
  readonly say?: (text: string) => void;
}

export interface Stack {
  readonly file: StackFile;
  readonly folder: StackFolder;
  /** Those that run. */
  readonly networks: readonly LocalNetwork[];
  /** URL of the development KMS that releases their signers' keys. */
  readonly kmsUrl: string;
  /** Throws when it does not run. */
  network(name: NetworkName): LocalNetwork;
  /** Resolves with what happened when a party ends that nobody stopped. */
  readonly failed: Promise<string>;
  stop(): Promise<void>;
}

export async function startStack(options: StackOptions): Promise<Stack> {
  const folder = new StackFolder(options.folder);
  const holder = await folder.lock();
  if (holder !== undefined) {
    throw new StackError(
      `a stack already runs in ${folder.path} (process ${String(holder)}); stop it first, or give --folder`,
    );
  }
  return Parties.start((parties) => {
    parties.add({ stop: () => folder.unlock() });
    return startAll(options, folder, parties);
  });
}

async function startAll(options: StackOptions, folder: StackFolder, parties: Parties): Promise<Stack> {
  const { say = () => undefined, enclaveFolder, verificationKeys } = options;
  const names = NETWORK_NAMES.filter((name) => options.networks?.includes(name) ?? true);
  if (options.fresh === true) await folder.forget(names);
  say(opening(await foundIn(folder, names, verificationKeys)));
  const ports = await portsOf(names, options.ports ?? {});
  const apiKey = await developmentCredential(
    folder.secrets,
    names.map((name) => folder.network(name).inside("store")),
  );
  const image = await developmentImage(enclaveFolder, verificationKeys);
  const kms = parties.add(await startKms(folder, await developmentPolicy(image.measurement), say));
  parties.watch(kms.ended, (how) => `the development KMS ended (${how}); see ${folder.log("kms")}`);
  const kmsUrl = String(kms.ready["url"]);

  const common = {
    pepperFile: await pepperFile(folder.secrets),
    ...{ image, enclaveFolder, verificationKeys, kmsUrl },
    blockTimeSecs: options.blockTimeSecs ?? 1,
    proxySettings: options.proxySettings ?? {},
    eachProxy: options.eachProxy,
    size: options.size,
  };
  const outcomes = await Promise.allSettled(
    names.map((name) =>
      startLocalNetwork({
        ...{ ...common, name, folder: folder.network(name), ports: ports[name] },
        say: (text) => say(`  ${names.length === 1 ? "" : name.padEnd(8)}${text}`),
      }),
    ),
  );
  const networks = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []));
  parties.add({ stop: () => Promise.all(networks.map((network) => network.stop())) });
  const failure = outcomes.find((outcome) => outcome.status === "rejected");
  if (failure !== undefined) throw failure.reason;

  const file: StackFile = {
    api_key: apiKey,
    pid: process.pid,
    networks: Object.fromEntries(networks.map(({ name, entry }) => [name, entry])),
  };
  await folder.writeStack(file);
  return {
    ...{ file, folder, networks, kmsUrl },
    network: (wanted) => {
      const found = networks.find(({ name }) => name === wanted);
      if (found === undefined) throw new StackError(`the ${wanted} network does not run`);
      return found;
    },
    failed: Promise.race([...networks.map(({ failed }) => failed), parties.failed]),
    stop: () => parties.stop(),
  };
}

/** One for all networks, with the policy of the enclave as it is built now. */
async function startKms(folder: StackFolder, policy: string, say: (text: string) => void): Promise<Service> {
  const KEPT_IN = "kms-policy.json";
  const before = await readFile(folder.secrets.path(KEPT_IN), "utf8").catch(() => policy);
  if (before !== policy) {
    say(
      "The enclave is another build: the development KMS's policy now names the new measurement, and keeps every",
    );
    say(
      "key of the old one from it. In production no policy follows a build; each image has a KMS key of its own.",
    );
  }
  await folder.secrets.write(KEPT_IN, policy);
  return startService({
    name: "kms",
    program: "scripts/stack/kms/server.ts",
    args: ["--policy", folder.secrets.path(KEPT_IN)],
    logFile: folder.log("kms"),
    isReady: (line) => typeof line["url"] === "string",
  });
}

/** The networks that an earlier start left. Refuses a folder of an older version before anything is written or started. */
async function foundIn(
  folder: StackFolder,
  names: readonly NetworkName[],
  verificationKeys: string | undefined,
): Promise<readonly { readonly name: NetworkName; readonly isNew: boolean }[]> {
  const found = [];
  for (const name of names) {
    const network = folder.network(name);
    const existing = await network.readDeployment();
    if (existing !== undefined) await requireContinuable(network, existing, verificationKeys);
    found.push({ name, isNew: existing === undefined });
  }
  return found;
}

function opening(found: readonly { readonly name: NetworkName; readonly isNew: boolean }[]): string {
  const made = found.filter(({ isNew }) => isNew).map(({ name }) => name);
  if (made.length === 0) return "Resuming.";
  if (made.length === found.length)
    return `Starting on ${found.length === 1 ? "a new chain" : "new chains"}.`;
  return `Resuming; the ${made.join(" and ")} network starts on a new chain.`;
}

async function portsOf(
  names: readonly NetworkName[],
  wanted: NonNullable<StackOptions["ports"]>,
): Promise<Record<NetworkName, { proxy: number; chain: number }>> {
  const wishes = names.flatMap((name) => [
    {
      wanted: wanted[name]?.chain,
      usual: NETWORKS[name].chainPort,
      option: `--${portOption(name, "chain-port")}`,
    },
    { wanted: wanted[name]?.proxy, usual: NETWORKS[name].port, option: `--${portOption(name, "port")}` },
  ]);
  const chosen = await choosePorts(wishes);
  const of = (name: NetworkName): { proxy: number; chain: number } => {
    const at = 2 * names.indexOf(name);
    return { chain: chosen[at] ?? 0, proxy: chosen[at + 1] ?? 0 };
  };
  return { first: of("first"), second: of("second") };
}

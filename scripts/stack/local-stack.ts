// The whole service on one machine: the networks of the table, each complete in itself, under one supervisor
// and with one API key. Used by `npm start`, the demo and the end-to-end tests. Development only.
import { readFile } from "node:fs/promises";
import { developmentCredential, pepperFile } from "./development-credential.ts";
import { PROGRAM_NAMES, type ProgramName } from "../image/measurement.ts";
import { developmentImage, developmentPolicy, type KnownImage } from "./development-signer.ts";
import { requireContinuable } from "./local-contracts.ts";
import { startLocalNetwork, type LocalNetwork, type NetworkChoices } from "./local-network.ts";
import { requireThreshold, settledSize } from "./network-size.ts";
import { NETWORKS, portOption } from "./networks.ts";
import { NETWORK_NAMES, type NetworkName, StackError, type StackFile } from "../base/stack-file.ts";
import { Parties } from "../base/parties.ts";
import { choosePorts } from "./ports.ts";
import { startService, type Service } from "../base/service.ts";
import { StackFolder } from "./stack-folder.ts";

export interface PortChoice {
  /** Of the proxy. Default: the network's usual one, or a free one when that is taken. 0: a free one. */
  readonly proxy?: number | undefined;
  /** Of the chain's RPC, likewise. */
  readonly chain?: number | undefined;
}

export interface StackOptions extends NetworkChoices {
  readonly folder: string;
  /** Which networks run. Default: all. */
  readonly networks?: readonly NetworkName[];
  /** Begin these networks again: forget chain, store and secrets. */
  readonly fresh?: boolean;
  readonly ports?: Readonly<Partial<Record<NetworkName, PortChoice>>>;
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
  /** Every process of the service: proxies, enclaves, KMS, with their stores. The chains go on. */
  stopServices(): Promise<void>;
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
  say(opening(names, await newAmong(names, folder, options)));
  const ports = await portsOf(names, options.ports ?? {});
  const apiKey = await developmentCredential(
    folder.secrets,
    names.map((name) => folder.network(name).inside("store")),
  );
  const images = await Promise.all(
    (await programsOf(names, folder, options)).map((program) =>
      developmentImage(enclaveFolder, verificationKeys, program),
    ),
  );
  const kms = parties.add(await startKms(folder, images, say));
  parties.watch(kms.ended, (how) => `the development KMS ended (${how}); see ${folder.log("kms")}`);
  const kmsUrl = String(kms.ready["url"]);

  const pepper = await pepperFile(folder.secrets);
  const outcomes = await Promise.allSettled(
    names.map((name) =>
      startLocalNetwork({
        ...{ ...options, images, kmsUrl, pepperFile: pepper, name },
        ...{ folder: folder.network(name), ports: ports[name] },
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
    stopServices: async () => {
      await Promise.all(networks.map((network) => network.stopServices()));
      await kms.stop();
    },
    failed: Promise.race([...networks.map(({ failed }) => failed), parties.failed]),
    stop: () => parties.stop(),
  };
}

/** The second one's where some network's pool asks for both. */
async function programsOf(
  names: readonly NetworkName[],
  folder: StackFolder,
  { size }: NetworkChoices,
): Promise<readonly ProgramName[]> {
  const thresholds = await Promise.all(
    names.map(async (name) => settledSize(size, await folder.network(name).readDeployment()).threshold),
  );
  return Math.max(...thresholds) > 1 ? PROGRAM_NAMES : ["first"];
}

/** One for all networks, with a key for each program and the policy of the program as it is built now. */
async function startKms(
  folder: StackFolder,
  images: readonly KnownImage[],
  say: (text: string) => void,
): Promise<Service> {
  const options = { first: "--policy", second: "--second" } as const;
  const args: string[] = [];
  for (const { program, measurement } of images) {
    const file = `kms-policy${program === "first" ? "" : "-second"}.json`;
    await keepPolicy(folder, file, developmentPolicy(measurement), say);
    args.push(options[program], folder.secrets.path(file));
  }
  return startService({
    name: "kms",
    program: "scripts/stand-ins/kms/server.ts",
    args,
    logFile: folder.log("kms"),
    isReady: (line) => typeof line["url"] === "string",
  });
}

async function keepPolicy(
  folder: StackFolder,
  file: string,
  policy: string,
  say: (text: string) => void,
): Promise<void> {
  const before = await readFile(folder.secrets.path(file), "utf8").catch(() => policy);
  if (before !== policy) {
    say(
      "The enclave is another build: the development KMS's policy now names the new measurement, and keeps every",
    );
    say(
      "key of the old one from it. In production no policy follows a build; each image has a KMS key of its own.",
    );
  }
  await folder.secrets.write(file, policy);
}

/** Those that no earlier start left. Refuses a folder that it cannot continue before anything is written or started. */
async function newAmong(
  names: readonly NetworkName[],
  folder: StackFolder,
  { verificationKeys, size }: NetworkChoices,
): Promise<NetworkName[]> {
  const found: NetworkName[] = [];
  for (const name of names) {
    const network = folder.network(name);
    const existing = await network.readDeployment();
    if (existing === undefined) {
      found.push(name);
      continue;
    }
    await requireContinuable(network, existing, verificationKeys);
    requireThreshold(network.inside("deployment.json"), existing, size);
  }
  return found;
}

function opening(names: readonly NetworkName[], made: readonly NetworkName[]): string {
  if (made.length === 0) return "Resuming.";
  if (made.length === names.length)
    return `Starting on ${names.length === 1 ? "a new chain" : "new chains"}.`;
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

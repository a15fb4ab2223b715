// What a local stack keeps on disk: its one lock, the API key, a folder for each network with secrets, store,
// chain and logs, and the stack.json that tells others where everything is. Nothing here is for production.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { asAddress, type Address } from "../../shared/protocol/brands.ts";
import { NETWORK_NAMES, type NetworkName } from "./networks.ts";

export const DEFAULT_FOLDER = ".cloister";

const address = z.string().transform((text, context): Address => {
  const parsed = asAddress(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({ code: "custom", message: "not an address" });
  return z.NEVER;
});

/** `deployment.json` of a network: what is on its chain. */
const deployment = z.object({
  /** Fingerprint of contracts and circuits: a chain that holds others is not resumed. */
  contracts: z.string(),
  chain_id: z.int(),
  pool: address,
  deployment_block: z.int(),
  /** Listed assets, USDC first. */
  tokens: z.array(z.object({ symbol: z.string(), address, decimals: z.int() })).min(1),
  /** Enclave signers registered by this stack and not yet removed. */
  signers: z.array(address),
  /** Chainlink-style feeds of dollars, by symbol; other tokens have a fixed price. */
  price_feeds: z.record(z.string(), address).optional(),
  /** Absent where there are no swaps. */
  swaps: z
    .object({ executor: address, factory: address, quoter: address, position_manager: address })
    .optional(),
});
export type Deployment = z.infer<typeof deployment>;

const networkEntry = z.object({
  base_url: z.string(),
  chain_rpc: z.string(),
  chain_id: z.int(),
  pool: z.string(),
  usdc: z.string(),
  deployment_block: z.int(),
  address_prefix: z.string(),
  /** Shielded address that receives service fees. */
  service_address: z.string(),
  enclave_signer: z.string(),
  /** What a client has to find in the enclave's attestation document. */
  enclave: z.object({
    measurement: z.object({ pcr0: z.string(), pcr1: z.string(), pcr2: z.string() }),
    /** SHA-256 of the root certificate's DER, 64 hex digits. */
    attestation_root: z.string(),
    configuration_hash: z.string(),
  }),
  /** Every listed asset, USDC first. */
  tokens: z.array(z.object({ symbol: z.string(), address: z.string(), decimals: z.int() })),
  /** The pool's executor, and Uniswap v3: its factory, QuoterV2, and where liquidity is given. Absent where swaps are off. */
  swaps: z
    .object({ executor: z.string(), factory: z.string(), quoter: z.string(), position_manager: z.string() })
    .optional(),
});
export type NetworkEntry = z.infer<typeof networkEntry>;

/** `stack.json`: where a running stack is reached, and the development API key. Readable by its owner only. */
const stackFile = z.object({
  /** Good on every network of the stack. */
  api_key: z.string(),
  /** Process that runs the stack; a reader checks that it lives. */
  pid: z.int(),
  /** The example identity provider and the app that is registered for it. Absent where none runs. */
  identity: z.object({ issuer: z.string(), app_id: z.string() }).optional(),
  /** Those that run. */
  networks: z.object({ first: networkEntry.optional(), second: networkEntry.optional() }),
});
export type StackFile = z.infer<typeof stackFile>;

/** A refusal that is meant for the person at the keyboard. */
export class StackError extends Error {}

/** One network of a stack; throws with advice when it does not run. */
export function networkOf(stack: StackFile, name: NetworkName): NetworkEntry {
  const entry = stack.networks[name];
  if (entry !== undefined) return entry;
  throw new StackError(`the running stack is without the ${name} network; stop it and run: npm start`);
}

export class StackFolder {
  readonly path: string;

  constructor(folder: string) {
    this.path = path.resolve(folder);
  }

  /** A network's own part. */
  network(name: NetworkName): NetworkFolder {
    return new NetworkFolder(path.join(this.path, name));
  }

  log(name: string): string {
    return path.join(this.path, "logs", `${name}.log`);
  }

  /** What all networks share. */
  shared(): Secrets {
    return new Secrets(path.join(this.path, "secrets"));
  }

  /** One supervisor a folder: two chains with one state file would destroy it. Undefined when it was free, else the pid that holds it. */
  async lock(): Promise<number | undefined> {
    const file = path.join(this.path, "lock");
    for (;;) {
      try {
        await mkdir(this.path, { recursive: true, mode: 0o700 });
        await writeFile(file, String(process.pid), { flag: "wx", mode: 0o600 });
        return undefined;
      } catch (error) {
        // A file in the folder's place answers EEXIST to mkdir too: only a lock that is there is looked at.
        if (!existsSync(file)) {
          const reason = (error as NodeJS.ErrnoException).code ?? "unknown";
          throw new StackError(`${this.path} cannot be used as the stack's folder (${reason})`);
        }
        const holder = Number(await readFile(file, "utf8").catch(() => "0"));
        if (holder > 0 && isAlive(holder)) return holder;
        await rm(file, { force: true });
      }
    }
  }

  async unlock(): Promise<void> {
    await rm(path.join(this.path, "lock"), { force: true });
  }

  /**
   * Forgets chain, store and secrets of these networks. What they share goes with the last of them: another
   * network's store still knows the API key. The set-up's own files beside them stay.
   */
  async forget(names: readonly NetworkName[]): Promise<void> {
    for (const name of names) await rm(path.join(this.path, name), { recursive: true, force: true });
    await rm(path.join(this.path, "stack.json"), { force: true });
    const isEmpty = NETWORK_NAMES.every((name) => !existsSync(path.join(this.path, name)));
    if (isEmpty) await rm(path.join(this.path, "secrets"), { recursive: true, force: true });
  }

  /** The stack file of a stack that runs now. */
  async running(): Promise<StackFile | undefined> {
    const found = await readJson(
      path.join(this.path, "stack.json"),
      stackFile.or(z.object({ pid: z.int() })),
    );
    if (found === undefined || !isAlive(found.pid)) return undefined;
    if ("networks" in found) return found;
    throw new StackError(
      `another version's stack runs in ${this.path} (process ${String(found.pid)}); stop it first`,
    );
  }

  async writeStack(value: StackFile): Promise<void> {
    await writeWhole(path.join(this.path, "stack.json"), `${JSON.stringify(value, undefined, 2)}\n`);
  }
}

/** Files that nobody else may read, each made at the first start. */
export class Secrets {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  path(name: string): string {
    return path.join(this.#folder, name);
  }

  /** A secret of 32 random bytes as hex; returns its file. */
  async file(name: string): Promise<string> {
    const file = this.path(name);
    if ((await readFile(file, "utf8").catch(() => undefined)) === undefined)
      await this.write(name, `0x${randomBytes(32).toString("hex")}\n`);
    return file;
  }

  async text(name: string): Promise<string> {
    return (await readFile(await this.file(name), "utf8")).trim();
  }

  async write(name: string, text: string): Promise<void> {
    await writeWhole(this.path(name), text);
  }
}

export class NetworkFolder {
  readonly path: string;
  readonly secrets: Secrets;

  constructor(folder: string) {
    this.path = folder;
    this.secrets = new Secrets(path.join(folder, "secrets"));
  }

  inside(...parts: readonly string[]): string {
    return path.join(this.path, ...parts);
  }

  log(name: string): string {
    return this.inside("logs", `${name}.log`);
  }

  /** Undefined on a new folder. Throws with advice when another version made it. */
  async readDeployment(): Promise<Deployment | undefined> {
    return readJson(this.inside("deployment.json"), deployment);
  }

  async writeDeployment(value: Deployment): Promise<void> {
    await writeWhole(this.inside("deployment.json"), `${JSON.stringify(value, undefined, 2)}\n`);
  }
}

/** The refusal of a chain that holds other contracts than these. */
export function madeByOlderVersion(file: string): StackError {
  return new StackError(
    `${file} was made by an older version, whose chain this one cannot continue. Begin anew with: npm start -- --fresh`,
  );
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new StackError(`${file} is damaged. Begin anew with: npm start -- --fresh`);
  }
  const parsed = schema.safeParse(json);
  if (!parsed.success) throw madeByOlderVersion(file);
  return parsed.data;
}

/** Whole or not at all, for its owner's eyes only. */
async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${String(process.pid)}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, file);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

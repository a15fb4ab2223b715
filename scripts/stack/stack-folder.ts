// What a local stack keeps on disk: its one lock, the API key, a folder for each network with secrets, store,
// chain and logs, and the stack.json that tells others where everything is. Nothing here is for production.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import {
  isAlive,
  NETWORK_NAMES,
  readStackJson,
  StackError,
  type NetworkName,
  type StackFile,
} from "../base/stack-file.ts";

const address = z.custom<Address>((text) => typeof text === "string" && text === asAddress(text));

/** `deployment.json` of a network: what is on its chain. */
const deployment = z.object({
  /** Fingerprint of contracts and circuits: a chain that holds others is not resumed. */
  contracts: z.string(),
  chain_id: z.int(),
  pool: address,
  deployment_block: z.int(),
  /** Attestations that the pool asks for. */
  threshold: z.int().min(1),
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

class Folder {
  readonly path: string;
  readonly secrets: Secrets;

  constructor(folder: string) {
    this.path = path.resolve(folder);
    this.secrets = new Secrets(path.join(this.path, "secrets"));
  }

  inside(name: string): string {
    return path.join(this.path, name);
  }

  log(name: string): string {
    return path.join(this.path, "logs", `${name}.log`);
  }
}

/** Its secrets are those that all networks share. */
export class StackFolder extends Folder {
  /** A network's own part. */
  network(name: NetworkName): NetworkFolder {
    return new NetworkFolder(this.inside(name));
  }

  /** One supervisor a folder: two chains with one state file would destroy it. Undefined when it was free, else the pid that holds it. */
  async lock(): Promise<number | undefined> {
    const file = this.inside("lock");
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
    await rm(this.inside("lock"), { force: true });
  }

  /**
   * Forgets chain, store and secrets of these networks. What they share goes with the last of them: another
   * network's store still knows the API key. The set-up's own files beside them stay.
   */
  async forget(names: readonly NetworkName[]): Promise<void> {
    for (const name of names) await rm(this.inside(name), { recursive: true, force: true });
    await rm(this.inside("stack.json"), { force: true });
    const isEmpty = NETWORK_NAMES.every((name) => !existsSync(this.inside(name)));
    if (isEmpty) await rm(this.inside("secrets"), { recursive: true, force: true });
  }

  async writeStack(value: StackFile): Promise<void> {
    await writeJson(this.inside("stack.json"), value);
  }
}

/** One network's part of a stack's folder. */
export class NetworkFolder extends Folder {
  /** Undefined on a new folder. Throws with advice when another version made it. */
  async readDeployment(): Promise<Deployment | undefined> {
    return readStackJson(this.inside("deployment.json"), deployment);
  }

  async writeDeployment(value: Deployment): Promise<void> {
    await writeJson(this.inside("deployment.json"), value);
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
    if (!existsSync(file)) await this.write(name, `0x${randomBytes(32).toString("hex")}\n`);
    return file;
  }

  async text(name: string): Promise<string> {
    return (await readFile(await this.file(name), "utf8")).trim();
  }

  async write(name: string, text: string): Promise<void> {
    await writeWhole(this.path(name), text);
  }
}

export function writeJson(file: string, value: unknown): Promise<void> {
  return writeWhole(file, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** Whole or not at all, for its owner's eyes only. */
async function writeWhole(file: string, text: string): Promise<void> {
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
  const temporary = `${file}.${String(process.pid)}.tmp`;
  await writeFile(temporary, text, { mode: 0o600 });
  await rename(temporary, file);
}

// What a local stack keeps on disk: its one lock, its secrets, what was deployed, and the stack.json
// that tells others where everything is. Nothing here is for production.
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { asAddress, type Address } from "../../shared/protocol/brands.ts";

const address = z.string().transform((text, context): Address => {
  const parsed = asAddress(text);
  if (parsed !== undefined) return parsed;
  context.addIssue({ code: "custom", message: "not an address" });
  return z.NEVER;
});

/** `deployment.json` of a network: what is on its chain. */
const deployment = z.object({
  chain_id: z.int(),
  pool: address,
  usdc: address,
  deployment_block: z.int(),
  /** Enclave signers registered by this stack and not yet removed. */
  signers: z.array(address),
});
export type Deployment = z.infer<typeof deployment>;

const network = z.object({
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
});

/** `stack.json`: where a running stack is reached, and the development API key. Readable by its owner only. */
const stackFile = z.object({
  api_key: z.string(),
  /** Process that runs the stack; a reader checks that it lives. */
  pid: z.int(),
  networks: z.object({ first: network }),
});
export type StackFile = z.infer<typeof stackFile>;

/** A refusal to start that is meant for the person at the keyboard. */
export class StackError extends Error {}

export class StackFolder {
  readonly path: string;

  constructor(folder: string) {
    this.path = path.resolve(folder);
  }

  /** Inside the first network's part. */
  first(...parts: readonly string[]): string {
    return path.join(this.path, "first", ...parts);
  }

  log(name: string): string {
    return this.first("logs", `${name}.log`);
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

  /** Forgets chain, store and secrets. The set-up's own files beside them stay. */
  async forget(): Promise<void> {
    await rm(this.first(), { recursive: true, force: true });
    await rm(path.join(this.path, "stack.json"), { force: true });
  }

  /** A secret of 32 random bytes as hex, made at the first start; returns its file. */
  async secretFile(name: string): Promise<string> {
    const file = this.first("secrets", name);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const existing = await readFile(file, "utf8").catch(() => undefined);
    if (existing === undefined) await writeWhole(file, `0x${randomBytes(32).toString("hex")}\n`);
    return file;
  }

  async secret(name: string): Promise<string> {
    return (await readFile(await this.secretFile(name), "utf8")).trim();
  }

  /** Undefined on a new folder. Throws with advice when the file is damaged. */
  async readDeployment(): Promise<Deployment | undefined> {
    return readJson(this.first("deployment.json"), deployment);
  }

  async writeDeployment(value: Deployment): Promise<void> {
    await writeWhole(this.first("deployment.json"), `${JSON.stringify(value, undefined, 2)}\n`);
  }

  async readStack(): Promise<StackFile | undefined> {
    return readJson(path.join(this.path, "stack.json"), stackFile);
  }

  /** The stack file of a stack that runs now. */
  async running(): Promise<StackFile | undefined> {
    const stack = await this.readStack();
    return stack !== undefined && isAlive(stack.pid) ? stack : undefined;
  }

  async writeStack(value: StackFile): Promise<void> {
    await writeWhole(path.join(this.path, "stack.json"), `${JSON.stringify(value, undefined, 2)}\n`);
  }
}

async function readJson<T>(file: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new StackError(`${file} is damaged or from another version. Begin anew with: npm start -- --fresh`);
  }
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

// A local chain for development, tests and gas figures: anvil from npm, stopped with its owner.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { supervised, untilReady, type Child } from "./child.ts";
import { freePort } from "./ports.ts";

export interface AnvilOptions {
  /** Default 31337. */
  readonly chainId?: number;
  /** Default: a free one. */
  readonly port?: number;
  /** Loaded when it exists, written at the end. */
  readonly stateFile?: string;
  /** Seconds between blocks; without it every transaction is mined at once. */
  readonly blockTimeSecs?: number;
  /** More arguments for anvil, as on its command line. */
  readonly args?: readonly string[];
}

export interface Anvil extends Child {
  readonly url: string;
  readonly port: number;
  readonly chainId: number;
}

/** The mnemonic of anvil's funded accounts; public, worthless outside a local chain. */
export const DEVELOPMENT_MNEMONIC = "test test test test test test test test test test test junk";

/** Each holds 10,000 coins and is unlocked. */
const ACCOUNTS = 12;
const BLOCK_GAS_LIMIT = 60_000_000;
const READY_WITHIN_MS = 20_000;

export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  // A free port is only free when we look; another process may take it first, so a few tries.
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options);
    } catch (error) {
      if (options.port !== undefined || attempt >= 3) throw error;
    }
  }
}

async function startOnce(options: AnvilOptions): Promise<Anvil> {
  const port = options.port ?? (await freePort());
  const chainId = options.chainId ?? 31_337;
  const spawned = spawn(
    anvilBinary(),
    [
      "--silent",
      ...["--host", "127.0.0.1"],
      ...["--port", String(port)],
      ...["--chain-id", String(chainId)],
      ...["--accounts", String(ACCOUNTS)],
      ...["--gas-limit", String(BLOCK_GAS_LIMIT)],
      ...["--mnemonic", DEVELOPMENT_MNEMONIC],
      ...(options.stateFile === undefined ? [] : ["--state", options.stateFile]),
      ...(options.blockTimeSecs === undefined ? [] : ["--block-time", String(options.blockTimeSecs)]),
      ...(options.args ?? []),
    ],
    { stdio: ["ignore", "ignore", "pipe"], detached: true },
  );
  let complaint = "";
  spawned.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2_000)));
  const child = supervised(spawned);
  const url = `http://127.0.0.1:${String(port)}`;
  await untilReady(
    child,
    () => answers(url, chainId),
    READY_WITHIN_MS,
    (how) => new Error(`anvil did not start (${how}): ${complaint.trim()}`),
  );
  return { ...child, url, port, chainId };
}

/** The platform's own program: the package's `bin` is a Node wrapper that does not pass signals on. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const manifest = require.resolve(`@foundry-rs/anvil-${process.platform}-${architecture}/package.json`);
  return path.join(path.dirname(manifest), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
}

async function answers(url: string, chainId: number): Promise<true | undefined> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }),
      signal: AbortSignal.timeout(1_000),
    });
    const reply = (await response.json()) as { result?: string };
    return reply.result === `0x${chainId.toString(16)}` || undefined;
  } catch {
    return undefined;
  }
}

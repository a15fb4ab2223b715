// A local chain for development, tests and gas figures: anvil from npm, stopped with its owner.
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { createRequire } from "node:module";
import path from "node:path";
import { dieWithOwner } from "./watchdog.ts";

export interface AnvilOptions {
  /** Default 31337. */
  readonly chainId?: number;
  /** Default: a free one. */
  readonly port?: number;
  /** Default 12; each holds 10,000 coins and is unlocked. */
  readonly accounts?: number;
  /** Loaded when it exists, written at the end. */
  readonly stateFile?: string;
  /** Seconds between blocks; without it every transaction is mined at once. */
  readonly blockTimeSecs?: number;
  /** Default 60 million. */
  readonly gasLimit?: number;
  /** More arguments for anvil, as on its command line. */
  readonly args?: readonly string[];
}

export interface Anvil {
  readonly url: string;
  readonly port: number;
  readonly chainId: number;
  readonly pid: number;
  /** Resolves when the process is gone, however that came. */
  readonly ended: Promise<void>;
  /** Resolves when the process is gone. Harmless when called twice. */
  stop(): Promise<void>;
}

/** The mnemonic of anvil's funded accounts; public, worthless outside a local chain. */
export const DEVELOPMENT_MNEMONIC = "test test test test test test test test test test test junk";

const START_DEADLINE_MS = 20_000;
const POLL_MS = 25;

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
  const child = spawn(
    anvilBinary(),
    [
      "--silent",
      ...["--host", "127.0.0.1"],
      ...["--port", String(port)],
      ...["--chain-id", String(chainId)],
      ...["--accounts", String(options.accounts ?? 12)],
      ...["--gas-limit", String(options.gasLimit ?? 60_000_000)],
      ...["--mnemonic", DEVELOPMENT_MNEMONIC],
      ...(options.stateFile === undefined ? [] : ["--state", options.stateFile]),
      ...(options.blockTimeSecs === undefined ? [] : ["--block-time", String(options.blockTimeSecs)]),
      ...(options.args ?? []),
    ],
    { stdio: ["ignore", "ignore", "pipe"], detached: true },
  );
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2_000)));
  const life = { hasEnded: false };
  const ended = new Promise<void>((resolve) => {
    const end = (): void => {
      life.hasEnded = true;
      resolve();
    };
    child.once("close", end);
    child.once("error", (error) => {
      complaint += error.message;
      end();
    });
  });
  void ended.then(dieWithOwner(child.pid));

  const url = `http://127.0.0.1:${String(port)}`;
  const deadline = Date.now() + START_DEADLINE_MS;
  while (!(await answers(url, chainId))) {
    if (life.hasEnded || Date.now() > deadline) {
      child.kill("SIGKILL");
      await ended;
      throw new Error(`anvil did not start: ${complaint.trim()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return {
    url,
    port,
    chainId,
    pid: child.pid ?? -1,
    ended,
    stop: () => {
      if (!life.hasEnded) child.kill("SIGTERM");
      return ended;
    },
  };
}

/** The platform's own program: the package's `bin` is a Node wrapper that does not pass signals on. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const platform = process.platform === "win32" ? "win32" : process.platform;
  const manifest = require.resolve(`@foundry-rs/anvil-${platform}-${architecture}/package.json`);
  return path.join(path.dirname(manifest), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
}

async function answers(url: string, chainId: number): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }),
      signal: AbortSignal.timeout(1_000),
    });
    const reply = (await response.json()) as { result?: string };
    return reply.result === `0x${chainId.toString(16)}`;
  } catch {
    return false;
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}

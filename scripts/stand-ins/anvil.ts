// A local chain for development, tests and gas figures: anvil from npm, stopped with its owner.
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { supervised, untilReady, type Child } from "../base/child.ts";

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
/** Its last line before it answers. */
const LISTENING = /^Listening on 127\.0\.0\.1:(\d+)\n/m;
const LAST_WORDS = 2_000;

export async function startAnvil(options: AnvilOptions = {}): Promise<Anvil> {
  const chainId = options.chainId ?? 31_337;
  const spawned = spawn(
    anvilBinary(),
    [
      ...["--host", "127.0.0.1"],
      // 0: the system chooses, so that two that start at once never believe that one chain is theirs.
      ...["--port", String(options.port ?? 0)],
      ...["--chain-id", String(chainId)],
      ...["--accounts", String(ACCOUNTS)],
      ...["--gas-limit", String(BLOCK_GAS_LIMIT)],
      ...["--mnemonic", DEVELOPMENT_MNEMONIC],
      ...(options.stateFile === undefined ? [] : ["--state", options.stateFile]),
      ...(options.blockTimeSecs === undefined ? [] : ["--block-time", String(options.blockTimeSecs)]),
      ...(options.args ?? []),
    ],
    { stdio: ["ignore", "pipe", "pipe"], detached: true },
  );
  let said = "";
  for (const stream of [spawned.stdout, spawned.stderr])
    stream.on("data", (chunk: Buffer) => (said = (said + chunk.toString()).slice(-LAST_WORDS)));
  const child = supervised(spawned);
  const [, port] = await untilReady(
    child,
    () => LISTENING.exec(said) ?? undefined,
    (how) => new Error(`anvil did not start (${how}): ${said.trim()}`),
  );
  const url = `http://127.0.0.1:${port!}`;
  await silence(url);
  return { ...child, url, port: Number(port), chainId };
}

/** It tells of every question otherwise. */
async function silence(url: string): Promise<void> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "anvil_setLoggingEnabled", params: [false] }),
  });
  await response.body?.cancel();
}

/** The platform's own program: the package's `bin` is a Node wrapper that does not pass signals on. */
function anvilBinary(): string {
  const require = createRequire(import.meta.url);
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const manifest = require.resolve(`@foundry-rs/anvil-${process.platform}-${architecture}/package.json`);
  return path.join(path.dirname(manifest), "bin", process.platform === "win32" ? "anvil.exe" : "anvil");
}

// A redis-server of our own, from this machine's PATH. Development only: it asks nobody for a password.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { createClient } from "redis";
import { StackError } from "../product/stack-file.ts";
import { dieWithOwner } from "./watchdog.ts";

export interface RedisProcess {
  readonly url: string;
  readonly pid: number;
  /** Resolves with a description when it is gone, however that came. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

const SETTINGS = {
  /** May hold what must not be lost. */
  durable: ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"],
  /** For limits, which may be forgotten. */
  volatile: ["--appendonly", "no"],
} as const;

const READY_WITHIN_MS = 30_000;

/** Throws StackError with advice where there is no redis-server. */
export async function startRedisServer(options: {
  readonly port: number;
  /** Where its files are; what a durable one held before is there again. */
  readonly folder: string;
  readonly role: keyof typeof SETTINGS;
}): Promise<RedisProcess> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const settings = [
    "--port",
    String(options.port),
    "--bind",
    "127.0.0.1",
    "--dir",
    options.folder,
    "--save",
    "",
  ];
  const child = spawn("redis-server", [...settings, ...SETTINGS[options.role]], {
    stdio: "ignore",
    detached: true,
  });
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    child.once("close", (code, signal) => resolve(signal ?? `exit code ${String(code)}`));
  });
  const url = `redis://127.0.0.1:${String(options.port)}`;
  const outcome = await Promise.race([ended, untilLoaded(url)]);
  if (outcome === "ENOENT")
    throw new StackError(
      "there is no redis-server on this machine; install it (Debian: apt install redis-server)",
    );
  if (typeof outcome === "string") throw new StackError(`redis-server did not start (${outcome})`);
  if (!outcome) {
    child.kill("SIGKILL");
    throw new StackError(`redis-server was not ready after ${String(READY_WITHIN_MS / 1000)} s`);
  }
  const release = dieWithOwner(child.pid);
  void ended.then(release);
  return { url, pid: child.pid ?? 0, ended, stop: () => stop(child) };
}

async function untilLoaded(url: string): Promise<boolean> {
  const end = Date.now() + READY_WITHIN_MS;
  while (Date.now() < end) {
    const client = createClient({ url, RESP: 2, socket: { reconnectStrategy: false } });
    client.on("error", () => undefined);
    try {
      await client.connect();
      const info: unknown = await client.sendCommand(["INFO", "persistence"]);
      if (typeof info === "string" && info.includes("loading:0")) return true;
    } catch {
      // Not there yet.
    } finally {
      client.destroy();
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "close");
  child.kill("SIGTERM");
  await gone;
}

// A redis-server of our own, from this machine's PATH. Development only: it asks nobody for a password.
import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { createClient } from "redis";
import { StackError } from "../base/stack-file.ts";
import { supervised, untilReady, type Child } from "../base/child.ts";

export interface RedisProcess extends Child {
  readonly url: string;
}

const SETTINGS = {
  /** May hold what must not be lost. */
  durable: ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"],
  /** For limits, which may be forgotten. */
  volatile: ["--appendonly", "no"],
} as const;

/** Throws StackError with advice where there is no redis-server. */
export async function startRedisServer(options: {
  readonly port: number;
  /** Where its files are; what a durable one held before is there again. */
  readonly folder: string;
  readonly role: keyof typeof SETTINGS;
}): Promise<RedisProcess> {
  await mkdir(options.folder, { recursive: true, mode: 0o700 });
  const settings = [
    ...["--port", String(options.port)],
    ...["--bind", "127.0.0.1"],
    ...["--dir", options.folder],
    ...["--save", ""],
  ];
  const child = supervised(
    spawn("redis-server", [...settings, ...SETTINGS[options.role]], { stdio: "ignore", detached: true }),
  );
  const url = `redis://127.0.0.1:${String(options.port)}`;
  await untilReady(
    child,
    () => hasLoaded(url),
    (how) =>
      new StackError(
        how.includes("ENOENT")
          ? "there is no redis-server on this machine; install it (Debian: apt install redis-server)"
          : `redis-server did not start (${how})`,
      ),
  );
  return { ...child, url };
}

async function hasLoaded(url: string): Promise<true | undefined> {
  const client = createClient({ url, RESP: 2, socket: { reconnectStrategy: false } });
  client.on("error", () => undefined);
  try {
    await client.connect();
    const info: unknown = await client.sendCommand(["INFO", "persistence"]);
    return (typeof info === "string" && info.includes("loading:0")) || undefined;
  } catch {
    return undefined;
  } finally {
    client.destroy();
  }
}

// A real redis-server of the test's own, which it may freeze, kill and start again. Volatile ones write nothing to disk.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { freePort } from "../../scripts/stack/ports.ts";
import { until } from "./until.ts";

export interface RedisServer {
  readonly url: string;
  /** Stops its clockwork without closing anything: it takes bytes and answers none. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Again on the same port: a volatile one empty, a durable one with what its disk has. */
  start(): Promise<void>;
  /** A command of an operator who sits at the server. */
  command(...args: string[]): Promise<unknown>;
}

/** Settings under which a Redis may hold what must not be lost. */
const DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"];
const folders: string[] = [];
process.once("exit", () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** `more` is added to, or overrules, the settings. */
export function startDurableRedis(...more: string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "cloister-redis-"));
  folders.push(folder);
  return startServer(["--dir", folder, ...DURABLE, ...more]);
}

export function startRedis(): Promise<RedisServer> {
  return startServer(["--appendonly", "no"]);
}

async function startServer(settings: readonly string[]): Promise<RedisServer> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${String(port)}`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", ...settings];
    const started = spawn("redis-server", options, { stdio: "ignore" });
    child = started;
    await until("redis-server to listen, with its data", async () => (await canConnect(port)) && isLoaded());
  }

  const command = (...args: string[]): Promise<unknown> => redisCommand(url, ...args);

  const isLoaded = async (): Promise<boolean> =>
    String(await command("INFO", "persistence")).includes("loading:0");

  await start();
  return {
    url,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    start,
    command,
  };
}

/** A command of an operator who sits at the server. */
export async function redisCommand(url: string, ...args: string[]): Promise<unknown> {
  const client = createClient({ url, RESP: 2, socket: { reconnectStrategy: false } });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return await client.sendCommand(args);
  } finally {
    client.destroy();
  }
}

function canConnect(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

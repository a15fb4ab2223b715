// A real redis-server of the test's own, which it may freeze, kill and start again. Nothing is written to disk.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createConnection, createServer, type AddressInfo } from "node:net";
import { until } from "./until.ts";

export interface RedisServer {
  readonly url: string;
  /** Stops its clockwork without closing anything: it takes bytes and answers none. */
  freeze(): void;
  thaw(): void;
  kill(): Promise<void>;
  /** Again on the same port, empty. */
  start(): Promise<void>;
}

export async function startRedis(): Promise<RedisServer> {
  const port = await freePort();
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const options = ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    const started = spawn("redis-server", options, { stdio: "ignore" });
    child = started;
    await until("redis-server to listen", () => canConnect(port));
  }

  await start();
  return {
    url: `redis://127.0.0.1:${String(port)}`,
    freeze: () => void child?.kill("SIGSTOP"),
    thaw: () => void child?.kill("SIGCONT"),
    async kill() {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    },
    start,
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
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

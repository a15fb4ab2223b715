// Spreads connections over several proxies in turn, as a load balancer in front of them does: it knows nothing of
// HTTP, holds no state of a caller, and passes over a proxy that takes no connection. Development only.
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Balancer {
  readonly port: number;
  stop(): Promise<void>;
}

/** A proxy that does not even take the connection is taken for unreachable after this long. */
const CONNECT_MS = 1_000;

/** `targets` are asked for again with each connection: ports on this machine. */
export async function startBalancer(port: number, targets: () => readonly number[]): Promise<Balancer> {
  let turn = 0;
  const open = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    return socket.once("close", () => open.delete(socket));
  };

  function reach(target: number): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      const socket = keep(connect(target, "127.0.0.1"));
      const timer = setTimeout(() => socket.destroy(), CONNECT_MS);
      socket.once("connect", () => {
        clearTimeout(timer);
        resolve(socket);
      });
      socket.once("close", () => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
  }

  async function serve(caller: Socket): Promise<void> {
    const all = targets();
    const first = turn++;
    for (let i = 0; i < all.length; i++) {
      const target = all[(first + i) % all.length];
      const proxy = target === undefined ? undefined : await reach(target);
      if (proxy === undefined) continue;
      if (caller.destroyed) {
        proxy.destroy();
        return;
      }
      caller.pipe(proxy).pipe(caller);
      caller.once("close", () => proxy.destroy());
      proxy.once("close", () => caller.destroy());
      return;
    }
    caller.destroy();
  }

  const server = createServer((caller) => void serve(keep(caller)));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

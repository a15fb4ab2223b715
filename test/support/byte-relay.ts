/**
 * Stands between a proxy and a server that it needs (a Redis, an enclave) and carries bytes: at once, late, or not
 * at all. Knows no protocol.
 */
import { createServer, connect, type AddressInfo, type Socket } from "node:net";

export interface ByteRelay {
  /** Of the relay, when it listens on a port. */
  readonly port: number;
  /** From now on every piece arrives so much later, either way. */
  delay(ms: number): void;
  /** Ends every connection, and every new one at once. */
  cut(): void;
  /**
   * A network that swallows: nothing arrives, no connection ends, and no new one is made. What is sent meanwhile
   * arrives at `release`, even when its sender has long given up, as from a system that goes on sending it again.
   */
  swallow(): void;
  /** New connections are carried again. What was swallowed stays so. */
  repair(): void;
  /** Resolves when what was swallowed has been handed to the server. */
  release(): Promise<void>;
  close(): Promise<void>;
}

interface Pair {
  readonly caller: Socket;
  readonly server: Socket;
  /** Set while it is swallowed. */
  held: Buffer[] | undefined;
}

/** `at` and `to`: a port of this machine, or the path of a Unix socket. Port 0 is a free one. */
export async function startByteRelay(at: number | string, to: number | string): Promise<ByteRelay> {
  const pairs = new Set<Pair>();
  const strays = new Set<Socket>();
  let mode: "carry" | "cut" | "swallow" = "carry";
  let delayMs = 0;

  const relay = createServer((caller) => {
    caller.on("error", () => caller.destroy());
    if (mode === "cut") {
      caller.destroy();
      return;
    }
    if (mode === "swallow") {
      strays.add(caller);
      caller.resume().once("close", () => strays.delete(caller));
      return;
    }
    const server = connect(typeof to === "number" ? { port: to, host: "127.0.0.1" } : { path: to });
    const pair: Pair = { caller, server, held: undefined };
    pairs.add(pair);
    carry(pair);
  });

  function carry(pair: Pair): void {
    const { caller, server } = pair;
    server.on("error", () => server.destroy());
    caller.on("data", (bytes: Buffer) => {
      if (pair.held === undefined) after(() => server.write(bytes));
      else pair.held.push(bytes);
    });
    server.on("data", (bytes: Buffer) => {
      if (pair.held === undefined) after(() => caller.write(bytes));
    });
    caller.once("close", () => {
      if (pair.held !== undefined) return;
      pairs.delete(pair);
      after(() => server.destroy());
    });
    server.once("close", () => {
      pairs.delete(pair);
      after(() => caller.destroy());
    });
  }

  /** Timers of one length end in the order in which they began, so the bytes stay in order. */
  function after(act: () => void): void {
    if (delayMs === 0) act();
    else setTimeout(act, delayMs);
  }

  await new Promise<void>((resolve, reject) => {
    relay.once("error", reject);
    if (typeof at === "number") relay.listen(at, "127.0.0.1", resolve);
    else relay.listen(at, resolve);
  });
  const address = relay.address() as AddressInfo | string;

  const endAll = (): void => {
    for (const socket of strays) socket.destroy();
    for (const { caller, server } of pairs) {
      caller.destroy();
      server.destroy();
    }
  };

  return {
    port: typeof address === "string" ? 0 : address.port,
    delay(ms) {
      delayMs = ms;
    },
    cut() {
      mode = "cut";
      endAll();
    },
    swallow() {
      mode = "swallow";
      for (const pair of pairs) pair.held ??= [];
    },
    repair() {
      mode = "carry";
      for (const socket of strays) socket.destroy();
    },
    async release() {
      for (const pair of pairs) {
        const { held, server, caller } = pair;
        if (held === undefined) continue;
        pair.held = undefined;
        const bytes = Buffer.concat(held);
        if (bytes.length > 0) await new Promise<void>((resolve) => server.write(bytes, () => resolve()));
        if (caller.destroyed) server.end();
      }
    },
    close: () =>
      new Promise((resolve) => {
        relay.close(() => resolve());
        endAll();
      }),
  };
}

/**
 * A connection to a volatile Redis. It never queues for a server that is unreachable, bounds what is under way, and
 * comes back by itself. Trusts Redis to be the operator's; the URL may hold a password and is never repeated.
 */
import { createClient } from "redis";

export interface RedisConnection {
  /** One command. Rejects at once while there is no connection. */
  send(args: readonly string[]): Promise<unknown>;
  /** Resolves when Redis answers. A connection that has gone silent is replaced. */
  revive(): Promise<void>;
  close(): void;
}

const CONNECT_MS = 1_000;
const LONGEST_PAUSE_MS = 1_000;
/** A silent connection is given up after this; a network that swallows packets never says that it is gone. */
const SILENT_MS = 3_000;
const MOST_UNDER_WAY = 20_000;

export function connectRedis(url: string): RedisConnection {
  let isClosed = false;
  let client = open();
  let silentSince: number | undefined;

  function open(): ReturnType<typeof newClient> {
    const opened = newClient(url);
    // Faults reach those who ask; without a listener they would end the process.
    opened.on("error", () => undefined);
    opened.connect().catch(() => undefined);
    return opened;
  }

  return {
    send: (args) => client.sendCommand([...args]),
    async revive() {
      silentSince ??= performance.now();
      if (performance.now() - silentSince > SILENT_MS && !isClosed) {
        client.destroy();
        client = open();
        silentSince = performance.now();
      }
      await ready(client);
      await client.ping();
      silentSince = undefined;
    },
    close() {
      isClosed = true;
      if (client.isOpen) client.destroy();
    },
  };
}

function newClient(url: string) {
  return createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: MOST_UNDER_WAY,
    socket: {
      connectTimeout: CONNECT_MS,
      reconnectStrategy: (retries) => Math.min(50 * 2 ** Math.min(retries, 10), LONGEST_PAUSE_MS),
    },
  });
}

/** At the start the connection is still being made; later `ping` says at once that there is none. */
async function ready(client: ReturnType<typeof newClient>): Promise<void> {
  if (client.isReady) return;
  await new Promise<void>((resolve) => {
    client.once("ready", resolve);
    setTimeout(() => {
      client.off("ready", resolve);
      resolve();
    }, CONNECT_MS).unref();
  });
}

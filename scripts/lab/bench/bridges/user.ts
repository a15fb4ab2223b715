// Users of bridges over HTTP: addresses are opened as an app opens them, and what becomes of them is heard on the
// event stream.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { BridgeAddress } from "../../../../shared/api/bridges.ts";
import type { BridgeStatus } from "../../../../shared/api/bridge-status.ts";
import { createClient, type Client } from "../../../../shared/client/index.ts";
import { randomField } from "../../../../shared/notes/note.ts";
import { CIPHERTEXT_BYTES, EPHEMERAL_KEY_BYTES } from "../../../../shared/protocol/statements.ts";

const UNDER_WAY = 16;
const bytes = (length: number): string => `0x${randomBytes(length).toString("hex")}`;

/** For nobody's notes: neither the service nor a chain can tell. */
export async function openAddresses(client: Client, count: number): Promise<readonly BridgeAddress[]> {
  const opened: BridgeAddress[] = [];
  let left = count;
  await Promise.all(
    Array.from({ length: UNDER_WAY }, async () => {
      while (left-- > 0)
        opened.push(
          await client.bridgeIn({
            npk: `0x${randomField().toString(16).padStart(64, "0")}`,
            ephemeral_key: bytes(EPHEMERAL_KEY_BYTES),
            ciphertext: bytes(CIPHERTEXT_BYTES),
            refund_address: bytes(20),
          }),
        );
    }),
  );
  return opened;
}

export interface Listener {
  readonly client: Client;
  /** The first that is told of this request from now on and is so; `at` is of `performance.now`. */
  until(id: string, isSo: (state: BridgeStatus["state"]) => boolean): Promise<{ readonly at: number }>;
  /** Every wait of `until` ends with what ended the stream. */
  stop(): void;
}

const HEARD_WITHIN_MS = 180_000;

/** A user with a session and an event stream of its own. */
export async function listen(baseUrl: string, apiKey: string, sub: string): Promise<Listener> {
  const developer = createClient({ baseUrl, credential: { apiKey } });
  const { token } = await developer.createSession({ sub, perms: ["read", "write"], ttl_secs: 3600 });
  const client = createClient({ baseUrl, credential: { sessionProvider: () => Promise.resolve(token) } });
  const leaving = new AbortController();
  const hearers = new Map<string, Set<(state: BridgeStatus["state"]) => void>>();
  const ready = new EventTarget();
  const isReady = once(ready, "synced");
  let fail: (fault: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined);

  async function follow(): Promise<never> {
    for await (const event of client.events({ types: ["bridge", "synced"], signal: leaving.signal })) {
      if (event.kind === "synced") ready.dispatchEvent(new Event("synced"));
      if (event.kind === "bridge")
        for (const hear of hearers.get(event.data.bridge_id) ?? []) hear(event.data.state);
    }
    throw new Error("the event stream ended");
  }

  follow().catch(fail);
  await Promise.race([isReady, failed]);
  return {
    client,
    until(id, isSo) {
      const heard = new Promise<{ readonly at: number }>((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`nothing was heard of ${id}`)), HEARD_WITHIN_MS);
        const waiting = hearers.get(id) ?? new Set();
        hearers.set(id, waiting);
        waiting.add(function hear(state) {
          if (!isSo(state)) return;
          clearTimeout(timer);
          waiting.delete(hear);
          resolve({ at: performance.now() });
        });
      });
      return Promise.race([heard, failed]);
    },
    stop: () => leaving.abort(),
  };
}

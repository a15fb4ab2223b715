/**
 * Which outputs of a chunk a viewing key opens: one X25519 for each ephemeral key, one view tag for each output. Nearly all
 * of a restore's work, and nothing but arithmetic: it runs in workers. What opens is a claim; the commitment is looked
 * at elsewhere.
 */
import { x25519 } from "@noble/curves/ed25519.js";
import type { HistoryChunk } from "../../api/history-chunk.ts";
import { TransactionReader } from "../../notes/encryption.ts";
import type { Note } from "../../notes/note.ts";
import { platformX25519 } from "../../notes/platform-x25519.ts";

/** What a worker is told: enough to find what its owner receives, and not to spend. */
export interface ScanKeys {
  readonly viewingSecret: Uint8Array;
  readonly viewingKey: Uint8Array;
}

export interface OpenedOutput {
  /** Place within the chunk. */
  readonly place: number;
  readonly note: Note;
}

export type ChunkScan = (chunk: HistoryChunk) => Promise<OpenedOutput[]>;

/** Asked of the platform at once: where it answers from another thread, waiting for each would take twice as long. */
const KEYS_AT_ONCE = 32;

/** `pause` is awaited after every few keys. */
export function chunkScan(
  { viewingSecret, viewingKey }: ScanKeys,
  pause: () => Promise<void> = () => Promise.resolve(),
): ChunkScan {
  const platform = platformX25519(viewingSecret);

  async function sharedSecret(ephemeralKey: Uint8Array): Promise<Uint8Array | undefined> {
    try {
      return (await platform(ephemeralKey)) ?? x25519.getSharedSecret(viewingSecret, ephemeralKey);
    } catch {
      // A key of low order: everybody knows its secret, so what it opens is nobody's.
      return undefined;
    }
  }

  return async (chunk) => {
    const opened: OpenedOutput[] = [];
    let place = 0;
    for (let first = 0; first < chunk.runCount; first += KEYS_AT_ONCE) {
      const count = Math.min(KEYS_AT_ONCE, chunk.runCount - first);
      const runs = Array.from({ length: count }, (_, i) => chunk.run(first + i));
      const secrets = await Promise.all(runs.map(({ ephemeralKey }) => sharedSecret(ephemeralKey)));
      for (const [i, { ephemeralKey, output, count: outputs }] of runs.entries()) {
        const shared = secrets[i];
        if (shared !== undefined) {
          const reader = new TransactionReader(shared, ephemeralKey, viewingKey);
          for (let at = 0; at < outputs; at++) {
            const note = reader.open(output + at, chunk.ciphertext(place + at));
            if (note !== undefined) opened.push({ place: place + at, note });
          }
        }
        place += outputs;
      }
      await pause();
    }
    return opened;
  };
}

/**
 * Which tickets were accepted or changed, as a stream that every write of a ticket adds to in the same step. Each
 * proxy reads on from where it was, so a break of its connection hides nothing.
 */
import { z } from "zod";
import type { DurableRedis } from "./durable.ts";

export interface News {
  readonly key: string;
  /** Calls back with ids in order of the writes; one may come again. Missed: more than the stream holds went by. */
  follow(listener: Listener): () => void;
  /** Looks now, after a write of our own. */
  look(): void;
}

export interface Listener {
  readonly changed: (ids: readonly string[]) => Promise<void>;
  readonly missed: () => Promise<void>;
}

/** Entries that a proxy may be behind: of a busy pool those of half an hour, at some 60 bytes each. */
export const NEWS_KEPT = 100_000;
const PAGE = 500;
const LOOK_EVERY_MS = 100;
const START = "0-0";

const entries = z.array(z.tuple([z.string(), z.tuple([z.literal("id"), z.string()])]));

export function openNews(redis: DurableRedis): News {
  const key = redis.key("ticket-news");
  let listener: Listener | undefined;
  /** Of the last entry that was read. */
  let last: string | undefined;
  let looking: Promise<void> | undefined;
  let isWanted = false;
  let timer: NodeJS.Timeout | undefined;

  async function newest(): Promise<string> {
    const [found] = entries.parse(await redis.send(["XREVRANGE", key, "+", "-", "COUNT", "1"]));
    return found?.[0] ?? START;
  }

  async function read(): Promise<void> {
    // With the last one again: if it is gone, others behind it may be, too.
    const from = last ?? (last = await newest());
    const found = entries.parse(await redis.send(["XRANGE", key, from, "+", "COUNT", String(PAGE)]));
    if (from !== START && found[0]?.[0] !== from) {
      last = await newest();
      await listener?.missed();
      return;
    }
    const fresh = from === START ? found : found.slice(1);
    if (fresh.length === 0) return;
    await listener?.changed([...new Set(fresh.map(([, [, id]]) => id))]);
    last = fresh.at(-1)?.[0];
    if (found.length === PAGE) isWanted = true;
  }

  const isFollowed = (): boolean => listener !== undefined;

  function look(): void {
    isWanted = true;
    if (!isFollowed()) return;
    clearTimeout(timer);
    looking ??= (async () => {
      while (isWanted && isFollowed()) {
        isWanted = false;
        // Away: everything that was written meanwhile is read when it is back.
        await read().catch(() => undefined);
      }
    })().finally(() => {
      looking = undefined;
      if (isFollowed()) timer = setTimeout(look, LOOK_EVERY_MS).unref();
    });
  }

  return {
    key,
    follow(one) {
      listener = one;
      last = undefined;
      look();
      return () => {
        listener = undefined;
        clearTimeout(timer);
      };
    },
    look,
  };
}

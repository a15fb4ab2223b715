/**
 * Members that steps have named, as a stream that each of them adds to in its own script. Each proxy reads on from
 * where it was, so a break of its connection hides nothing.
 */
import { z } from "zod";
import type { Follower } from "../engine.ts";
import type { DurableRedis } from "./durable.ts";

export const NEWS = "ticket-news";
/** Entries that a proxy may be behind: of a busy pool those of half an hour, at some 60 bytes each. */
export const NEWS_KEPT = 100_000;
const PAGE = 500;
const LOOK_EVERY_MS = 100;
const START = "0-0";

const entries = z.array(z.tuple([z.string(), z.tuple([z.literal("id"), z.string()])]));

export function openNews(redis: DurableRedis) {
  const key = redis.key(NEWS);
  const followers = new Set<Follower>();
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
      for (const follower of followers) await follower.missed();
      return;
    }
    const fresh = from === START ? found : found.slice(1);
    if (fresh.length === 0) return;
    const members = [...new Set(fresh.map(([, [, member]]) => member))];
    for (const follower of followers) await follower.named(members);
    last = fresh.at(-1)?.[0];
    if (found.length === PAGE) isWanted = true;
  }

  const isFollowed = (): boolean => followers.size > 0;

  function look(): void {
    isWanted = true;
    if (!isFollowed()) return;
    clearTimeout(timer);
    looking ??= (async () => {
      while (isWanted && isFollowed()) {
        isWanted = false;
        // Unreachable: everything that was written meanwhile is read when it is back.
        await read().catch(() => undefined);
      }
    })().finally(() => {
      looking = undefined;
      if (isFollowed()) timer = setTimeout(look, LOOK_EVERY_MS).unref();
    });
  }

  return {
    follow(follower: Follower): () => void {
      if (!isFollowed()) last = undefined;
      followers.add(follower);
      look();
      return () => {
        followers.delete(follower);
        if (!isFollowed()) clearTimeout(timer);
      };
    },
    /** Looks now, after a write of our own. */
    look,
  };
}

/** The news of an instance as a stream that each step adds to in its own script. */
import { z } from "zod";
import { NEWS_PAGE, openNews } from "../news.ts";
import type { DurableRedis } from "./durable.ts";

export const NEWS = "ticket-news";
const START = "0-0";

const entries = z.array(z.tuple([z.string(), z.tuple([z.literal("id"), z.string()])]));

export function openRedisNews(redis: DurableRedis) {
  const key = redis.key(NEWS);
  return openNews<string>({
    async newest() {
      const [found] = entries.parse(await redis.send(["XREVRANGE", key, "+", "-", "COUNT", "1"]));
      return found?.[0] ?? START;
    },
    async behind(place) {
      // With the one that was read last: if it is gone, others behind it may be, too.
      const most = String(place === START ? NEWS_PAGE : NEWS_PAGE + 1);
      const found = entries.parse(await redis.send(["XRANGE", key, place, "+", "COUNT", most]));
      if (place !== START && found[0]?.[0] !== place) return undefined;
      const fresh = place === START ? found : found.slice(1);
      return fresh.map(([at, [, member]]) => [at, member] as const);
    },
  });
}

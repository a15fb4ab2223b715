/** The news of an instance as numbered entries. */
import { NEWS_KEPT, NEWS_PAGE, openNews, type NewsSource } from "../news.ts";
import type { Database } from "./database.ts";

const NEWS = "news";

export function openLmdbNews(database: Database) {
  const table = database.table<string, number>(NEWS);
  const newest = (): number => [...table.getKeys({ reverse: true, limit: 1 })][0] ?? 0;
  const source: NewsSource<number> = {
    newest: () => Promise.resolve(newest()),
    behind(place) {
      if (place > 0 && table.get(place) === undefined) return Promise.resolve(undefined);
      const found = table.getRange({ start: place + 1, limit: NEWS_PAGE });
      return Promise.resolve([...found].map(({ key, value }) => [key, value] as const));
    },
  };
  return {
    ...source,
    ...openNews(source),
    /** Inside a transaction. */
    add(member: string): void {
      const number = newest() + 1;
      table.putSync(number, member);
      table.removeSync(number - NEWS_KEPT);
    },
  };
}

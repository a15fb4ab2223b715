// What a process that follows is told when its store is out of reach, or asked for something else, at that very moment.
import assert from "node:assert/strict";
import type { Follower } from "../../../../../proxy/base/store/engine.ts";
import { openNews } from "../../../../../proxy/base/store/news.ts";

/** Entries in memory. A question is answered by what there was when it was asked, as on a connection of Redis. */
class Source {
  readonly entries: string[] = [];
  /** What the next questions wait for. */
  readonly hindrances: Promise<unknown>[] = [];

  readonly newest = async (): Promise<number> => {
    const found = this.entries.length;
    await this.hindrances.shift();
    return found;
  };
  readonly behind = async (place: number) => {
    const found = this.entries.slice(place).map((member, i) => [place + i + 1, member] as const);
    await this.hindrances.shift();
    return found;
  };
}

describe("store/news", () => {
  let source: Source;
  let news: ReturnType<typeof openNews<number>>;
  let told: string[];
  let stops: (() => void)[];
  beforeEach(() => {
    source = new Source();
    news = openNews(source);
    told = [];
    stops = [];
  });
  afterEach(() => {
    for (const stop of stops) stop();
  });
  const follow = (missed: Follower["missed"] = async () => void told.push("missed")): (() => void) => {
    const stop = news.follow({ named: async (members) => void told.push(...members), missed });
    stops.push(stop);
    return stop;
  };

  it("nothing of before, and all of after", async () => {
    source.entries.push("before");
    follow();
    await news.look();
    source.entries.push("after");
    await news.look();
    assert.deepEqual(told, ["after"]);
  });

  it("that something was missed, where the store did not answer when it began", async () => {
    source.hindrances.push(Promise.reject(new Error("unreachable")));
    follow();
    source.entries.push("meanwhile");
    await news.look();
    source.entries.push("after");
    await news.look();
    assert.deepEqual(told, ["missed", "after"]);
  });

  it("the same where a question for an earlier follower was still under way", async () => {
    const stop = follow();
    await news.look();
    let goOn = (): void => undefined;
    source.hindrances.push(new Promise<void>((resolve) => (goOn = resolve)));
    const looking = news.look();
    stop();
    follow();
    source.entries.push("meanwhile");
    goOn();
    await looking;
    await news.look();
    source.entries.push("after");
    await news.look();
    assert.deepEqual(told, ["missed", "after"]);
  });

  it("again, until it has taken in that something was missed", async () => {
    source.hindrances.push(Promise.reject(new Error("unreachable")));
    let isBroken = true;
    follow(async () => {
      told.push("missed");
      if (isBroken) throw new Error("its own read failed");
    });
    await news.look();
    await news.look();
    isBroken = false;
    await news.look();
    await news.look();
    assert.deepEqual(told, ["missed", "missed", "missed"]);
  });
});

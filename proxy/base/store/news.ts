/**
 * Members that steps have named, in order of the steps. Each process that follows reads on from where it was, so whoever
 * wrote, and whatever was out of reach meanwhile, it misses nothing; or it is told that it has.
 */
import type { Follower } from "./engine.ts";

/** Entries that a process may be behind: of a busy pool those of half an hour, at some 60 bytes each. */
export const NEWS_KEPT = 100_000;
/** Entries of one look, at most. */
export const NEWS_PAGE = 500;
const LOOK_EVERY_MS = 100;

/** Where an engine keeps them; a place is where one stands among them. */
export interface NewsSource<Place> {
  readonly newest: () => Promise<Place>;
  /** Those behind it, a page at most; undefined where some of them may be gone. */
  readonly behind: (
    place: Place,
  ) => Promise<readonly (readonly [place: Place, member: string])[] | undefined>;
}

export function openNews<Place>({ newest, behind }: NewsSource<Place>) {
  const followers = new Set<Follower>();
  /** Of the last entry that was read. */
  let last: { readonly place: Place } | undefined;
  let looking: Promise<void> | undefined;
  let isWanted = false;
  /** Followers have been without a place, or have not taken in that they missed something: they are told so first. */
  let isLate = false;
  let timer: NodeJS.Timeout | undefined;

  async function read(): Promise<void> {
    const found = last === undefined ? undefined : await behind(last.place);
    if (found === undefined) {
      const isFirst = last === undefined && !isLate;
      last = undefined;
      isLate = true;
      const place = await newest();
      if (!isFirst) for (const follower of followers) await follower.missed();
      last = { place };
      isLate = false;
      isWanted = true;
      return;
    }
    const end = found.at(-1);
    if (end === undefined) return;
    const members = [...new Set(found.map(([, member]) => member))];
    for (const follower of followers) await follower.named(members);
    last = { place: end[0] };
    if (found.length === NEWS_PAGE) isWanted = true;
  }

  const isFollowed = (): boolean => followers.size > 0;

  /** Resolves when all that is there now has been read. */
  async function look(): Promise<void> {
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
      if (isFollowed()) timer = setTimeout(() => void look(), LOOK_EVERY_MS).unref();
    });
    await looking;
  }

  return {
    follow(follower: Follower): () => void {
      if (!isFollowed()) {
        last = undefined;
        isLate = looking !== undefined;
      }
      followers.add(follower);
      void look();
      return () => {
        followers.delete(follower);
        if (!isFollowed()) clearTimeout(timer);
      };
    },
    /** Looks now, after a write of our own. */
    look,
  };
}

/** Times in words. */

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;

/** Such as `3 minutes ago`. */
export function ago(time: Date, now = Date.now()): string {
  const secs = Math.max(0, Math.round((now - time.getTime()) / 1_000));
  if (secs < MINUTE) return "a moment ago";
  return `${inWords(secs)} ago`;
}

/** Such as `about 2 minutes`. */
export function inWords(secs: number): string {
  const [count, unit] =
    secs < 2 * MINUTE
      ? [secs, "second"]
      : secs < 2 * HOUR
        ? [Math.round(secs / MINUTE), "minute"]
        : secs < 2 * DAY
          ? [Math.round(secs / HOUR), "hour"]
          : [Math.round(secs / DAY), "day"];
  return `${String(count)} ${unit}${count === 1 ? "" : "s"}`;
}

/** In the person's own spelling and zone. */
export function clock(unixSecs: number): string {
  return new Date(unixSecs * 1_000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

export const nowSecs = (): number => Math.floor(Date.now() / 1_000);

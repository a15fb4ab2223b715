/** Times, numbers, money and states in words. */
import type { ComponentChildren } from "preact";

const moment = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const plain = new Intl.NumberFormat("en");

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

export function ago(at: string, nowMs = Date.now()): string {
  const secs = (Date.parse(at) - nowMs) / 1000;
  for (const [unit, length] of UNITS)
    if (Math.abs(secs) >= length) return relative.format(Math.trunc(secs / length), unit);
  return Math.abs(secs) < 10 ? "just now" : relative.format(Math.trunc(secs), "second");
}

/** How long ago, and on pointing the time itself. */
export function Time({ at, none = "never" }: { readonly at: string | null; readonly none?: string }) {
  if (at === null) return <span class="muted">{none}</span>;
  return (
    <time dateTime={at} title={moment.format(new Date(at))}>
      {ago(at)}
    </time>
  );
}

export function Moment({ at, none = "not yet" }: { readonly at: string | null; readonly none?: string }) {
  if (at === null) return <span class="muted">{none}</span>;
  return <time dateTime={at}>{moment.format(new Date(at))}</time>;
}

export const number = (value: number): string => plain.format(value);

export function seconds(secs: number): string {
  for (const [unit, length] of UNITS)
    if (secs >= length && secs % length === 0)
      return `${plain.format(secs / length)} ${unit}${secs === length ? "" : "s"}`;
  return `${plain.format(secs)} seconds`;
}

export type Tone = "calm" | "good" | "warn" | "bad";

export function Pill({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`pill ${tone}`}>{children}</span>;
}

export function Notice({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <div class={`notice ${tone}`}>{children}</div>;
}

/** Of a hash or address: enough to tell it from others; the whole on pointing, and to a reader of the page's text. */
export function Short({ text }: { readonly text: string }) {
  if (text.length <= 18) return <code>{text}</code>;
  return (
    <code title={text}>
      {text.slice(0, 8)}…{text.slice(-6)}
    </code>
  );
}

/**
 * Every part of an instance in one view, asked at the moment of the question: the proxies at their operations ports, the
 * store and the chain by the dashboard itself. What a part answers is shown, and nothing is believed of it: bounded in
 * time and size, and read by shape.
 */
import { z } from "zod";
import type { Alarms, OperatorHealth, PartState } from "./contract/operator.ts";
import { health as healthShape } from "../../shared/api/service.ts";

export interface HealthParts {
  readonly operations: readonly string[];
  readonly checkStore: () => Promise<void>;
  /** Unix seconds of the newest block. */
  readonly newestBlock: () => Promise<number>;
  readonly alarms: () => Promise<Alarms>;
  readonly now: () => number;
}

type Part = OperatorHealth["parts"][number];

const ASK_MS = 2_000;
const MOST_BYTES = 2 << 20;
/** A chain whose newest block is older stands still, or its node does. */
const OLD_BLOCK_MS = 120_000;
/** Of /metrics; its names are those of observe/metrics.ts. */
const FIGURES = /^(cloister_[a-z_]+|process_resident_memory_bytes)$/;
const MOST_FIGURES = 40;
const ORDER: readonly PartState[] = ["ok", "unknown", "degraded", "down"];

const worst = (states: readonly PartState[]): PartState =>
  states.reduce<PartState>((one, other) => (ORDER.indexOf(other) > ORDER.indexOf(one) ? other : one), "ok");

export function createHealth({ operations, checkStore, newestBlock, alarms, now }: HealthParts) {
  async function store(): Promise<Part> {
    const isThere = await checkStore().then(
      () => true,
      () => false,
    );
    return part("store", isThere ? "ok" : "down", isThere ? null : "nothing new can be kept");
  }

  async function chain(): Promise<Part> {
    const at = await newestBlock().catch(() => undefined);
    if (at === undefined) return part("chain", "down", "the node does not answer the dashboard");
    const age = Math.max(0, now() - at * 1000);
    const isOld = age > OLD_BLOCK_MS;
    return {
      ...part("chain", isOld ? "degraded" : "ok", isOld ? "no new block for a while" : null),
      age_ms: age,
    };
  }

  async function watcher(): Promise<Part> {
    const found = await alarms();
    if (found.watcher === "not-configured")
      return part("watcher", "unknown", "no file of a watcher is configured");
    if (found.watcher !== "watching") return part("watcher", "degraded", `the watcher is ${found.watcher}`);
    const count = found.alarms.length;
    if (count === 0) return part("watcher", "ok", null);
    return part("watcher", "down", count === 1 ? "1 alarm stands" : `${String(count)} alarms stand`);
  }

  return async (): Promise<OperatorHealth> => {
    const proxies = operations.map((url, place) => proxyOf(url, `proxy ${String(place + 1)}`));
    const asked = await Promise.all([...proxies, store(), chain(), watcher()]);
    const parts = asked.map((one) => ("warnings" in one ? one.part : one));
    return {
      state: worst(parts.map(({ state }) => state)),
      at: new Date(now()).toISOString(),
      parts,
      warnings: [...new Set(asked.flatMap((one) => ("warnings" in one ? one.warnings : [])))],
    };
  };
}

const part = (name: string, state: PartState, detail: string | null = null): Part => ({
  ...{ name, state, detail, age_ms: null, checks: [], figures: [] },
});

async function proxyOf(
  url: string,
  name: string,
): Promise<{ readonly part: Part; readonly warnings: readonly string[] }> {
  const [live, ready, metrics] = await Promise.all([
    ask(url, "/live").catch(() => undefined),
    ask(url, "/ready").catch(() => undefined),
    ask(url, "/metrics").catch(() => undefined),
  ]);
  if (live?.status !== 200)
    return { part: part(name, "down", "it does not answer at its operations port"), warnings: [] };
  const found = healthShape.or(z.object({ status: z.literal("not serving") })).safeParse(parsed(ready?.text));
  const figures = figuresOf(metrics?.text ?? "");
  if (!found.success || found.data.status === "not serving")
    return { part: { ...part(name, "degraded", "it lives and does not serve"), figures }, warnings: [] };
  const { status, checks = {}, bridges, warnings = [] } = { checks: undefined, ...found.data };
  const all = Object.entries({ ...checks, ...(bridges === undefined ? {} : { bridges }) });
  const shown = all.map(([check, { state, detail, age_ms }]) => ({
    ...{ name: check, state, detail: detail ?? null, age_ms },
  }));
  const state = worst([status, ...shown.map((check) => check.state)]);
  return { part: { ...part(name, state), checks: shown, figures }, warnings };
}

async function ask(base: string, path: string): Promise<{ readonly status: number; readonly text: string }> {
  const response = await fetch(new URL(path, base), {
    signal: AbortSignal.timeout(ASK_MS),
    redirect: "error",
  });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Error("the answer is too large");
    chunks.push(chunk);
  }
  return { status: response.status, text: Buffer.concat(chunks).toString("utf8") };
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? "");
  } catch {
    return undefined;
  }
}

/** Those without labels: a number a name. */
function figuresOf(text: string): Part["figures"] {
  return text
    .split("\n")
    .flatMap((line) => {
      const [name = "", value = ""] = line.split(" ");
      return FIGURES.test(name) && Number.isFinite(Number(value)) ? { name, value: Number(value) } : [];
    })
    .slice(0, MOST_FIGURES);
}

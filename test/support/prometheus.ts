// A real Prometheus (Debian: the package `prometheus`) with the operator's own configuration and rules, that looks every
// second instead of every fifteen.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { load } from "js-yaml";
import { z } from "zod";
import { freePort } from "../../scripts/stack/ports.ts";
import { PROJECT_ROOT } from "./tree.ts";
import { until } from "./until.ts";

const OPERATIONS = path.join(PROJECT_ROOT, "scripts/operations");

const configuration = z.looseObject({
  global: z.strictObject({ scrape_interval: z.string(), evaluation_interval: z.string() }),
  rule_files: z.tuple([z.literal("alerts.yml")]),
  scrape_configs: z.tuple([
    z.looseObject({ static_configs: z.tuple([z.strictObject({ targets: z.array(z.string()) })]) }),
  ]),
});
const series = z.object({
  data: z.object({
    result: z.array(
      z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) }),
    ),
  }),
});
const rules = z.object({
  data: z.object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({
            name: z.string(),
            state: z.string(),
            health: z.string(),
            lastError: z.string().optional(),
          }),
        ),
      }),
    ),
  }),
});

export interface Prometheus {
  readonly url: string;
  /** What an expression says now. Throws with Prometheus' words when it takes none of it. */
  query(
    expr: string,
  ): Promise<{ readonly labels: Readonly<Record<string, string>>; readonly value: number }[]>;
  /** By alert: inactive, pending (it holds, not yet for long enough) or firing. Throws when a rule could not be evaluated. */
  alerts(): Promise<ReadonlyMap<string, string>>;
  stop(): Promise<void>;
}

export const hasPrometheus = async (): Promise<boolean> => {
  const child = spawn("prometheus", ["--version"], { stdio: "ignore" });
  return once(child, "close").then(
    () => true,
    () => false,
  );
};

/** `targets`: HOST:PORT of what it scrapes, in the one job of the file. */
export async function startPrometheus(targets: readonly string[]): Promise<Prometheus> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-prometheus-"));
  const own = configuration.parse(load(await readFile(path.join(OPERATIONS, "prometheus.yml"), "utf8")));
  const [job] = own.scrape_configs;
  const file = path.join(folder, "prometheus.yml");
  // JSON is YAML.
  await writeFile(
    file,
    JSON.stringify({
      ...own,
      global: { scrape_interval: "1s", evaluation_interval: "1s" },
      scrape_configs: [{ ...job, static_configs: [{ targets }] }],
    }),
  );
  await copyFile(path.join(OPERATIONS, "alerts.yml"), path.join(folder, "alerts.yml"));
  const url = `http://127.0.0.1:${String(await freePort())}`;
  const child = spawn(
    "prometheus",
    [
      ...["--config.file", file, "--storage.tsdb.path", path.join(folder, "data")],
      ...["--web.listen-address", new URL(url).host, "--log.level", "warn"],
    ],
    { stdio: "ignore" },
  );
  const ended = once(child, "close");
  const ask = async (at: string): Promise<unknown> => {
    const answer = await fetch(url + at);
    if (!answer.ok) throw new Error(`${at}: ${await answer.text()}`);
    return answer.json();
  };
  const isReady = (): Promise<boolean> =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until("Prometheus to be ready", isReady);
  return {
    url,
    async query(expr) {
      const { data } = series.parse(await ask(`/api/v1/query?query=${encodeURIComponent(expr)}`));
      return data.result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    async alerts() {
      const { data } = rules.parse(await ask("/api/v1/rules?type=alert"));
      const all = data.groups.flatMap((group) => group.rules);
      for (const { name, health, lastError = "" } of all)
        if (health === "err") throw new Error(`${name}: ${lastError}`);
      return new Map(all.map(({ name, state }) => [name, state]));
    },
    async stop() {
      child.kill("SIGTERM");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// The dashboard and the alert rules against the table of metrics: a figure that was renamed would leave an empty
// panel and an alert that never comes, and nothing else would say so.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createMetrics, METRICS as PROXY_METRICS } from "../../../proxy/base/observe/metrics.ts";
import { createRelayMetrics, RELAY_METRICS } from "../../../proxy/relay/metrics.ts";
import { readExposition } from "../../support/exposition.ts";

const METRICS = { ...PROXY_METRICS, ...RELAY_METRICS };
const FOLDER = new URL("../../../scripts/operations/", import.meta.url);
const textOf = (file: string): string => readFileSync(new URL(file, FOLDER), "utf8");

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}
interface Dashboard {
  readonly title: string;
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
}

const dashboard = JSON.parse(textOf("grafana-dashboard.json")) as Dashboard;
const panels = dashboard.panels.filter(({ type }) => type !== "row");

interface Rule {
  readonly alert: string;
  readonly text: string;
  readonly expr: string;
}

/** Each rule of the file; its form is ours, two levels deep, so no reader of YAML is needed. */
function rules(): Rule[] {
  const [, ...parts] = textOf("alerts.yml").split(/^ {6}- alert: /m);
  return parts.map((text) => {
    const alert = text.split("\n")[0] ?? "";
    const folded = /^ {8}expr: >-\n((?: {10}.*\n)+)/m.exec(text)?.[1];
    const expr = folded ?? /^ {8}expr: (.*)$/m.exec(text)?.[1] ?? "";
    return { alert, text, expr: expr.replaceAll(/\s+/g, " ").trim() };
  });
}

/** Metrics with what is asked of their labels, and the labels by which a sum is kept apart. */
function readExpression(expr: string): {
  readonly metrics: readonly {
    readonly name: string;
    readonly matchers: readonly (readonly [string, string])[];
  }[];
  readonly by: readonly string[];
} {
  const metrics = [...expr.matchAll(/\b((?:cloister|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = "", inner = ""]) => ({
      name,
      matchers: [...inner.matchAll(/([a-z_]+)(?:=~|!~|!=|=)"([^"]*)"/g)].map(
        ([, label = "", value = ""]) => [label, value] as const,
      ),
    }),
  );
  const by = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list = ""]) =>
    list.split(",").map((label) => label.trim()),
  );
  return { metrics, by };
}

/** Given by Prometheus to everything that it scrapes. */
const SCRAPED = ["instance", "job"];

function faultsOf(expr: string, ours: ReadonlyMap<string, string>): string[] {
  const faults: string[] = [];
  const { metrics, by } = readExpression(expr);
  if (metrics.length === 0) faults.push("names no metric");
  const known = new Set([...SCRAPED, "le"]);
  for (const { name, matchers } of metrics) {
    const family = name.replace(/_(bucket|sum|count)$/, "");
    const found = Object.entries(METRICS).find(([one]) => one === name || one === family);
    const isSeries = ours.get(name) !== undefined && ours.get(name) !== "histogram";
    if (!isSeries && (name === family || ours.get(family) !== "histogram")) {
      faults.push(`no metric ${name}`);
      continue;
    }
    const labels: Readonly<Record<string, readonly string[]>> = found?.[1].labels ?? {};
    for (const label of Object.keys(labels)) known.add(label);
    for (const [label, wanted] of matchers) {
      if (SCRAPED.includes(label)) continue;
      for (const value of wanted.split("|"))
        if (labels[label]?.includes(value) !== true) faults.push(`${name} has no ${label}="${value}"`);
    }
    const type = ours.get(name) ?? ours.get(family);
    const isRated = new RegExp(`(rate|increase)\\(${name}[{\\[]`).test(expr);
    if (isRated !== (type !== "gauge")) faults.push(`${name} is a ${String(type)}`);
  }
  for (const label of by) if (!known.has(label)) faults.push(`no label ${label}`);
  return faults;
}

describe("the operator's files", () => {
  let ours: ReadonlyMap<string, string>;
  before(async () => {
    const metrics = createMetrics();
    metrics.watchProcess();
    const texts = [await metrics.text(), await createRelayMetrics(() => true).text()];
    ours = new Map(texts.flatMap((text) => [...readExposition(text).types]));
  });

  it("the reading finds what is wrong, so that finding nothing means something", () => {
    assert.deepEqual(faultsOf('sum by (by) (cloister_blocked{by="gas"})', ours), []);
    assert.deepEqual(faultsOf("rate(cloister_batch_tickets_sum[5m])", ours), []);
    for (const wrong of [
      "cloister_nothing",
      "1 + 1",
      'cloister_blocked{by="rain"}',
      "sum by (colour) (cloister_blocked)",
      "rate(cloister_blocked[5m])",
      "cloister_tickets_accepted_total",
      "rate(cloister_batch_tickets[5m])",
      "rate(cloister_tickets_sum[5m])",
    ])
      assert.equal(faultsOf(wrong, ours).length, 1, wrong);
  });

  it("the dashboard asks for figures and labels that there are", () => {
    assert.ok(panels.length >= 20);
    for (const { title, targets = [] } of panels) {
      assert.ok(targets.length > 0, title);
      for (const { expr } of targets) assert.deepEqual(faultsOf(expr, ours), [], `${title}: ${expr}`);
    }
    for (const { definition } of dashboard.templating.list)
      if (definition !== undefined) assert.match(definition, /^label_values\(cloister_warnings, instance\)$/);
  });

  it("the dashboard shows every figure of ours", () => {
    const shown = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)).join("\n");
    assert.deepEqual(
      Object.keys(METRICS).filter((name) => !shown.includes(name)),
      [],
    );
  });

  it("no two panels of the dashboard overlap or share an id", () => {
    const all = dashboard.panels;
    assert.equal(new Set(all.map(({ id }) => id)).size, all.length);
    const cells = all.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${String(x + (i % w))},${String(y + Math.floor(i / w))}`),
    );
    assert.equal(new Set(cells).size, cells.length);
    assert.ok(all.every(({ gridPos: { x, w } }) => x + w <= 24));
  });

  it("each alert asks for figures that there are, says how grave it is, and what happens to the money or where to look", () => {
    const found = rules();
    assert.ok(found.length >= 10);
    assert.equal(new Set(found.map(({ alert }) => alert)).size, found.length);
    for (const { alert, text, expr } of found) {
      assert.match(alert, /^Cloister[A-Za-z]+$/);
      assert.deepEqual(faultsOf(expr, ours), [], alert);
      assert.match(text, /^ {8}labels: \{ severity: (page|warn) \}$/m, alert);
      assert.match(text, /^ {10}summary: \S/m, alert);
      assert.match(text, /^ {10}description: \S/m, alert);
    }
  });
});

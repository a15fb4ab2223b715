/** Prometheus' text format (version 0.0.4), read strictly: whatever a scraper could stumble over throws. */

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Exposition {
  /** Kind by name, as the TYPE lines say. */
  readonly types: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
  /** The one sample with exactly these labels; 0 when there is none. */
  value(name: string, labels?: Readonly<Record<string, string>>): number;
}

const SAMPLE = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|\+Inf|Nan)$/;
const LABEL = /([a-z_][a-z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)/gy;

export function readExposition(text: string): Exposition {
  if (!text.endsWith("\n")) throw new Error("the last line has no end");
  const types = new Map<string, string>();
  const helps = new Set<string>();
  const samples: Sample[] = [];
  const seen = new Set<string>();
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const help = /^# HELP ([a-z_][a-z0-9_]*) \S.*$/.exec(line);
    const type = /^# TYPE ([a-z_][a-z0-9_]*) (counter|gauge|histogram|summary)$/.exec(line);
    if (help?.[1] !== undefined) helps.add(help[1]);
    else if (type?.[1] !== undefined && type[2] !== undefined) {
      if (types.has(type[1]) || !helps.has(type[1])) throw new Error(`out of order: ${line}`);
      types.set(type[1], type[2]);
    } else samples.push(readSample(line, types, seen));
  }
  return {
    types,
    samples,
    value: (name, labels = {}) =>
      samples.find((sample) => sample.name === name && keyOf(sample.labels) === keyOf(labels))?.value ?? 0,
  };
}

function readSample(line: string, types: ReadonlyMap<string, string>, seen: Set<string>): Sample {
  const [, name, inner = "", value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`no sample: ${line}`);
  const family = name.replace(/_(bucket|sum|count)$/, "");
  if (!types.has(name) && types.get(family) !== "histogram")
    throw new Error(`of no declared metric: ${line}`);
  const found = [...inner.matchAll(LABEL)];
  if (found.map(([all]) => all).join("") !== inner) throw new Error(`its labels cannot be read: ${line}`);
  const labels = Object.fromEntries(found.map(([, label = "", text = ""]) => [label, text]));
  const key = `${name} ${keyOf(labels)}`;
  if (seen.has(key)) throw new Error(`twice: ${line}`);
  seen.add(key);
  return { name, labels, value: value === "+Inf" ? Infinity : Number(value) };
}

const keyOf = (labels: Readonly<Record<string, string>>): string =>
  JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));

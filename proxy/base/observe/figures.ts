/** Figures of a program by one table, in which each is named once: what it means and which values its labels may have. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";

type Labels = Readonly<Record<string, readonly string[]>>;
export interface FigureSpec {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: Labels;
  readonly buckets?: readonly number[];
}
export type FigureTable = Readonly<Record<string, FigureSpec>>;

export const counter = (help: string, labels: Labels = {}) => ({ type: "counter", help, labels }) as const;
export const gauge = (help: string, labels: Labels = {}) => ({ type: "gauge", help, labels }) as const;
export const histogram = (help: string, buckets: readonly number[], labels: Labels = {}) =>
  ({ type: "histogram", help, labels, buckets }) as const;

export type FiguresOf<Table extends FigureTable> = {
  readonly [Name in keyof Table]: {
    readonly counter: Counter;
    readonly gauge: Gauge;
    readonly histogram: Histogram;
  }[Table[Name]["type"]];
};

export function registered<Table extends FigureTable>(table: Table) {
  const registry = new Registry();
  const made = Object.entries<FigureSpec>(table).map(([name, { type, help, labels, buckets = [] }]) => {
    const base = { name, help, labelNames: Object.keys(labels), registers: [registry] };
    if (type === "histogram") return [name, new Histogram({ ...base, buckets: [...buckets] })];
    return [name, type === "counter" ? new Counter(base) : new Gauge(base)];
  });
  return {
    figures: Object.fromEntries(made) as FiguresOf<Table>,
    /** Adds the runtime's own figures: memory, processor, delay of the event loop. */
    watchProcess: () => collectDefaultMetrics({ register: registry }),
    /** In Prometheus' text format. */
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}

/** What is not known is absent: a zero would be a figure like any other. */
export function show(figure: Gauge, value: number | bigint | undefined, divisor = 1): void {
  if (value === undefined) figure.remove();
  else figure.set(Number(value) / divisor);
}

/** A chart of days, and beside it the same as a table: for who cannot see it, and for who wants the numbers. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Table } from "./table.tsx";
import { number } from "./words.tsx";

export interface Series {
  readonly name: string;
  /** One for each day. */
  readonly values: readonly number[];
}

const COLOURS = ["--chart-1", "--chart-2", "--chart-3"] as const;
const HEIGHT = 170;

/** At most three series; the first as bars, the others as lines. `days` in UTC, such as 2026-11-25. */
export function Chart({
  title,
  days,
  series,
}: {
  readonly title: string;
  readonly days: readonly string[];
  readonly series: readonly Series[];
}) {
  const rows = days.map((day, index) => ({ day, counts: series.map(({ values }) => values[index] ?? 0) }));
  return (
    <figure class="chart">
      <figcaption>{title}</figcaption>
      <ul class="legend" aria-hidden="true">
        {series.map(({ name, values }, index) => (
          <li key={name}>
            <i class={`c${String(index + 1)}`} /> {name}:{" "}
            {number(values.reduce((sum, value) => sum + value, 0))}
          </li>
        ))}
      </ul>
      <Plot days={days} series={series} />
      <details>
        <summary>{title}, as a table</summary>
        <Table
          caption={title}
          columns={[
            { name: "Day", cell: ({ day }) => day },
            ...series.map(({ name }, index) => ({
              name,
              isEnd: true,
              cell: ({ counts }: (typeof rows)[number]) => number(counts[index] ?? 0),
            })),
          ]}
          rows={rows
            .filter(({ counts }, index) => index === rows.length - 1 || counts.some((count) => count > 0))
            .reverse()}
          keyOf={({ day }) => day}
        />
        <p class="muted">Days on which nothing happened are left out.</p>
      </details>
    </figure>
  );
}

function Plot({ days, series }: { readonly days: readonly string[]; readonly series: readonly Series[] }) {
  const place = useRef<HTMLDivElement>(null);
  const isDark = useDark();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const plot = new uPlot(
      optionsOf(element, series),
      [days.map((day) => Date.parse(`${day}T00:00:00Z`) / 1000), ...series.map(({ values }) => [...values])],
      element,
    );
    const watch = new ResizeObserver(() => {
      plot.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      plot.destroy();
    };
  }, [days, series, isDark]);
  return <div class="plot" ref={place} aria-hidden="true" />;
}

function optionsOf(element: HTMLElement, series: readonly Series[]): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--pico-muted-color"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 24] });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    tzDate: (secs) => uPlot.tzDate(new Date(secs * 1000), "Etc/UTC"),
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(4, most * 1.1)] } },
    axes: [
      { ...axis, grid: { show: false }, values: "{D} {MMM}", space: 64 },
      {
        ...axis,
        size: 48,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 1e5, 1e6, 1e7, 1e8],
      },
    ],
    series: [
      {},
      ...series.map(({ name }, index) => ({
        label: name,
        stroke: colour(COLOURS[index] ?? COLOURS[0]),
        width: 2,
        points: { show: false },
        ...(index === 0 && {
          fill: colour(COLOURS[0]),
          width: 0,
          ...(bars !== undefined && { paths: bars }),
        }),
      })),
    ],
  };
}

/** The colours of a canvas do not follow the style sheet by themselves. */
function useDark(): boolean {
  const [isDark, set] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const take = (): void => {
      set(query.matches);
    };
    query.addEventListener("change", take);
    return () => {
      query.removeEventListener("change", take);
    };
  }, []);
  return isDark;
}

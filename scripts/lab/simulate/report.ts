// What the simulation found, as data and as a page.
import {
  BOUNDS,
  callGas,
  capacityOf,
  redisPerSecond,
  type Bound,
  type BoundName,
  type MemberLimit,
} from "./capacity.ts";
import {
  FIGURES,
  FIGURE_NAMES,
  KIND_FIGURES,
  MEASURED,
  type Figure,
  type FigureName,
  type SimulatedKind,
  type Values,
} from "./measured.ts";
import { simulate, type Run } from "./queue.ts";

export interface Question {
  readonly values: Values;
  readonly kind: SimulatedKind;
  readonly hosts: readonly number[];
  /** Share of the capacity at which waiting is looked at. */
  readonly load: number;
  readonly arrivals: number;
  readonly seed: number;
}

/** One figure made twice as good, and what is carried then. */
export interface Relief {
  readonly figure: FigureName;
  readonly value: number;
  readonly ticketsPerSecond: number;
}

export interface HostsAnswer {
  readonly hosts: number;
  readonly ticketsPerSecond: number;
  readonly breaksFirst: BoundName;
  readonly bounds: readonly Bound[];
  readonly members: number;
  readonly membersHeldBy: MemberLimit | undefined;
  readonly callEverySecs: number;
  /** With full calls. */
  readonly gasPerTicket: number;
  readonly redisPerSecond: number;
  /** At `load`; undefined when nothing is carried at all. */
  readonly run: Run | undefined;
  /** Best first, those that change nothing left out. */
  readonly reliefs: readonly Relief[];
}

export function answer({ values, kind, hosts, load, arrivals, seed }: Question): HostsAnswer[] {
  return hosts.map((count) => {
    const capacity = capacityOf(values, count, kind);
    const { ticketsPerSecond, bounds, members, membersHeldBy, callEverySecs } = capacity;
    const [first] = bounds as readonly [Bound];
    const run =
      ticketsPerSecond > 0
        ? simulate(values, {
            ...{ hosts: count, kind, capacity, arrivals, seed },
            arrivalsPerSecond: ticketsPerSecond * load,
          })
        : undefined;
    return {
      ...{
        hosts: count,
        ticketsPerSecond,
        breaksFirst: first.name,
        bounds,
        members,
        membersHeldBy,
        callEverySecs,
      },
      gasPerTicket: members === 0 ? NaN : callGas(KIND_FIGURES[kind], members) / members,
      redisPerSecond: redisPerSecond(
        values,
        count,
        ticketsPerSecond,
        ticketsPerSecond / Math.max(members, 1),
      ),
      run,
      reliefs: reliefsOf(values, count, kind, ticketsPerSecond),
    };
  });
}

/** Half of what should be small, twice of what should be large. */
export function improved(values: Values, figure: FigureName): Values {
  const { better }: Figure = FIGURES[figure];
  if (better === undefined) return values;
  return { ...values, [figure]: better === "more" ? values[figure] * 2 : values[figure] / 2 };
}

function reliefsOf(values: Values, hosts: number, kind: SimulatedKind, now: number): Relief[] {
  return FIGURE_NAMES.map((figure): Relief => {
    const better = improved(values, figure);
    return {
      figure,
      value: better[figure],
      ticketsPerSecond: capacityOf(better, hosts, kind).ticketsPerSecond,
    };
  })
    .filter(({ ticketsPerSecond }) => ticketsPerSecond > now * 1.001)
    .sort((a, b) => b.ticketsPerSecond - a.ticketsPerSecond);
}

export function asJson(question: Question, answers: readonly HostsAnswer[]): Record<string, unknown> {
  const { values, kind, load, arrivals, seed } = question;
  return {
    ...{ kind, load, arrivals, seed },
    figures: Object.fromEntries(
      FIGURE_NAMES.map((name) => {
        const { unit, source }: Figure = FIGURES[name];
        const isOurs = values[name] === MEASURED[name];
        return [
          name,
          { value: values[name], unit, source: isOurs ? (source?.file ?? "not measured") : "an option" },
        ];
      }),
    ),
    hosts: answers.map((one) => ({
      hosts: one.hosts,
      tickets_per_second: one.ticketsPerSecond,
      breaks_first: one.breaksFirst,
      bounds: Object.fromEntries(one.bounds.map(({ name, ticketsPerSecond }) => [name, ticketsPerSecond])),
      members_per_call: one.members,
      members_held_by: one.membersHeldBy ?? null,
      call_every_s: one.callEverySecs,
      gas_per_ticket: number(one.gasPerTicket),
      redis_operations_per_second: one.redisPerSecond,
      at_load: one.run === undefined ? null : runAsJson(one.run),
      twice_as_good: Object.fromEntries(
        one.reliefs.map(({ figure, ticketsPerSecond }) => [figure, ticketsPerSecond]),
      ),
    })),
  };
}

function runAsJson(run: Run): Record<string, number> {
  return {
    tickets_per_second: run.ticketsPerSecond,
    confirm_p50_s: run.confirmP50Secs,
    confirm_p99_s: run.confirmP99Secs,
    refused_share: run.refusedShare,
    members_per_call: run.membersPerCall,
    gas_per_ticket: run.gasPerTicket,
    redis_operations_per_second: run.redisPerSecond,
    enclave_load: run.enclaveLoad,
    proxy_load: run.proxyLoad,
  };
}

const number = (value: number): number | null => (Number.isFinite(value) ? value : null);

export function asText({ values, kind, load, seed }: Question, answers: readonly HostsAnswer[]): string {
  const changed = FIGURE_NAMES.filter((name) => values[name] !== MEASURED[name]);
  const rows = [
    ["hosts", "tickets/s", "breaks first", "p50", "p99", "gas/ticket", "Redis/s", "enclaves", "proxy"],
    ...answers.map(({ hosts, ticketsPerSecond, breaksFirst, run }) => [
      ...[shown(hosts), shown(ticketsPerSecond), ticketsPerSecond > 0 ? breaksFirst : "nothing is carried"],
      ...(run === undefined
        ? []
        : [
            ...[`${run.confirmP50Secs.toFixed(2)} s`, `${run.confirmP99Secs.toFixed(2)} s`],
            ...[shown(Math.round(run.gasPerTicket)), shown(Math.round(run.redisPerSecond))],
            ...[percent(run.enclaveLoad), percent(run.proxyLoad)],
          ]),
    ]),
  ];
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const table = rows.map((row) => row.map((cell, column) => cell.padStart(widths[column]!)).join("  "));
  return [
    `One pool, ${kind}s; tickets a second at full load, the columns from p50 on at ${percent(load)} of it (seed ${String(seed)}).`,
    ...(changed.length === 0
      ? []
      : [`Other than measured: ${changed.map((name) => `${name} ${shown(values[name])}`).join(", ")}.`]),
    "",
    ...table,
    ...answers.flatMap((one) => ["", ...explained(one)]),
  ].join("\n");
}

function explained(one: HostsAnswer): string[] {
  const { hosts, breaksFirst, bounds, members, membersHeldBy, callEverySecs, reliefs } = one;
  const held = membersHeldBy === undefined ? "fuller calls would carry no more" : `held by ${membersHeldBy}`;
  const others = bounds.filter(({ name }) => name !== breaksFirst);
  return [
    `${shown(hosts)} ${hosts === 1 ? "host" : "hosts"}: ${BOUNDS[breaksFirst]}`,
    `  calls of ${shown(members)} members (${held}), one every ${shown(callEverySecs)} s in each place in flight`,
    `  next:        ${others.map(({ name, ticketsPerSecond }) => `${name} ${shown(ticketsPerSecond)}`).join(", ")}`,
    `  twice as good: ${
      reliefs.length === 0
        ? "no figure alone carries more"
        : reliefs.map(({ figure, ticketsPerSecond }) => `${figure} ${shown(ticketsPerSecond)}`).join(", ")
    }`,
  ];
}

const shown = (value: number): string =>
  value < 1_000
    ? value.toLocaleString("en-US", { maximumSignificantDigits: 3 })
    : Math.round(value).toLocaleString("en-US");
const percent = (share: number): string => `${(100 * share).toFixed(0)} %`;

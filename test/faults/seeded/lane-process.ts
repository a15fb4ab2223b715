/** The body of a process that plays scenarios one after the other: what it is told, what it reports, what it keeps of a violation. */
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Program } from "./program.ts";
import type { StoreName } from "./stores.ts";

export type LaneOrder =
  | {
      readonly do: "open";
      readonly store: StoreName;
      /** Of the world: its facts, and its chains as anvil dumps them. */
      readonly worldFolder: string;
      readonly program: Program;
      /** This lane's own. */
      readonly folder: string;
      /** Where the logs of a scenario with a violation are put. */
      readonly evidence: string;
    }
  | {
      readonly do: "play";
      readonly seed: number;
      readonly number: number;
      /** The parties outside lie whatever is drawn. */
      readonly isLiar: boolean;
    }
  | { readonly do: "close" };
export type OpenOrder = Extract<LaneOrder, { do: "open" }>;
export type PlayOrder = Extract<LaneOrder, { do: "play" }>;

export interface Played {
  readonly is: "played";
  readonly number: number;
  readonly ms: number;
  readonly kills: number;
  readonly struck: readonly (readonly [string, number])[];
  /** One line each. */
  readonly violations: readonly string[];
  /** Shown when there is a violation. */
  readonly plan: string;
  readonly evidence: string;
  /** It did not come to its end; the lane is of no more use. */
  readonly isStuck: boolean;
}
export type LaneReport = Played | { readonly is: "open" } | { readonly is: "closed" };

/** Files of a world's folder. */
export const FACTS_FILE = "world-facts.bin";
export const stateFileOf = (chain: string): string => `world-state-${chain}.json`;

export interface Outcome {
  readonly violations: readonly { readonly code: string; readonly text: string }[];
  /** Processes that were killed. */
  readonly kills: number;
  readonly struck: ReadonlyMap<string, number>;
  /** Of each proxy. */
  readonly logs: readonly (readonly string[])[];
}

export interface Playing {
  run(): Promise<Outcome>;
  /** What is done now, for one that does not come to its end. */
  readonly at: string;
  /** Of each proxy, so far. */
  readonly logs: Outcome["logs"];
}

export interface OpenLane {
  /** A scenario, and its plan as it is shown. */
  begin(order: PlayOrder): { readonly scenario: Playing; readonly plan: string };
  /** Proxies that nobody has stopped. */
  leftBehind(): number;
  close(): Promise<void>;
}

/** Whatever is waited for in a scenario has a shorter limit of its own; this one is for what has none. */
const SCENARIO_MS = 4 * 60_000;

export function serveLane(openLane: (order: OpenOrder) => Promise<OpenLane>): void {
  let opened: Promise<OpenLane> | undefined;
  let where: OpenOrder | undefined;
  const tell = (report: LaneReport): void => void process.send?.(report);

  async function obey(order: LaneOrder): Promise<void> {
    switch (order.do) {
      case "open":
        where = order;
        opened = openLane(order);
        await opened;
        tell({ is: "open" });
        return;
      case "play":
        tell(await play((await opened)!, where!, order));
        return;
      case "close":
        await (await opened)?.close();
        tell({ is: "closed" });
        process.disconnect();
    }
  }

  process.on("message", (order) => {
    obey(order as LaneOrder).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  // Its owner is gone; whatever it started goes with it.
  process.on("disconnect", () => process.exit(0));
}

async function play(lane: OpenLane, { store, evidence }: OpenOrder, order: PlayOrder): Promise<Played> {
  const { seed, number } = order;
  const began = performance.now();
  const { scenario, plan } = lane.begin(order);
  const ended = await endOf(scenario);
  const isStuck = ended === undefined;
  const { violations, kills, struck, logs } = ended ?? stuck(scenario);
  if (lane.leftBehind() > 0 && !isStuck) throw new Error("a proxy that nobody stops was left behind");
  const kept = path.join(evidence, `${store}-${String(seed)}-${String(number)}`);
  const said = violations.map(({ code, text }) => `${code}: ${text}`);
  if (violations.length > 0) {
    await mkdir(kept, { recursive: true });
    await writeFile(path.join(kept, "plan.txt"), [plan, ...said, ""].join("\n"));
    for (const [i, lines] of logs.entries())
      await writeFile(path.join(kept, `proxy-${String(i + 1)}.log`), lines.join("\n"));
  }
  const ms = Math.round(performance.now() - began);
  const facts = { is: "played", number, ms, kills, plan, evidence: kept, isStuck } as const;
  return { ...facts, struck: [...struck], violations: said };
}

/** Undefined where it does not come in time. */
async function endOf(scenario: Playing): Promise<Outcome | undefined> {
  let limit: NodeJS.Timeout | undefined;
  const overdue = new Promise<undefined>((resolve) => {
    limit = setTimeout(() => resolve(undefined), SCENARIO_MS);
  });
  const ended = await Promise.race([scenario.run(), overdue]);
  clearTimeout(limit);
  return ended;
}

function stuck({ at, logs }: Playing): Outcome {
  const resources = process.getActiveResourcesInfo().join(" ");
  const text = `not at its end after ${String(SCENARIO_MS / 1000)} s (${at}; open: ${resources})`;
  return { violations: [{ code: "NOT_SETTLED", text }], kills: 0, struck: new Map(), logs };
}

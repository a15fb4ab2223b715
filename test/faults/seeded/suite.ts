/** Plays scenarios by number on several lanes, and counts what struck and what was violated. */
import { fork, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { childEnvironment } from "../../../scripts/base/service.ts";
import { KINDS, type Kind, type KindName, type Made } from "./kinds.ts";
import type { LaneOrder, LaneReport, OpenOrder, Played, PlayOrder } from "./lane-process.ts";
import { makeProgram, type Program } from "./program.ts";
import type { StoreName } from "./stores.ts";

export interface SuiteOptions {
  /** What is played. Default: payments. */
  readonly of?: KindName;
  readonly seed: number;
  /** Scenarios of each store. */
  readonly runs: number;
  /** Number of the first. Default 1. */
  readonly from?: number;
  readonly stores: readonly StoreName[];
  /** Scenarios that are played at a time. */
  readonly workers?: number;
  /** Of how many enclaves the pool of payments asks for an attestation. Default: 1. */
  readonly threshold?: number;
  /** The parties outside lie by chance in every scenario, and not in some. */
  readonly liar?: boolean;
  /** End with the first violation. */
  readonly stop?: boolean;
  readonly say: (text: string) => void;
}

export interface StoreReport {
  readonly of: KindName;
  readonly store: StoreName;
  readonly played: number;
  /** Scenarios in which at least one process was killed. */
  readonly killing: number;
  readonly kills: number;
  readonly struck: ReadonlyMap<string, number>;
  /** Faults that never struck. */
  readonly idle: readonly string[];
  readonly violated: readonly Played[];
}

/** Scenarios of one lane before it begins again: anvil remembers every block that it ever had. */
const LANE_LIFE = 400;
const SUMMARY_EVERY = 20;

export const hasRedis = (): boolean => spawnSync("redis-server", ["--version"]).status === 0;
/** Half of a scenario is waiting for blocks, polls and starts. */
export const defaultWorkers = (): number => Math.min(4, 2 * availableParallelism());

export async function runSuite(options: SuiteOptions): Promise<StoreReport[]> {
  const suite = new Suite(options);
  try {
    return await suite.run();
  } finally {
    await suite.close();
  }
}

interface Tally {
  next: number;
  played: number;
  killing: number;
  kills: number;
  readonly struck: Map<string, number>;
  readonly violated: Played[];
}

class Suite {
  readonly #options: SuiteOptions;
  readonly #kind: Kind;
  readonly #tallies: Map<StoreName, Tally>;
  readonly #idle = new Map<StoreName, Lane[]>();
  readonly #lanes = new Set<Lane>();
  #base: Promise<Base> | undefined;
  #evidence = "";
  #isOver = false;
  #opened = 0;

  constructor(options: SuiteOptions) {
    this.#options = options;
    this.#kind = KINDS[options.of ?? "payments"];
    const next = options.from ?? 1;
    this.#tallies = new Map(
      options.stores.map((store) => [
        store,
        { next, played: 0, killing: 0, kills: 0, struck: new Map(), violated: [] },
      ]),
    );
  }

  async run(): Promise<StoreReport[]> {
    this.#evidence = await mkdtemp(path.join(tmpdir(), "cloister-faults-"));
    const workers = this.#options.workers ?? defaultWorkers();
    const began = performance.now();
    await Promise.all(Array.from({ length: workers }, () => this.#work(began)));
    const reports = [...this.#tallies].map(([store, tally]) => reportOf(this.#kind, store, tally));
    if (reports.every(({ violated }) => violated.length === 0))
      await rm(this.#evidence, { recursive: true, force: true });
    return reports;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lanes].map((lane) => lane.close()));
    const base = await this.#base?.catch(() => undefined);
    await base?.made.stop();
    if (base !== undefined) await rm(base.program.folder, { recursive: true, force: true });
  }

  /** The store with the most left. */
  #nextJob(): { readonly store: StoreName; readonly number: number } | undefined {
    if (this.#isOver) return undefined;
    const last = (this.#options.from ?? 1) + this.#options.runs - 1;
    const [store, tally] = [...this.#tallies].sort(([, a], [, b]) => a.next - b.next)[0]!;
    return tally.next > last ? undefined : { store, number: tally.next++ };
  }

  async #work(began: number): Promise<void> {
    const { seed, liar = false } = this.#options;
    for (let job = this.#nextJob(); job !== undefined; job = this.#nextJob()) {
      const lane = await this.#lane(job.store);
      const played = await lane.play({ do: "play", seed, number: job.number, isLiar: liar });
      if (played.isStuck || lane.played >= LANE_LIFE) {
        this.#lanes.delete(lane);
        await lane.close();
      } else this.#idle.set(job.store, [...(this.#idle.get(job.store) ?? []), lane]);
      this.#count(job.store, played, began);
    }
  }

  #count(store: StoreName, played: Played, began: number): void {
    const { say, stop = false, runs } = this.#options;
    const tally = this.#tallies.get(store)!;
    tally.played += 1;
    tally.kills += played.kills;
    if (played.kills > 0) tally.killing += 1;
    for (const [name, times] of played.struck) tally.struck.set(name, (tally.struck.get(name) ?? 0) + times);
    if (played.violations.length > 0) {
      tally.violated.push(played);
      say([`VIOLATED: ${played.plan}`, ...played.violations, `  logs: ${played.evidence}`].join("\n"));
      if (stop) this.#isOver = true;
    }
    const all = [...this.#tallies.values()].reduce((sum, each) => sum + each.played, 0);
    if (tally.played % SUMMARY_EVERY === 0 || tally.played === runs) {
      const secs = (performance.now() - began) / 1000;
      say(
        `${this.#kind.name}, ${store}: ${String(tally.played)} of ${String(runs)} played, ${String(tally.killing)} with a kill, ${String(tally.violated.length)} violated; ${(secs / all).toFixed(2)} s a scenario`,
      );
    }
  }

  async #lane(store: StoreName): Promise<Lane> {
    const idle = this.#idle.get(store)?.shift();
    if (idle !== undefined) return idle;
    const base = await (this.#base ??= makeBase(this.#kind, this.#options));
    const folder = path.join(base.made.folder, `lane-${String(++this.#opened)}`);
    const lane = new Lane(this.#kind.laneFile);
    this.#lanes.add(lane);
    await lane.open({
      do: "open",
      store,
      folder,
      worldFolder: base.made.folder,
      program: base.program,
      evidence: this.#evidence,
    });
    return lane;
  }
}

interface Base {
  readonly made: Made;
  readonly program: Program;
}

async function makeBase(kind: Kind, { say, threshold = 1 }: SuiteOptions): Promise<Base> {
  const began = performance.now();
  say(`making the world: ${kind.of} …`);
  const made = await kind.make({ threshold });
  // Of the stack's own folder: those of its networks have the same names in each.
  const program = await makeProgram(path.basename(path.dirname(made.folder)));
  say(`  made in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  return { made, program };
}

function reportOf(kind: Kind, store: StoreName, tally: Tally): StoreReport {
  const { played, killing, kills, struck, violated } = tally;
  const names = store === "redis" ? [...kind.faults, ...kind.faultsOfTwo] : kind.faults;
  const idle = names.filter((name) => (struck.get(name) ?? 0) === 0);
  return { of: kind.name, store, played, killing, kills, struck, idle, violated };
}

/** The process of a lane, from outside. */
class Lane {
  readonly #child: ChildProcess;
  readonly #gone: Promise<void>;
  #said = "";
  #resolve: (report: LaneReport | undefined) => void = () => undefined;
  isGone = false;
  played = 0;

  constructor(file: string) {
    const child = fork(file, [], {
      execArgv: ["--import", import.meta.resolve("tsx")],
      env: childEnvironment(),
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child = child;
    child.stderr?.on("data", (chunk: Buffer) => (this.#said = (this.#said + chunk.toString()).slice(-4_000)));
    child.on("message", (report: LaneReport) => this.#resolve(report));
    this.#gone = new Promise((resolve) => {
      child.once("exit", () => {
        this.isGone = true;
        this.#resolve(undefined);
        resolve();
      });
    });
  }

  #ask(order: LaneOrder): Promise<LaneReport | undefined> {
    if (this.isGone) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.#child.send(order, () => undefined);
    });
  }

  async open(order: OpenOrder): Promise<void> {
    if ((await this.#ask(order))?.is !== "open") throw new Error(`a lane did not open:\n${this.#said}`);
  }

  async play(order: PlayOrder): Promise<Played> {
    this.played += 1;
    const { number } = order;
    const report = await this.#ask(order);
    if (report?.is === "played") {
      if (report.isStuck) this.#child.kill("SIGKILL");
      return report;
    }
    const violations = [`the suite's own process ended:\n${this.#said}`];
    const plan = `scenario ${String(number)}`;
    const nothing = { ms: 0, kills: 0, struck: [], evidence: "", isStuck: true };
    return { is: "played", number, violations, plan, ...nothing };
  }

  async close(): Promise<void> {
    await this.#ask({ do: "close" });
    await this.#gone;
  }
}

/**
 * A process that plays scenarios of one store, one after the other, on a chain of its own that begins as the world's
 * chain stands. Several of them share a world and its enclave, which keeps no state.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { deserialize } from "node:v8";
import { startAnvil } from "../../../scripts/stack/anvil.ts";
import { Reserve } from "./hosts.ts";
import { rememberBefore } from "./observe.ts";
import { drawPlan, showPlan, type FaultName } from "./plan.ts";
import type { Program } from "./program.ts";
import { Scenario, type Outcome } from "./scenario.ts";
import { openStage } from "./stage.ts";
import type { StoreName } from "./stores.ts";
import { openWorld, type WorldFacts } from "./world.ts";

export type LaneOrder =
  | {
      readonly do: "open";
      readonly store: StoreName;
      /** File of the world's facts. */
      readonly factsFile: string;
      /** The world's chain, as anvil dumps it. */
      readonly stateFile: string;
      readonly program: Program;
      /** This lane's own. */
      readonly folder: string;
      /** Where the logs of a scenario with a violation are put. */
      readonly evidence: string;
    }
  | { readonly do: "play"; readonly seed: number; readonly number: number }
  | { readonly do: "close" };

export interface Played {
  readonly is: "played";
  readonly number: number;
  readonly ms: number;
  readonly kills: number;
  readonly struck: readonly (readonly [FaultName, number])[];
  /** One line each. */
  readonly violations: readonly string[];
  /** Shown when there is a violation. */
  readonly plan: string;
  readonly evidence: string;
  /** It did not come to its end; the lane is of no more use. */
  readonly isStuck: boolean;
}
export type LaneReport = Played | { readonly is: "open" } | { readonly is: "closed" };

/** Whatever is waited for in a scenario has a shorter limit of its own; this one is for what has none. */
const SCENARIO_MS = 4 * 60_000;

interface Open {
  play(seed: number, number: number): Promise<Played>;
  close(): Promise<void>;
}

async function open({
  store,
  factsFile,
  stateFile,
  program,
  folder,
  evidence,
}: Extract<LaneOrder, { do: "open" }>): Promise<Open> {
  const facts = deserialize(await readFile(factsFile)) as WorldFacts;
  const settings = { chainId: facts.entry.chain_id, args: ["--no-mining", "--load-state", stateFile] };
  let chain = await startAnvil(settings);
  const world = openWorld(
    { ...facts, folder, entry: { ...facts.entry, chain_rpc: chain.url } },
    {
      stop: () => chain.stop(),
      // Going back to a snapshot again and again is not enough: anvil loses states of blocks that it had before.
      async renew() {
        await chain.stop();
        chain = await startAnvil({ ...settings, port: chain.port });
      },
    },
  );
  const reserve = new Reserve(program);
  const stage = await openStage(world, store, reserve);
  const [place] = await stage.places(1);
  await place!.start();
  await rememberBefore(world, place!);
  await place!.stop();
  const supply = {
    transactions: world.prebuilt.map(({ name }) => name),
    proved: world.proved,
    wallets: [...world.wallets.keys()],
  };
  return {
    async play(seed, number) {
      const plan = drawPlan(seed, number, store, supply);
      const began = performance.now();
      const scenario = new Scenario(stage, plan);
      const ended = await endOf(scenario);
      const isStuck = ended === undefined;
      const { violations, kills, struck, logs } = ended ?? stuck(scenario);
      if (reserve.lent > 0 && !isStuck) throw new Error("a proxy that nobody stops was left behind");
      const kept = path.join(evidence, `${store}-${String(seed)}-${String(number)}`);
      const said = violations.map(({ code, text }) => `${code}: ${text}`);
      if (violations.length > 0) {
        await mkdir(kept, { recursive: true });
        await writeFile(path.join(kept, "plan.txt"), [showPlan(plan), ...said, ""].join("\n"));
        for (const [i, lines] of logs.entries())
          await writeFile(path.join(kept, `proxy-${String(i + 1)}.log`), lines.join("\n"));
      }
      return {
        is: "played",
        number,
        ms: Math.round(performance.now() - began),
        kills,
        struck: [...struck],
        violations: said,
        plan: showPlan(plan),
        evidence: kept,
        isStuck,
      };
    },
    async close() {
      await stage.close();
      await reserve.close();
      await world.stop();
    },
  };
}

/** Undefined where it does not come in time. */
async function endOf(scenario: Scenario): Promise<Outcome | undefined> {
  let limit: NodeJS.Timeout | undefined;
  const overdue = new Promise<undefined>((resolve) => {
    limit = setTimeout(() => resolve(undefined), SCENARIO_MS);
  });
  const ended = await Promise.race([scenario.run(), overdue]);
  clearTimeout(limit);
  return ended;
}

function stuck({ at, logs }: Scenario): Outcome {
  const resources = process.getActiveResourcesInfo().join(" ");
  const text = `not at its end after ${String(SCENARIO_MS / 1000)} s (${at}; open: ${resources})`;
  return { violations: [{ code: "NOT_SETTLED", text }], kills: 0, struck: new Map(), logs };
}

let opened: Promise<Open> | undefined;
const tell = (report: LaneReport): void => void process.send?.(report);

async function obey(order: LaneOrder): Promise<void> {
  switch (order.do) {
    case "open":
      opened = open(order);
      await opened;
      tell({ is: "open" });
      return;
    case "play":
      tell(await (await opened!).play(order.seed, order.number));
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

/** A process that plays scenarios of bridges on one store, one after the other, on chains and with an attester of its own. */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { deserialize } from "node:v8";
import { Reserve } from "../hosts.ts";
import { FACTS_FILE, serveLane, type OpenLane, type OpenOrder } from "../lane-process.ts";
import { openParties } from "./parties.ts";
import { drawPlan, showPlan } from "./plan.ts";
import { Scenario } from "./scenario.ts";
import { openStage } from "./stage.ts";
import type { Prebuilt } from "./requests.ts";
import type { Supply } from "./steps.ts";
import type { BridgeFacts } from "./world.ts";

async function open({ store: name, worldFolder, program, folder }: OpenOrder): Promise<OpenLane> {
  const world = deserialize(await readFile(path.join(worldFolder, FACTS_FILE))) as BridgeFacts;
  const parties = await openParties(world, { worldFolder, folder, program });
  const facts = { ...world, entry: { ...world.entry, chain_rpc: parties.chains.home.url } };
  const [reserve, relays] = [new Reserve(program), new Reserve(program, "relay")];
  const stage = await openStage(facts, parties, { name, reserve, relays, folder });
  const supply = facts.requests.map(supplyOf);
  return {
    begin({ seed, number, isLiar }) {
      const plan = drawPlan(seed, number, name, supply, isLiar);
      return { scenario: new Scenario(stage, plan), plan: showPlan(plan) };
    },
    leftBehind: () => reserve.lent + relays.lent,
    async close() {
      await stage.close();
      await Promise.all([reserve.close(), relays.close()]);
      await parties.stop();
    },
  };
}

function supplyOf({ name, place, deposit, account }: Prebuilt): Supply {
  const beside = deposit === undefined ? ("exchange" as const) : ("foreign" as const);
  const isBeside = deposit !== undefined || account !== undefined;
  return { name, direction: isBeside ? beside : place.direction, account: account?.kind };
}

serveLane(open);

/**
 * A process that plays scenarios of one store, one after the other, on a chain of its own that begins as the world's
 * chain stands. Several of them share a world and its enclave, which keeps no state.
 */
import { readFile } from "node:fs/promises";
import path from "node:path";
import { deserialize } from "node:v8";
import { startAnvil } from "../../../scripts/stand-ins/anvil.ts";
import { freePort } from "../../../scripts/stack/ports.ts";
import { Reserve } from "./hosts.ts";
import { FACTS_FILE, serveLane, stateFileOf, type OpenLane, type OpenOrder } from "./lane-process.ts";
import { rememberBefore } from "./observe.ts";
import { drawPlan, showPlan } from "./plan.ts";
import { Scenario } from "./scenario.ts";
import { openStage } from "./stage.ts";
import { openWorld, type WorldFacts } from "./world.ts";

async function open({ store, worldFolder, program, folder }: OpenOrder): Promise<OpenLane> {
  const facts = deserialize(await readFile(path.join(worldFolder, FACTS_FILE))) as WorldFacts;
  const stateFile = path.join(worldFolder, stateFileOf("home"));
  const settings = { chainId: facts.entry.chain_id, args: ["--no-mining", "--load-state", stateFile] };
  // One that the system gives to no connection, since the chain is started again on it.
  let chain = await startAnvil({ ...settings, port: await freePort() });
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
    begin({ seed, number, isLiar }) {
      const plan = drawPlan(seed, number, store, supply, isLiar);
      return { scenario: new Scenario(stage, plan), plan: showPlan(plan) };
    },
    leftBehind: () => reserve.lent,
    async close() {
      await stage.close();
      await reserve.close();
      await world.stop();
    },
  };
}

serveLane(open);

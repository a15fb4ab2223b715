/** Looks at everything from outside when a scenario has settled: chain, wallets, stream, and what the store kept. */
import { Interface } from "ethers";
import { PATIENCE_MS } from "../../../scripts/base/poll.ts";
import { openStackWallet } from "../../../scripts/stack/stack-wallet.ts";
import { createClient, createProver, memoryStorage } from "../../../shared/client/index.ts";
import { until } from "../../support/until.ts";
import { readChain, treeOf } from "./chain-log.ts";
import type { ChainMoves } from "./chain-moves.ts";
import { Follower } from "./follower.ts";
import type { Place } from "./hosts.ts";
import type { Asked, EventLine, Observations } from "./observations.ts";
import type { Stage } from "./stage.ts";
import type { World } from "./world.ts";

const TOKEN = new Interface(["function balanceOf(address) view returns (uint256)"]);

export interface Looking {
  readonly stage: Stage;
  readonly place: Place;
  readonly follower: Follower;
  readonly moves: ChainMoves;
  readonly asked: readonly Asked[];
  readonly excuses: Observations["excuses"];
  readonly logs: readonly (readonly string[])[];
  /** Which are restored: each takes a good tenth of a second. */
  readonly wallets: readonly string[];
  /** Ends every proxy. */
  stop(): Promise<void>;
}

export async function observe(looking: Looking): Promise<Observations> {
  const { stage, place, follower, moves, asked, excuses, logs, stop } = looking;
  const { world, store } = stage;
  await moves.noteRejected();
  const chain = await readChain(world, moves);
  const newest = chain.roots.at(-1);
  const told = await createClient({
    baseUrl: place.baseUrl,
    credential: { apiKey: world.apiKey },
  }).merkleRoot();
  const reader = new Follower(() => place.baseUrl, world.apiKey);
  let streamEvents: EventLine[];
  let walletsAfter: Readonly<Record<string, bigint>>;
  try {
    await until("the whole stream", () => reader.syncedAt === chain.leaves.length, 10_000).catch(
      () => undefined,
    );
    streamEvents = reader.lines;
    const length = streamEvents.length;
    await until("the follower to be there", () => follower.lines.length === length, 10_000).catch(
      () => undefined,
    );
    walletsAfter = await readWallets(world, place.baseUrl, looking.wallets);
  } finally {
    await reader.close();
  }
  const followedEvents = follower.lines;
  const streamedStates = [...follower.states];
  const after = await readBalances(world);
  const nonce = async (tag: string): Promise<number> =>
    Number(await world.rpc("eth_getTransactionCount", [world.sender, tag]));
  const nonces = { mined: await nonce("latest"), pending: await nonce("pending") };
  await follower.close();
  await stop();
  const ids = asked.flatMap(({ answers }) =>
    answers.flatMap((answer) => (answer.is === "ticket" ? [answer.id] : [])),
  );
  const acceptedInLogs = logs.flat().flatMap(acceptedIn);
  const kept = await store.read(stage.dataDir(), [...new Set([...ids, ...acceptedInLogs])]);
  return {
    excuses,
    asked,
    foreign: [...world.foreign, ...world.proved],
    forged: world.forgeries,
    voids: chain.voids,
    executions: chain.executions,
    rejected: moves.rejected,
    executedBefore: moves.executedBefore,
    sender: world.sender.toLowerCase(),
    chainEvents: chain.events,
    streamEvents,
    followedEvents,
    streamedStates,
    balances: { before: await balancesBefore(world), after },
    wallets: { before: walletsBefore(world), after: walletsAfter },
    tree: {
      leaves: chain.leaves.length,
      covered: newest?.leafCount ?? 0,
      root: newest?.root ?? 0n,
      shouldBe: treeOf(chain, newest?.leafCount ?? 0).root(),
      told: BigInt(told.root),
    },
    nonces,
    outgoing: kept.outgoing,
    stored: kept.tickets,
    acceptedInLogs,
  };
}

function acceptedIn(line: string): string[] {
  if (!line.includes('"msg":"a ticket is accepted"')) return [];
  return [(JSON.parse(line) as { ticket: string }).ticket];
}

async function readBalances(world: World): Promise<Observations["balances"]["after"]> {
  const balance = async (of: string): Promise<bigint> => {
    const data = TOKEN.encodeFunctionData("balanceOf", [of]);
    return BigInt((await world.rpc("eth_call", [{ to: world.entry.usdc, data }, "latest"])) as string);
  };
  const [pool, ...accounts] = await Promise.all([world.entry.pool, ...world.accounts.values()].map(balance));
  const names = [...world.accounts.keys()];
  return { pool: pool!, accounts: Object.fromEntries(names.map((name, i) => [name, accounts[i]!])) };
}

/** Restored from their keys alone, each from the whole stream. */
async function readWallets(
  world: World,
  baseUrl: string,
  names: readonly string[],
): Promise<Record<string, bigint>> {
  const client = createClient({ baseUrl, credential: { apiKey: world.apiKey } });
  const totals: Record<string, bigint> = {};
  await Promise.all(
    names.map(async (name) => {
      const seed = world.wallets.get(name);
      if (seed === undefined) throw new RangeError(`no wallet ${name}`);
      const wallet = await openStackWallet(world.entry, {
        seed,
        client,
        prover: NO_PROVER,
        storage: memoryStorage(),
      });
      await wallet.sync({ timeoutMs: PATIENCE_MS });
      const { total, unverified } = wallet.balance();
      // A note under no root of the pool is not there.
      totals[name] = total - unverified;
    }),
  );
  return totals;
}

/** These wallets look and do not pay. */
const NO_PROVER = createProver({
  source: () => Promise.reject(new Error("nobody proves here")),
  manifest: { circuits: {} },
});

interface Before {
  readonly balances: Observations["balances"]["before"];
  readonly wallets: Readonly<Record<string, bigint>>;
}
const known = new WeakMap<World, Before>();

/** To be called once for a world, with a proxy that serves its snapshot. */
export async function rememberBefore(world: World, place: Place): Promise<void> {
  known.set(world, {
    balances: await readBalances(world),
    wallets: await readWallets(world, place.baseUrl, [...world.wallets.keys()]),
  });
}

function before(world: World): Before {
  const found = known.get(world);
  if (found === undefined) throw new Error("nobody has looked at the world before");
  return found;
}
const balancesBefore = async (world: World): Promise<Before["balances"]> => before(world).balances;
const walletsBefore = (world: World): Before["wallets"] => before(world).wallets;

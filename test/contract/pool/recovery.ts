// What anybody does when signers are silent or lied, against a world whose tree it knows: advance and refutations.
import type { ContractTransactionReceipt } from "ethers";
import type { Sealed } from "../../support/drafts.ts";
import type { PoolRootUpdate } from "../../../scripts/stack/pool-transaction.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { frontierOf, GAS, headAt } from "./told-world.ts";
import { actingAs, type Fault, type Made, type World } from "./world.ts";

export interface Recovered {
  /** Names of the pool's events, in order. */
  readonly said: readonly string[];
  readonly receipt: ContractTransactionReceipt;
}

/** As account 5, a stranger. Brings the mirror to where the pool is. */
export async function recover(world: World, name: string, args: readonly unknown[]): Promise<Recovered> {
  const stranger = actingAs(world.pool, await world.account(5));
  const receipt = await world.call(stranger, name, ...args, { gasLimit: GAS });
  await catchUp(world);
  const said = receipt.logs.flatMap((log) => world.pool.interface.parseLog(log)?.name ?? []);
  return { said, receipt };
}

export function refusedTo(world: World, name: string, args: readonly unknown[]): Promise<Fault> {
  return world.revertOf(world.pool.getFunction(name).staticCall(...args, { gasLimit: GAS }));
}

async function catchUp(world: World): Promise<void> {
  const [root, count] = (await world.pool.getFunction("currentRoot")()) as [bigint, bigint];
  world.rooted = { root, count, head: headAt(world, count) };
}

// ---------------------------------------------------------------- advance

export interface Shown {
  readonly count?: bigint;
  /** Where the shown leaves end. */
  readonly end?: bigint;
  /** Empty in the tree, also what this call suspends. */
  readonly voided?: ReadonlySet<number>;
  /** Of those, what nobody has to be named for: what is void before. */
  readonly unnamed?: ReadonlySet<number>;
}

export type Arguments = readonly unknown[];

/** Over the next leaves; without more words over all that wait. */
export function advanceOver(world: World, shown: Shown = {}): Arguments {
  const { end = world.queue.count, voided = new Set(), unnamed = voided } = shown;
  const from = world.rooted.count;
  const { count = end - from } = shown;
  const frontier = frontierOf(world, from, voided).nodes();
  const leaves = world.leaves.slice(Number(from), Number(end));
  return [frontier, count, world.rooted.head, leaves, makersOf(world, from, from + count, unnamed)];
}

/** Of each statement that has a leaf there. */
export function makersOf(world: World, from: bigint, end: bigint, unnamed: ReadonlySet<number>): string[] {
  const isThere = ({ first, end: behind }: Made): boolean =>
    BigInt(behind) > from && BigInt(first) < end && !unnamed.has(first);
  return world.made.filter(isThere).map(({ maker }) => maker);
}

/** The root of the first so many leaves. */
export function rootAt(world: World, count: bigint, voided: ReadonlySet<number> = new Set()): bigint {
  return frontierOf(world, count, voided).root();
}

// ---------------------------------------------------------------- refutation

/** Of what an attestation is over; `words` are what its proof decompresses to, or anything. */
export function falseStatement(
  { draft, transaction }: Sealed,
  words: readonly bigint[],
  around: readonly [lastGood: bigint, firstBad: bigint] = [0n, 0n],
): Arguments {
  const { kind, deadline, signals, proof, attestations } = transaction;
  const statement = { kind, deadline, signals, extHash: keccakHex(draft.ext), proof, words, attestations };
  return [statement, ...around];
}

export function falseUpdate(world: World, update: PoolRootUpdate): Arguments {
  const frontier = frontierOf(world, update.fromIndex).nodes();
  return [update, frontier, world.leaves.slice(Number(update.fromIndex), Number(update.toIndex))];
}

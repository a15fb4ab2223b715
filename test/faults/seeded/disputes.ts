/**
 * What the guardian, a thief with the key of an admitted signer, and strangers who refute him do in a scenario; each by
 * transactions of his own. What a reorganisation takes back is not sent again before the healing.
 */
import { Interface } from "ethers";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { ZERO_BYTES32, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { makersOf } from "../../../shared/notes/advance.ts";
import { nextHead } from "../../../shared/protocol/tree.ts";
import { readChain, treeOf, type ChainLog } from "./chain-log.ts";
import type { ChainMoves } from "./chain-moves.ts";
import type { Forgery, World } from "./world.ts";

const POOL = new Interface(POOL_ABI);
/** Blocks in which a service that works puts leaves into the tree. */
const ROOT_WITHIN = 12;
const ROOT_PAUSE_MS = 60;
/** More than there are forgeries. */
const MOST_ACTS = 10;

export class Disputes {
  readonly #world: World;
  readonly #moves: ChainMoves;
  readonly #left: Forgery[];

  constructor(world: World, moves: ChainMoves) {
    this.#world = world;
    this.#moves = moves;
    this.#left = [...world.forgeries];
  }

  /** False where the guardian has to rest. */
  pause(): Promise<boolean> {
    return this.#moves.act(this.#world.guardian, POOL.encodeFunctionData("pause"));
  }

  /** False where the pool does not take the thief's word: he is out, the path is closed, or it is too late. */
  async forge(): Promise<boolean> {
    const forgery = this.#left.shift();
    if (forgery === undefined) return false;
    await this.#moves.act(this.#world.stranger, forgery.call);
    return (await this.#standing()).some(({ statement }) => statement === forgery.statement);
  }

  /** Behind the root that covers it, where `isRooted` and one comes. Undefined when nothing forged stands. */
  async refute(isRooted: boolean): Promise<"fresh" | "rooted" | undefined> {
    const [forgery] = await this.#standing();
    if (forgery === undefined) return undefined;
    const isCovered = (log: ChainLog): boolean =>
      (log.roots.at(-1)?.leafCount ?? 0) > (firstLeafOf(log, forgery) ?? Infinity);
    let log = await readChain(this.#world, this.#moves);
    for (let i = 0; isRooted && i < ROOT_WITHIN && !isCovered(log); i++) {
      await this.#moves.mine(1);
      await new Promise((resolve) => setTimeout(resolve, ROOT_PAUSE_MS));
      log = await readChain(this.#world, this.#moves);
    }
    const around = rootsAround(log, firstLeafOf(log, forgery) ?? 0);
    const call = POOL.encodeFunctionData("refuteStatement", [forgery.shown, ...around]);
    // A root may have come in the same block, before it: then it names the wrong ones, and another look helps.
    if (!(await this.#moves.act(this.#world.stranger, call))) return undefined;
    return isCovered(log) ? "rooted" : "fresh";
  }

  /** Harmless where the signers are at work or somebody was faster: the pool refuses it then. */
  async advance(): Promise<boolean> {
    const log = await readChain(this.#world, this.#moves);
    const from = log.roots.at(-1)?.leafCount ?? 0;
    const waiting = log.leaves.slice(from);
    if (waiting.length === 0) return false;
    const head = log.leaves.slice(0, from).reduce<Bytes32>(nextHead, ZERO_BYTES32);
    const frontier = treeOf(log, from).frontier(from);
    const range = { from, to: log.leaves.length };
    const makers = makersOf(
      range,
      (leaf) => log.voids.has(leaf),
      (first) => log.made.get(first),
    );
    const call = POOL.encodeFunctionData("advance", [frontier, waiting.length, head, waiting, makers]);
    return this.#moves.act(this.#world.stranger, call);
  }

  /** Seconds for which the attested path is closed still; 0 where it is open. */
  async closedFor(): Promise<number> {
    const { stranger: from, entry } = this.#world;
    const question = { from, to: entry.pool, data: POOL.encodeFunctionData("brakes") };
    const answer = (await this.#world.rpc("eth_call", [question, "latest"])) as string;
    const [attestedFrom] = POOL.decodeFunctionResult("brakes", answer) as unknown as [bigint];
    return Math.max(0, Number(attestedFrom) - (await this.#moves.time()));
  }

  /** Whatever is forged and stands is refuted. Past the void leaves the service has to come by itself. */
  async heal(): Promise<void> {
    for (let i = 0; i < MOST_ACTS && (await this.#standing()).length > 0; i++) await this.refute(false);
  }

  /** Forgeries that were executed and that nobody has refuted, as the chain is now. */
  async #standing(): Promise<Forgery[]> {
    const log = await readChain(this.#world, this.#moves);
    return this.#world.forgeries.filter((forgery) => {
      const first = firstLeafOf(log, forgery);
      return first !== undefined && !log.voids.has(first);
    });
  }
}

function firstLeafOf({ executions }: ChainLog, { statement }: Forgery): number | undefined {
  return executions.find((execution) => execution.statement === statement)?.firstLeaf;
}

/** As the pool wants them named: anything where no root covers the leaf. */
function rootsAround({ roots }: ChainLog, leaf: number): [bigint, bigint] {
  const at = roots.findIndex(({ leafCount }) => leafCount > leaf);
  return at < 1 ? [0n, 0n] : [roots[at - 1]!.root, roots[at]!.root];
}

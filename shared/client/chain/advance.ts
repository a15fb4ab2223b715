/** How the tree grows without the signers: the pool's `advance`, from one's own copy of the leaves. */
import type { Bytes32 } from "../../protocol/brands.ts";
import { MAX_UPDATE_LEAVES, nextHead } from "../../protocol/tree.ts";
import type { NoteTree } from "../../notes/merkle.ts";
import { POOL } from "../statements/execute-call.ts";
import type { History } from "./history.ts";
import { doubted } from "./nodes.ts";
import type { PoolView } from "./pool-view.ts";

/** In each window of so many leaves the pool keeps a checkpoint permanently; see RootLedger.sol. */
const WINDOW_LEAVES = 252;
/** A transaction adds at most so many, and its end is the checkpoint. */
const MEMBER_LEAVES = 4;

export interface AdvancePlan {
  /** Unix seconds from which the pool takes it; in the past where it does now. Later if the signers come back meanwhile. */
  readonly allowedFrom: number;
  /** So many leaves would be in the tree then. */
  readonly leafCount: number;
  readonly data: string;
}

/** Undefined when no leaf waits. As of the history's last block. */
export async function planAdvance(
  history: History,
  tree: NoteTree,
  view: PoolView,
  signal?: AbortSignal,
): Promise<AdvancePlan | undefined> {
  const { leafCount: from } = await view.currentRoot();
  const end = tree.leafCount;
  if (from >= end) return undefined;
  const { attestedFrom, advanceableFrom } = await view.brakes();
  const now = history.synced.timestamp;
  const isOpen = now < attestedFrom || [...history.voids.keys()].some((index) => index >= from);

  const headBefore = history.headOver(tree, from);
  const to = await reachable(history, tree, view, { from, end, headBefore });
  const leaves = Array.from({ length: to - from }, (_, at) => history.queued(tree, from + at));
  // Whatever was refuted: the pool looks at them only where it asks for them.
  const makers = await history.makers(from, to, signal);
  const shown = [tree.frontier(from), leaves.length, headBefore, leaves, makers];
  const data = POOL.encodeFunctionData("advance", shown);
  return { allowedFrom: isOpen ? now : advanceableFrom, leafCount: to, data };
}

/** The farthest end that the pool can still name and one call covers. */
async function reachable(
  history: History,
  tree: NoteTree,
  view: PoolView,
  { from, end, headBefore }: { readonly from: number; readonly end: number; readonly headBefore: Bytes32 },
): Promise<number> {
  if (end - from <= MAX_UPDATE_LEAVES) return end;
  const heads = [headBefore];
  for (let index = from; index < from + MAX_UPDATE_LEAVES; index++)
    heads.push(nextHead(heads.at(-1)!, history.queued(tree, index)));
  for (const place of windowEnds(from)) {
    if ((await view.checkpointTime(place, heads[place - from]!)) !== 0) return place;
  }
  throw doubted("it knows none of the checkpoints that the pool must have");
}

/** Where a window's checkpoint can be: at the first end of a transaction in it. The farthest first. */
export function windowEnds(from: number): number[] {
  const last = from + MAX_UPDATE_LEAVES;
  const begin = Math.floor(last / WINDOW_LEAVES) * WINDOW_LEAVES;
  return [begin, begin - WINDOW_LEAVES]
    .flatMap((window) => Array.from({ length: MEMBER_LEAVES }, (_, at) => window + at).reverse())
    .filter((place) => from < place && place <= last);
}

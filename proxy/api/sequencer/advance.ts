/**
 * The pool's `advance`: how the tree goes on where no attested root can. After a refutation nothing else gets past the
 * void leaves, and all payments would stand until a stranger pays for it. Anybody may call it, and it moves no money: one
 * that somebody else has made meanwhile costs gas alone.
 */
import { advanceEnd, makerOf, makersOf, MOST_ADVANCED, type Made } from "../../../shared/notes/advance.ts";
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { IndexedBlock } from "../../base/store/chain-data.ts";
import type { Batch } from "./batch.ts";
import type { TermParts } from "./term.ts";

/**
 * Twice what was measured (shared/contracts/README.md: 28,000 a leaf for 64, 16,000 for 256, so a million and 12,000 for
 * each), as what is not used is not paid. Not asked of the node: the pool hashes in a call to another contract, and an
 * estimate can be what is just too little there. For the most leaves 9,650,000, within EIP-7825.
 */
const GAS_OF_CALL = 2_000_000n;
const GAS_OF_LEAF = 30_000n;

/**
 * While nothing is refuted, each call waits for so many leaves, or for one of that age: whoever pays for transactions by
 * proofs must not make us pay more than that for each. Nobody waits for it, as no proof may use a root younger than days.
 */
const ENOUGH_LEAVES = 64;
const PATIENCE_SECS = 600;

type AdvanceParts = Pick<TermParts, "chain" | "pool" | "data" | "tree" | "wallet" | "logger">;

export function createAdvances({ chain, pool, data, tree, wallet, logger }: AdvanceParts) {
  function madeAt(firstLeaf: number): Made | undefined {
    const made = data.madeAt(firstLeaf);
    return made && { leafCount: made.leafCount, maker: makerOf(made.statement, made.nullifiers) };
  }

  /** What the pool said no to last; said once. */
  let refused: string | undefined;

  /** With just this gas, on the newest block: one that would fail is not paid for. */
  async function isTaken(calldata: string, gasLimit: bigint, leaves: number): Promise<boolean> {
    try {
      await chain.call({ from: wallet.address, to: pool.address, data: calldata, gas: gasLimit });
      return true;
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      if (refused !== calldata) logger.warn({ leaves, code: error.code }, "the pool would take no advance");
      refused = calldata;
      return false;
    }
  }

  return {
    /** Whether enough waits, or for long enough, where nothing hurries. */
    isDue(tip: IndexedBlock): boolean {
      const from = data.currentRoot()?.leafCount ?? 0;
      const oldest = data.leaf(from);
      if (oldest === undefined) return false;
      const since = data.blockAtOrBelow(oldest.block)?.timestamp ?? 0;
      return data.leafCount() - from >= ENOUGH_LEAVES || tip.timestamp - since >= PATIENCE_SECS;
    },

    /** Over the leaves that wait, as far as one call gets. Undefined when none does, or the pool would not take it. */
    async next(): Promise<Batch | undefined> {
      const from = data.currentRoot()?.leafCount;
      const headBefore = from === undefined ? undefined : data.headAt(from);
      if (from === undefined || headBefore === undefined) return undefined;
      // All of one moment: the index may change while the pool is asked.
      const end = data.leafCount();
      const waiting = data.leaves(from, Math.min(end, from + MOST_ADVANCED));
      const frontier = tree.frontier(from);
      const isDoubtful = data.awaitsAdvance();

      const boundaries = waiting.flatMap(({ isLast, index }) => (isLast ? [index + 1] : []));
      const isCheckpoint = (place: number): Promise<boolean> =>
        pool.isCheckpoint(place, waiting[place - from - 1]!.head);
      const to = await advanceEnd({ from, end, boundaries }, isCheckpoint);
      if (to === undefined) return undefined;
      const leaves = waiting.slice(0, to - from).map(({ commitment }) => commitment);
      const makers = isDoubtful
        ? makersOf({ from, to }, (leaf) => data.leaf(leaf)?.isVoid === true, madeAt)
        : [];
      const calldata = pool.encodeAdvance(frontier, headBefore, leaves, makers);
      const gasLimit = GAS_OF_CALL + BigInt(leaves.length) * GAS_OF_LEAF;
      if (!(await isTaken(calldata, gasLimit, to))) return undefined;
      return { candidates: [], calldata, gasLimit, advancesTo: to };
    },
  };
}

/** The next `execute`: chosen members, a root update over the leaves that will wait, within gas and calldata. */
import type { AttestedRootUpdate } from "../chain/execute-call.ts";
import type { Simulated } from "../chain/pool.ts";
import { EnclaveContradicts } from "../enclave-link/attestor.ts";
import { ApiError } from "../http/errors.ts";
import type { IndexedBlock } from "../store/chain-data.ts";
import type { Errand } from "./errands.ts";
import { inSendingOrder, isSwap, type Candidate, type Members } from "./members.ts";
import { commitmentsOf } from "./pool-transaction.ts";
import { planRootUpdate } from "./root-update.ts";
import type { TermParts } from "./term.ts";

/** Ready to be signed, members in the order in which they go. Without candidates it is a root update, an `advance` or an errand. */
export interface Batch {
  readonly candidates: readonly Candidate[];
  readonly calldata: string;
  readonly gasLimit: bigint;
  /** Of an `advance`: leaves in the tree afterwards. */
  readonly advancesTo?: number;
  /** Goes there instead of to the pool. */
  readonly errand?: Errand;
}

/** Bounds of one call, however many members it has. */
const MAX_DATA_CHARS = 2 + 2 * 100 * 1024;
/** Of any transaction: EIP-7825. */
const MAX_GAS = 2n ** 24n;

export function createBatches(term: TermParts, members: Members) {
  const { chain, pool, attestor, data, tree, wallet, blockage, logger } = term;

  /**
   * Over what waits in the queue and what the batch will add before its first swap; undefined when there is
   * nothing or nobody to sign. Leaves from the first swap on follow in an update of their own.
   */
  async function attestedUpdate(
    candidates: readonly Candidate[],
    avoid: ReadonlySet<number>,
  ): Promise<AttestedRootUpdate | undefined> {
    const swapAt = candidates.findIndex(isSwap);
    const known = swapAt < 0 ? candidates : candidates.slice(0, swapAt);
    const added = known.map(({ member }) => commitmentsOf(member));
    const plan = await planRootUpdate(data, tree, added, avoid);
    if (plan === undefined) return undefined;
    try {
      return { ...plan.expected, attestations: await attestor.attestRoot(plan) };
    } catch (error) {
      // Payments go on without it; the leaves follow when enough enclaves sign again.
      if (error instanceof EnclaveContradicts)
        logger.error({ err: error }, "an enclave refuses the root update");
      else if (error instanceof ApiError)
        logger.warn({ code: error.code }, "too few enclaves sign the root update");
      else throw error;
      blockage.report("enclave");
      return undefined;
    }
  }

  /** The least with which the call would not fail. A node needs a dozen executions to find it, and one to simulate. */
  async function leastGas(
    calldata: string,
    candidates: readonly Candidate[],
    simulated: Simulated,
  ): Promise<bigint> {
    const gasUsed = typeof simulated === "object" ? simulated.gasUsed : undefined;
    // Of a call that fails as a whole the node says why.
    if (gasUsed === undefined)
      return chain.estimateGas({ from: wallet.address, to: pool.address, data: calldata });
    const others = candidates.filter((candidate) => !isSwap(candidate));
    const shares = await Promise.all(others.map(({ member }) => pool.memberGas(member.kind)));
    const share = shares.reduce((most, each) => (each > most ? each : most), 0n);
    // What is given back for freed storage, at most a fifth (EIP-3529), was used first. The pool wants a member's whole
    // share to be left when its turn comes, besides what the EVM keeps back (EIP-150) and the price of the call.
    return (gasUsed * 5n) / 4n + share + share / 63n + 5_000n;
  }

  async function gasFor(least: bigint, candidates: readonly Candidate[]): Promise<bigint> {
    // Whoever trades at the venue first decides how much of its share a swap uses. A call that cannot give
    // every member its share reverts as a whole, so the full share of each swap is there besides.
    const swaps = BigInt(candidates.filter(isSwap).length);
    const shares = swaps === 0n ? 0n : swaps * (await pool.memberGas("private-swap"));
    // The queue may be longer by then and slots colder; what is not used is not paid.
    return least + least / 8n + 100_000n + shares;
  }

  return {
    /** Of tickets whose acceptance number is less than `before`. Undefined when there is nothing to do. */
    async next(tip: IndexedBlock, before: number): Promise<Batch | undefined> {
      let chosen = await members.choose(tip, before);
      const avoid = new Set<number>();
      for (;;) {
        const candidates = inSendingOrder(chosen);
        const update = await attestedUpdate(candidates, avoid);
        if (candidates.length === 0 && update === undefined) return undefined;
        const calldata = pool.encodeExecute(
          candidates.map(({ member }) => member),
          update,
        );
        const simulated = await pool.simulate(calldata, wallet.address);
        if (simulated === "reverted" && chosen.length > 1) {
          // With the update it is more than a block holds.
          chosen = chosen.slice(0, Math.ceil(chosen.length / 2));
          continue;
        }
        const gasLimit = await gasFor(await leastGas(calldata, candidates, simulated), candidates);
        const isTooBig = calldata.length > MAX_DATA_CHARS || gasLimit > MAX_GAS;
        if (isTooBig && chosen.length > 1) {
          // In order of acceptance, so that swaps are not put off for ever by what came after them.
          const share = Math.min(MAX_DATA_CHARS / calldata.length, Number(MAX_GAS) / Number(gasLimit));
          const fewer = Math.min(Math.floor(chosen.length * share), chosen.length - 1);
          chosen = chosen.slice(0, Math.max(fewer, 1));
          continue;
        }
        if (candidates.length === 0 && update !== undefined && skipsUpdate(simulated)) {
          // Not one of the pool's checkpoints: the next lower end is tried.
          avoid.add(Number(update.toIndex));
          continue;
        }
        return { candidates, calldata, gasLimit };
      }
    },
  };
}

function skipsUpdate(simulated: Simulated): boolean {
  return typeof simulated === "object" && simulated.refusals.some(({ kind }) => kind === "root-skipped");
}

/** The next `execute`: chosen members, a root update over the leaves that will wait, within gas and calldata. */
import type { RootUpdate } from "../../../shared/protocol/attestation.ts";
import type { AttestedRootUpdate } from "../../base/chain/execute-call.ts";
import type { Simulated } from "../../base/chain/pool.ts";
import { EnclaveContradicts } from "../enclave-link/attestor.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { IndexedBlock } from "../../base/store/chain-data.ts";
import type { Errand } from "../../base/chain/errands.ts";
import { inSendingOrder, isSwap, type Candidate, type Members } from "./members.ts";
import { commitmentsOf } from "./pool-transaction.ts";
import { planRootUpdate } from "./root-update.ts";
import type { TermParts } from "./term.ts";

/** Ready to be signed, members in the order in which they go. Without candidates it is a root update, an `advance` or an errand. */
export interface Batch {
  readonly candidates: readonly Candidate[];
  readonly calldata: string;
  readonly gasLimit: bigint;
  /** The root update in it. */
  readonly update?: RootUpdate;
  /** Of an `advance`: leaves in the tree afterwards. */
  readonly advancesTo?: number;
  /** Goes there instead of to the pool. */
  readonly errand?: Errand;
}

/** Bounds of one call, however many members it has. */
const MAX_DATA_CHARS = 2 + 2 * 100 * 1024;
/**
 * Of an update that a simulation on the newest block skips, because it follows on calls that are in no block yet: four
 * times what one takes in a call of its own (shared/contracts/README.md). What is not used is not paid.
 */
const UPDATE_GAS = 300_000n;

export class Batches {
  readonly #term: TermParts;
  readonly #members: Members;
  /** Members of the last call that was cut to fit. */
  #full: number;

  constructor(term: TermParts, members: Members) {
    this.#term = term;
    this.#members = members;
    this.#full = term.maxBatch;
  }

  /** So many members make a call that need not wait for more, as far as the last ones tell. */
  full() {
    return this.#full;
  }

  /** Of tickets whose acceptance number is less than `before`. Undefined when there is nothing to do. */
  async next(tip: IndexedBlock, before: number): Promise<Batch | undefined> {
    let chosen = await this.#members.choose(tip, before);
    let isCut = false;
    const avoid = new Set<number>();
    for (;;) {
      const candidates = inSendingOrder(chosen);
      const update = await this.#attestedUpdate(candidates, avoid);
      if (candidates.length === 0 && update === undefined) return undefined;
      const calldata = this.#term.pool.encodeExecute(
        candidates.map(({ member }) => member),
        update,
      );
      const simulated = await this.#term.pool.simulate(calldata, this.#term.wallet.address);
      if (simulated === "reverted" && chosen.length > 1) {
        // With the update it is more than a block holds.
        chosen = chosen.slice(0, Math.ceil(chosen.length / 2));
        continue;
      }
      const gasLimit = await this.#gasFor(
        await this.#leastGas(calldata, candidates, update, simulated),
        candidates,
      );
      const isTooBig = calldata.length > MAX_DATA_CHARS || gasLimit > this.#term.maxGas;
      if (isTooBig && chosen.length > 1) {
        // In order of acceptance, so that swaps are not put off permanently by what came after them.
        const share = Math.min(
          MAX_DATA_CHARS / calldata.length,
          Number(this.#term.maxGas) / Number(gasLimit),
        );
        const fewer = Math.min(Math.floor(chosen.length * share), chosen.length - 1);
        chosen = chosen.slice(0, Math.max(fewer, 1));
        isCut = true;
        continue;
      }
      if (candidates.length === 0 && update !== undefined && skipsUpdate(simulated)) {
        // Not one of the pool's checkpoints: the next lower end is tried.
        avoid.add(Number(update.toIndex));
        continue;
      }
      this.#full = isCut ? candidates.length : Math.max(this.#full, candidates.length);
      return { candidates, calldata, gasLimit, ...(update === undefined ? {} : { update }) };
    }
  }

  /**
   * Over what waits in the queue and what the batch will add before its first swap; undefined when there is nothing or
   * nobody to sign, or nobody can know yet. Leaves from the first swap on follow in an update of their own.
   */
  async #attestedUpdate(
    candidates: readonly Candidate[],
    avoid: ReadonlySet<number>,
  ): Promise<AttestedRootUpdate | undefined> {
    const ground = this.#term.inFlight.ground();
    if (ground === undefined) return undefined;
    const swapAt = candidates.findIndex(isSwap);
    const known = swapAt < 0 ? candidates : candidates.slice(0, swapAt);
    const added = ground.isCertainOnly ? [] : known.map(({ member }) => commitmentsOf(member));
    const plan = await planRootUpdate(ground.queue, ground.tree, added, avoid);
    if (plan === undefined) return undefined;
    try {
      return { ...plan.expected, attestations: await this.#term.attestor.attestRoot(plan) };
    } catch (error) {
      // Payments go on without it; the leaves follow when enough enclaves sign again.
      if (error instanceof EnclaveContradicts)
        this.#term.logger.error({ err: error }, "an enclave refuses the root update");
      else if (error instanceof ApiError)
        this.#term.logger.warn({ code: error.code }, "too few enclaves sign the root update");
      else throw error;
      this.#term.blockage.report("enclave");
      return undefined;
    }
  }

  /** The least with which the call would not fail. A node needs a dozen executions to find it, and one to simulate. */
  async #leastGas(
    calldata: string,
    candidates: readonly Candidate[],
    update: AttestedRootUpdate | undefined,
    simulated: Simulated,
  ): Promise<bigint> {
    const unseen = update !== undefined && this.#term.inFlight.waiting.length > 0 ? UPDATE_GAS : 0n;
    const gasUsed = typeof simulated === "object" ? simulated.gasUsed : undefined;
    // Of a call that fails as a whole the node says why.
    if (gasUsed === undefined)
      return (
        unseen +
        (await this.#term.chain.estimateGas({
          from: this.#term.wallet.address,
          to: this.#term.pool.address,
          data: calldata,
        }))
      );
    const others = candidates.filter((candidate) => !isSwap(candidate));
    const shares = await Promise.all(others.map(({ member }) => this.#term.pool.memberGas(member.kind)));
    const share = shares.reduce((most, each) => (each > most ? each : most), 0n);
    // What is given back for freed storage, at most a fifth (EIP-3529), was used first. The pool wants a member's whole
    // share to be left when its turn comes, besides what the EVM keeps back (EIP-150) and the price of the call.
    return (gasUsed * 5n) / 4n + share + share / 63n + 5_000n + unseen;
  }

  async #gasFor(least: bigint, candidates: readonly Candidate[]): Promise<bigint> {
    // Whoever trades at the venue first decides how much of its share a swap uses, and a depositor's own code how much a
    // deposit. A call that cannot give every member its share reverts as a whole, so these full shares are there besides.
    const open = candidates.filter((one) => isSwap(one) || one.runsOwnCode);
    const each = await Promise.all(open.map(({ member }) => this.#term.pool.memberGas(member.kind)));
    const shares = each.reduce((sum, share) => sum + share, 0n);
    // The queue may be longer by then and slots colder; what is not used is not paid.
    return least + least / 8n + 100_000n + shares;
  }
}

function skipsUpdate(simulated: Simulated): boolean {
  return typeof simulated === "object" && simulated.refusals.some(({ kind }) => kind === "root-skipped");
}

/**
 * Takes every step that a request's money needs, as long as this relay has the lease: on the pool's chain by what it offers
 * to whoever submits, on each other chain in a line of its own. It keeps no record of what it did; what is needed is read
 * from the chains each time, so a crash, a second relay or a reorganisation changes nothing but the time.
 */
import type { Logger } from "../../base/logging.ts";
import type { Errands } from "../../base/chain/errands.ts";
import { HOME_CHAIN } from "../../base/store/bridge-records.ts";
import type { ChainSender } from "./chain-sender.ts";
import { createFarLine } from "./far-line.ts";
import { RefusalBackoff } from "../refusal-backoff.ts";
import { createHomeLine, type HomeLineParts } from "./home-line.ts";
import { planOf } from "./plan.ts";
import { Live } from "./live.ts";
import { waitsOf } from "./reasons.ts";
import type { Step, Snapshot } from "./steps.ts";
import type { SweepParts } from "./sweeps.ts";
import { createSnapshot, type ServedChain, type SnapshotParts } from "./snapshot.ts";

export interface FarChain extends ServedChain {
  readonly sender: ChainSender;
}

export interface WorkerParts
  extends Omit<SnapshotParts, "chains" | "refusals" | "onAnswer" | "onFault">, Omit<SweepParts, "contracts"> {
  readonly home: ServedChain & Pick<HomeLineParts, "chain">;
  readonly far: readonly FarChain[];
  readonly hasLease: () => boolean;
  /** Steps on the pool's chain may be needed. */
  readonly wakeHome: () => void;
  readonly pollIntervalMs: number;
  readonly logger: Logger;
}

export class Worker {
  readonly #parts: WorkerParts;
  readonly #live: Live;
  readonly #snapshot: Snapshot;
  /** Said by every relay, whoever acts. What has nothing to wait for any more has no reason either. */
  readonly #explained = new Set<string>();
  readonly errands: Errands;
  readonly #lines: { wake(): void; stop(): Promise<void> }[];
  #timer: NodeJS.Timeout | undefined;
  #unfollow: (() => void) | undefined;

  constructor(parts: WorkerParts) {
    this.#parts = parts;
    const refusals = new RefusalBackoff();
    this.#live = new Live(parts.book);
    this.#snapshot = createSnapshot({
      ...parts,
      ...{ chains: [parts.home, ...parts.far], refusals, onAnswer: () => this.#wake() },
      onFault: (venue, error) =>
        this.#parts.logger.warn({ venue, err: error }, "a venue does not answer; what needs it waits"),
    });
    this.errands = createHomeLine({
      ...parts,
      ...{ contracts: parts.home.contracts, chain: parts.home.chain, refusals },
      steps: () => this.#stepsOn(HOME_CHAIN),
    });
    this.#lines = parts.far.map(({ name, contracts, sender }) =>
      createFarLine({
        ...{ name, contracts, sender, hasLease: this.#parts.hasLease, refusals },
        steps: () => this.#stepsOn(name),
        tip: () => this.#parts.book.tipOf(name)?.number,
        logger: this.#parts.logger.child({ chain: name }),
      }),
    );
  }

  /** Of burns from one domain to another, as the attester asks now. */
  attesterFees(source: number, destination: number) {
    return this.#snapshot.feesOf(source, destination);
  }

  start(): void {
    this.#unfollow = this.#parts.book.onChange((bridgeId) => {
      this.#live.changed(bridgeId);
      this.#wake();
    });
    for (const bridgeId of this.#parts.book.active()) this.#live.changed(bridgeId);
    // For new blocks, in which nothing of ours need stand; what is done is decided by them alone.
    this.#timer = setInterval(() => {
      this.#explain();
      this.#wake();
    }, this.#parts.pollIntervalMs);
    this.#wake();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#unfollow?.();
    await Promise.all(this.#lines.map((line) => line.stop()));
  }

  /** Where several requests are of one address, the first is the one that counts. */
  #stepsOn(chain: string): readonly Step[] {
    const steps = new Map<string, Step>();
    for (const id of this.#live.ids()) {
      const record = this.#parts.book.recordOf(id);
      const facts = this.#parts.book.factsOf(id);
      if (record === undefined || facts === undefined) continue;
      for (const step of planOf(record, facts, this.#snapshot))
        if (step.chain === chain && !steps.has(step.key)) steps.set(step.key, step);
    }
    return [...steps.values()];
  }

  #explain(): void {
    const ids = new Set(this.#live.ids());
    for (const id of new Set([...ids, ...this.#explained])) {
      const record = this.#parts.book.recordOf(id);
      const facts = this.#parts.book.factsOf(id);
      if (record === undefined || facts === undefined) continue;
      this.#parts.book.remark(id, { waits: ids.has(id) ? waitsOf(record, facts, this.#snapshot) : {} });
    }
    this.#explained.clear();
    for (const id of ids) this.#explained.add(id);
  }

  #wake(): void {
    if (!this.#parts.hasLease()) return;
    this.#parts.wakeHome();
    for (const line of this.#lines) line.wake();
  }
}

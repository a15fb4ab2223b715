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
import { RefusalBackoff } from "./refusal-backoff.ts";
import { createHomeLine } from "./home-line.ts";
import { planOf } from "./plan.ts";
import { Live } from "./live.ts";
import { waitsOf } from "./reasons.ts";
import type { Step } from "./steps.ts";
import type { SweepParts } from "./sweeps.ts";
import { createSnapshot, type ServedChain, type SnapshotParts } from "./snapshot.ts";

export interface FarChain extends ServedChain {
  readonly sender: ChainSender;
}

export interface WorkerParts
  extends Omit<SnapshotParts, "chains" | "refusals" | "onAnswer" | "onFault">, Omit<SweepParts, "contracts"> {
  readonly home: ServedChain;
  readonly far: readonly FarChain[];
  readonly hasLease: () => boolean;
  /** Steps on the pool's chain may be needed. */
  readonly wakeHome: () => void;
  readonly pollIntervalMs: number;
  readonly logger: Logger;
}

export type Worker = ReturnType<typeof createWorker>;

export function createWorker(parts: WorkerParts) {
  const { book, home, far, hasLease, logger } = parts;
  const refusals = new RefusalBackoff();
  const live = new Live(book);
  const snapshot = createSnapshot({
    ...parts,
    ...{ chains: [home, ...far], refusals, onAnswer: () => wake() },
    onFault: (venue, error) =>
      logger.warn({ venue, err: error }, "a venue does not answer; what needs it waits"),
  });

  /** Where several requests are of one address, the first is the one that counts. */
  function stepsOn(chain: string): readonly Step[] {
    const steps = new Map<string, Step>();
    for (const id of live.ids()) {
      const record = book.recordOf(id);
      const facts = book.factsOf(id);
      if (record === undefined || facts === undefined) continue;
      for (const step of planOf(record, facts, snapshot))
        if (step.chain === chain && !steps.has(step.key)) steps.set(step.key, step);
    }
    return [...steps.values()];
  }

  /** Said by every relay, whoever acts. What has nothing to wait for any more has no reason either. */
  const explained = new Set<string>();
  function explain(): void {
    const ids = new Set(live.ids());
    for (const id of new Set([...ids, ...explained])) {
      const record = book.recordOf(id);
      const facts = book.factsOf(id);
      if (record === undefined || facts === undefined) continue;
      book.remark(id, { waits: ids.has(id) ? waitsOf(record, facts, snapshot) : {} });
    }
    explained.clear();
    for (const id of ids) explained.add(id);
  }

  const errands: Errands = createHomeLine({
    ...parts,
    ...{ contracts: home.contracts, refusals },
    steps: () => stepsOn(HOME_CHAIN),
  });
  const lines = far.map(({ name, contracts, sender }) =>
    createFarLine({
      ...{ name, contracts, sender, hasLease, refusals },
      steps: () => stepsOn(name),
      tip: () => book.tipOf(name)?.number,
      logger: logger.child({ chain: name }),
    }),
  );

  let timer: NodeJS.Timeout | undefined;
  let unfollow: (() => void) | undefined;

  function wake(): void {
    if (!hasLease()) return;
    parts.wakeHome();
    for (const line of lines) line.wake();
  }

  return {
    /** Steps on the pool's chain. */
    errands,
    /** Of burns from one domain to another, as the attester asks now. */
    attesterFees: (source: number, destination: number) => snapshot.feesOf(source, destination),
    start(): void {
      unfollow = book.onChange((bridgeId) => {
        live.changed(bridgeId);
        wake();
      });
      for (const bridgeId of book.active()) live.changed(bridgeId);
      // For new blocks, in which nothing of ours need stand; what is done is decided by them alone.
      timer = setInterval(() => {
        explain();
        wake();
      }, parts.pollIntervalMs);
      wake();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      unfollow?.();
      await Promise.all(lines.map((line) => line.stop()));
    },
  };
}

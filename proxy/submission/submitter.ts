/**
 * The loop that carries every accepted ticket to its end, and the only owner of the gas wallet's nonce. A
 * turn reads outcomes, tends what was sent, then puts all that waits into one `execute`. One transaction is
 * in flight at a time, so a nonce is never a hole; what became of it is read from the indexed events.
 */
import type { Field } from "../../shared/protocol/brands.ts";
import type { Kind } from "../../shared/protocol/statements.ts";
import { ChainAway, type Chain } from "../chain/provider.ts";
import type { Pool } from "../chain/pool.ts";
import type { Tokens } from "../chain/token.ts";
import type { Attestor } from "../enclave-link/attestor.ts";
import type { Logger } from "../logging.ts";
import { createMetrics, type Metrics } from "../observe/metrics.ts";
import type { ChainDataStore, IndexedBlock } from "../store/chain-data.ts";
import type { TicketStore } from "../store/tickets.ts";
import { Backoff } from "./backoff.ts";
import { createBatches } from "./batch.ts";
import { Blockage, type Blocked } from "./blocked.ts";
import type { GasWallet } from "./gas-wallet.ts";
import { createMembers } from "./members.ts";
import { createOutcomes, finalBlockOf } from "./outcomes.ts";
import { createOutgoing } from "./outgoing.ts";
import { createSending } from "./sending.ts";
import type { Tickets } from "./tickets.ts";

export interface SubmitterState {
  readonly blockedBy: Blocked | undefined;
  /** Milliseconds since 1970 of the last turn that ended well. */
  readonly lastTurnAt: number | undefined;
}

export interface Submitter {
  start(): void;
  /** Something may be to do; returns at once. */
  wake(): void;
  /** Ends the turn under way; stored bytes are adopted by the next start. */
  stop(): Promise<void>;
  state(): SubmitterState;
  /** What holds waiting tickets of this kind and the operator can mend. */
  blockedBy(kind: Kind): ReturnType<Blockage["of"]>;
}

export interface SubmitterParts {
  readonly chain: Chain;
  readonly pool: Pool;
  readonly tokens: Tokens;
  readonly attestor: Attestor;
  readonly tickets: Tickets;
  readonly store: TicketStore;
  readonly data: ChainDataStore;
  /** Complete siblings of a prefix of the queue. */
  readonly frontierAt: (leafCount: number) => Field[];
  /** Brings `data` to the chain's head. */
  readonly sync: () => Promise<void>;
  readonly wallet: GasWallet;
  readonly logger: Logger;
  /** Default: counted for nobody. */
  readonly metrics?: Pick<Metrics, "sent" | "mined" | "transaction">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export interface SubmitterOptions {
  readonly confirmations: number;
  readonly pollIntervalMs: number;
  /** A transaction that waits longer is replaced by one that pays more. */
  readonly stuckAfterMs?: number;
  /** Wei; never bid above it. */
  readonly maxFeePerGas?: bigint;
  readonly maxBatch?: number;
}

const DEFAULT_STUCK_AFTER_MS = 30_000;
const DEFAULT_MAX_FEE = 500_000_000_000n;
/** Sixteen-member batches measure far below the bounds of one call, so this leaves room to spare. */
const DEFAULT_MAX_BATCH = 32;

export function createSubmitter(parts: SubmitterParts, options: SubmitterOptions): Submitter {
  const { chain, data, logger, now, metrics = createMetrics() } = parts;
  const { maxFeePerGas = DEFAULT_MAX_FEE, stuckAfterMs = DEFAULT_STUCK_AFTER_MS } = options;
  const confirmations = Math.max(options.confirmations, 1);

  const blockage = new Blockage();
  const backoff = new Backoff();
  const outcomes = createOutcomes(parts);
  const sending = createSending({ ...parts, metrics, blockage, maxFeePerGas });
  const outgoing = createOutgoing({ ...parts, metrics, sending, backoff, stuckAfterMs });
  const maxBatch = options.maxBatch ?? DEFAULT_MAX_BATCH;
  const members = createMembers({ ...parts, backoff, blockage, maxBatch });
  const batches = createBatches({ ...parts, members, blockage });

  let isStopped = false;
  let isWanted = false;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let lastTurnAt: number | undefined;

  async function turn(): Promise<void> {
    await parts.sync();
    const tip = data.tip();
    if (tip === undefined) throw new ChainAway("nothing is indexed yet");
    const finalBlock = finalBlockOf(tip, confirmations);
    await outcomes.settleAll(finalBlock);
    if (await outgoing.tend(tip, finalBlock)) return;
    await sendNext(tip);
  }

  async function sendNext(tip: IndexedBlock): Promise<void> {
    const head = await chain.header("latest");
    // Built on anything but the newest block, a batch would meet a queue it does not expect.
    if (head?.hash !== tip.hash) {
      isWanted = true;
      return;
    }
    blockage.clear();
    const batch = await batches.next(tip);
    if (batch !== undefined && (await sending.send(batch, head))) isWanted = true;
  }

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      try {
        await turn();
        lastTurnAt = now();
        blockage.clear("chain");
      } catch (error) {
        if (error instanceof ChainAway) {
          blockage.report("chain");
          logger.warn({ reason: error.message }, "submission waits for the chain");
        } else logger.error({ err: error }, "a turn of the submitter failed");
        return;
      }
    }
  }

  function wake(): void {
    isWanted = true;
    if (isStopped) return;
    running ??= run().finally(() => (running = undefined));
  }

  return {
    start() {
      timer = setInterval(wake, options.pollIntervalMs);
      wake();
    },
    wake,
    async stop() {
      isStopped = true;
      clearInterval(timer);
      await running;
    },
    state: () => ({ blockedBy: blockage.by, lastTurnAt }),
    blockedBy: (kind) => blockage.of(kind),
  };
}

/** How the service stands at the moment a figure is asked for. */
import type { Disagreements } from "../enclave-link/disagreements.ts";
import type { ConnectionCap } from "../../base/http/connection-cap.ts";
import type { Limits } from "../../base/limits/limits.ts";
import type { Indexer } from "../merkle/indexer.ts";
import type { Snapshot } from "../../base/observe/metrics.ts";
import type { Status } from "./status.service.ts";
import type { BalanceWatch } from "../sequencer/balance-watch.ts";
import type { Sequencer } from "../sequencer/sequencer.ts";
import type { DiskWatch } from "./disk-watch.ts";
import type { PoolWatch } from "./pool-watch.ts";

export interface SnapshotParts {
  readonly sequencer: Pick<Sequencer, "state">;
  readonly indexer: Pick<Indexer, "state">;
  readonly status: Pick<Status, "warnings">;
  readonly limits: Pick<Limits, "openStreams">;
  readonly balance: Pick<BalanceWatch, "balance">;
  readonly poolWatch: Pick<PoolWatch, "brakes">;
  readonly disk: Pick<DiskWatch, "room">;
  readonly cap: Pick<ConnectionCap, "open">;
  readonly disagreements: Pick<Disagreements, "open">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

export function createSnapshots(parts: SnapshotParts): () => Snapshot {
  const { sequencer, indexer, status, limits, balance, poolWatch, disk, cap, disagreements, now } = parts;
  return () => {
    const { queue, hasLease, blockedBy, lastTurnAt, callsInFlight } = sequencer.state();
    const index = indexer.state();
    return {
      queue: queue && {
        tickets: queue.tickets,
        oldestWaitingSecs: Math.max(0, now() - (queue.oldestAt ?? now())) / 1000,
      },
      hasLease,
      openConnections: cap.open(),
      openStreams: limits.openStreams(),
      blockedBy,
      lastTurnAt,
      callsInFlight,
      indexedBlock: index.tip?.number,
      syncedAt: index.syncedAt,
      hasIndexFault: index.fault !== undefined,
      gasWalletBalance: balance.balance(),
      brakes: poolWatch.brakes(),
      disk: disk.room(),
      disagreements: disagreements.open(),
      warnings: status.warnings().length,
    };
  };
}

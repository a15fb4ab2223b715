/** Burns that devices have signed, as the proxies leave them in the store: each is looked at and answered. */
import type { Logger } from "../base/logging.ts";
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import { LeaseLost, type Fence } from "../base/store/lease.ts";
import type { RelayStore } from "../base/store/relay.ts";
import type { BurnDesk } from "./requests.ts";

export interface SignaturesParts {
  readonly desk: BurnDesk;
  readonly recordOf: (bridgeId: string) => BridgeRecord | undefined;
  readonly store: Pick<RelayStore, "unanswered" | "underLease" | "follow">;
  readonly fence: () => Fence | undefined;
  readonly logger: Logger;
}

/** `look`: those that came while nobody had the lease are answered, too. */
export function startSignatures({ desk, recordOf, store, fence, logger }: SignaturesParts) {
  let running: Promise<void> | undefined;
  let isWanted = false;

  async function pass(): Promise<void> {
    const held = fence();
    if (held === undefined) return;
    for (const [id, transaction] of await store.unanswered()) {
      const record = recordOf(id);
      // Not read yet, or closed; the next look finds it.
      if (record === undefined) continue;
      const outcome = await desk.submit(record, Uint8Array.from(Buffer.from(transaction, "base64")));
      await store.underLease(held).answer(id, transaction, outcome);
    }
  }

  async function run(): Promise<void> {
    while (isWanted) {
      isWanted = false;
      await pass().catch((error: unknown) => {
        if (!(error instanceof LeaseLost)) logger.error({ err: error }, "signed burns could not be answered");
      });
    }
  }

  function look(): void {
    isWanted = true;
    running ??= run().finally(() => (running = undefined));
  }
  const unfollow = store.follow({ signed: look, missed: look });

  return {
    look,
    async stop(): Promise<void> {
      unfollow();
      await running;
    },
  };
}

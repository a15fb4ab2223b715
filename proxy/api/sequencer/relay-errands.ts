/**
 * The relay's calls on the pool's chain, out of the store. The relay is another program, so what it asks the gas wallet to
 * pay for is looked at here: calls that anybody may make of the bridges' contracts, within bounds, that were planned on the
 * newest blocks. Whether it lives, hangs or writes without end: a turn reads one record, and payments go on.
 */
import { id } from "ethers";
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Errand, Errands } from "../../base/chain/errands.ts";
import type { Logger } from "../../base/logging.ts";
import type { Fence } from "../../base/store/lease.ts";
import type { Offer, Outcome, RelayStore } from "../../base/store/relay.ts";

export interface RelayErrandsParts {
  readonly store: Pick<RelayStore, "offer" | "settle">;
  readonly forwarders: Address;
  /** CCTP's, on the pool's chain. */
  readonly transmitter: Address;
  /** Of this proxy's lease as the one that submits. */
  readonly fence: () => Fence | undefined;
  readonly logger: Logger;
}

/** An offer of older blocks is of a relay that has stopped. */
const MOST_BEHIND = 32;
/** Of the largest call of ours, fifty sweeps with their fee notes, some more; EIP-7825 allows a transaction 16,777,216. */
const MOST_GAS = 16_000_000n;
const RECEIVE = selectorOf("receiveMessage(bytes,bytes)");

export function createRelayErrands(parts: RelayErrandsParts): Errands {
  const { store, forwarders, transmitter, fence, logger } = parts;
  /** Number of the first block that has our last one; what was planned before it would be done twice. */
  let after: number | undefined;
  let given: Offer | undefined;
  /** Not asked of the node again on the same block. */
  let refused: Outcome | undefined;
  let strange: string | undefined;

  function isOurs({ id: offer, to, data, gasLimit }: Offer): boolean {
    const isCall = to === forwarders || (to === transmitter && data.startsWith(RECEIVE));
    if (isCall && gasLimit <= MOST_GAS) return true;
    if (strange !== offer) logger.error({ offer, to }, "the relay offers a call that is not the bridges'");
    strange = offer;
    return false;
  }

  /** What the relay does not learn from it, it learns from the chain. */
  function settle(what: Outcome["what"], at: number): void {
    const held = fence();
    if (given === undefined || held === undefined) return;
    const outcome = { id: given.id, what, at };
    if (what === "refused") refused = outcome;
    store
      .settle(held, outcome)
      .catch((error: unknown) => logger.warn({ err: error }, "the relay could not be told of its call"));
  }

  return {
    async next(tip) {
      // Nothing of ours is under way when this is asked, so the newest block has what was sent last.
      after ??= tip.number;
      given = await store.offer();
      if (given === undefined || (given.id === refused?.id && tip.number === refused.at)) return undefined;
      const { asOf, to, data, gasLimit, label } = given;
      if (asOf < Math.max(after, tip.number - MOST_BEHIND) || !isOurs(given)) return undefined;
      return { to, data, gasLimit, label } satisfies Errand;
    },
    sent() {
      settle("sent", after ?? 0);
      after = undefined;
    },
    refused: (_errand, tip) => settle("refused", tip.number),
  };
}

function selectorOf(signature: string): string {
  return id(signature).slice(0, "0x12345678".length);
}

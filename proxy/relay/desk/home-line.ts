/**
 * Steps on the pool's chain, as errands for whoever submits: one at a time. Kinds take turns, so that a
 * crowd of one never holds up the others for long; sweeps go many in a call.
 */
import type { Logger } from "../../base/logging.ts";
import type { Errand, Errands } from "../../base/chain/errands.ts";
import { burnCall, clockCall, deliverCall, type CalledContracts } from "./calls.ts";
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { RefusalBackoff } from "../refusal-backoff.ts";
import { refusalWords } from "./refusal-words.ts";
import type { Step } from "./steps.ts";
import { nextSweep, type SweepParts } from "./sweeps.ts";

export interface HomeLineParts extends SweepParts {
  readonly contracts: CalledContracts;
  readonly chain: Pick<Chain, "call">;
  /** Steps that are needed on the pool's chain as of its newest block that was looked at. */
  readonly steps: () => readonly Step[];
  readonly refusals: RefusalBackoff;
  readonly logger: Logger;
}

/** So many steps that cannot be made are looked at in one turn. */
const MOST_TRIES = 16;

const KINDS: readonly Step["kind"][] = ["sweep", "deliver", "flush", "refund", "touch"];
/** Before the others have a turn: what several deliveries bring is swept in one call, and one root covers it. */
const DELIVERIES_IN_A_ROW = 8;

interface Offer {
  readonly kind: Step["kind"];
  readonly errand: Errand;
  readonly keys: readonly string[];
}

export function createHomeLine(parts: HomeLineParts): Errands {
  const { contracts, refusals, logger } = parts;
  /** The kind that was sent last comes last. */
  let order = KINDS;
  let deliveries = 0;
  let offered: Offer | undefined;

  async function offerOf(
    steps: readonly Step[],
    kind: Step["kind"],
    tip: number,
  ): Promise<Offer | undefined> {
    if (kind === "sweep") {
      const sweeps = steps.filter((step) => step.kind === "sweep");
      const next = await nextSweep(sweeps, parts);
      return next && { kind, errand: next.errand, keys: next.steps.map(({ key }) => key) };
    }
    // One that cannot be made now must not hold up those behind it, nor the start of its own refund clock.
    for (const step of steps.filter((one) => one.kind === kind).slice(0, MOST_TRIES)) {
      const errand = errandOf(step);
      if (errand !== undefined) return { kind, errand, keys: [step.key] };
      refusals.refused(step.key, tip);
    }
    return undefined;
  }

  function errandOf(step: Step): Errand | undefined {
    switch (step.kind) {
      case "deliver":
        return deliverCall(contracts, step);
      case "flush":
        return burnCall(contracts, step);
      case "touch":
      case "refund":
        return clockCall(contracts, step);
      case "sweep":
      case "forward":
        return undefined;
    }
  }

  /** Who submits says only that the contract refused; what it said is asked here, for people alone. */
  async function whyNot({ to, data, gasLimit: gas }: Errand): Promise<string | undefined> {
    try {
      await parts.chain.call({ from: parts.sender, to, data, gas });
      return undefined;
    } catch (error) {
      return error instanceof ChainRefused ? refusalWords(error.data) : undefined;
    }
  }

  return {
    async next(tip) {
      const steps = parts.steps().filter(({ key }) => !refusals.isHeld(key, tip.number));
      for (const kind of order) {
        const offer = await offerOf(steps, kind, tip.number);
        if (offer === undefined) continue;
        offered = offer;
        return offer.errand;
      }
      return undefined;
    },
    sent(errand) {
      // Not when it was offered: payments may go first, and every second kind would never be sent then.
      if (offered?.errand !== errand) return;
      const { kind } = offered;
      const others = order.filter((one) => one !== kind);
      deliveries = kind === "deliver" ? deliveries + 1 : 0;
      const hasMore = kind === "deliver" && deliveries < DELIVERIES_IN_A_ROW;
      order = hasMore ? [kind, ...others] : [...others, kind];
    },
    refused(errand, tip) {
      if (offered?.errand !== errand) return;
      const { keys } = offered;
      for (const key of keys) refusals.refused(key, tip.number);
      logger.warn({ errand: errand.label, steps: keys.length }, "a step would fail; it is tried again later");
      void whyNot(errand).then((words) => {
        for (const key of keys) refusals.explained(key, words);
      });
    },
  };
}

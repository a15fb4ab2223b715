/**
 * Steps on one other EVM chain, by its own sender. A chain that is away stops its own line and no other; what is to be done
 * there is planned again whenever it is looked at.
 */
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Logger } from "../../base/logging.ts";
import type { Errand } from "../../base/chain/errands.ts";
import { burnCall, clockCall, deliverCall, type CalledContracts } from "./calls.ts";
import type { ChainSender } from "./chain-sender.ts";
import type { RefusalBackoff } from "../refusal-backoff.ts";
import { refusalWords } from "./refusal-words.ts";
import type { Step } from "./steps.ts";

export interface FarLineParts {
  readonly name: string;
  readonly contracts: CalledContracts;
  readonly sender: ChainSender;
  /** Needed on this chain now. */
  readonly steps: () => readonly Step[];
  readonly tip: () => number | undefined;
  readonly hasLease: () => boolean;
  readonly refusals: RefusalBackoff;
  readonly logger: Logger;
}

/** So many steps that would fail are looked at in one pass. */
const MOST_TRIES = 16;

export function createFarLine(parts: FarLineParts) {
  const { name, contracts, sender, hasLease, refusals, logger } = parts;
  let running: Promise<void> | undefined;
  let isWanted = false;
  let isStopped = false;
  let isAway = false;
  /** The step that was sent last, so that it is not always the same one's turn. */
  let last: string | undefined;

  function errandOf(step: Step): Errand | undefined {
    switch (step.kind) {
      case "deliver":
        return deliverCall(contracts, step);
      case "forward":
        return burnCall(contracts, step);
      case "touch":
      case "refund":
        return clockCall(contracts, step);
      case "sweep":
      case "flush":
        return undefined;
    }
  }

  async function pass(): Promise<void> {
    const tip = parts.tip();
    if (tip === undefined || !hasLease() || (await sender.isBusy(tip))) return;
    const steps = parts.steps();
    const from = steps.findIndex(({ key }) => key === last) + 1;
    const inTurn = [...steps.slice(from), ...steps.slice(0, from)];
    for (const step of inTurn.slice(0, MOST_TRIES)) {
      const errand = errandOf(step);
      // Held like one that the contract refuses.
      if (errand === undefined) {
        refusals.refused(step.key, tip);
        continue;
      }
      // Asked again: who has lost the lease meanwhile leaves it to the other.
      if (!hasLease()) return;
      last = step.key;
      const outcome = await sender.send(errand);
      if (typeof outcome === "string") return;
      refusals.refused(step.key, tip, refusalWords(outcome.refused));
    }
  }

  async function run(): Promise<void> {
    while (isWanted && !isStopped) {
      isWanted = false;
      try {
        await pass();
        isAway = false;
      } catch (error) {
        if (!(error instanceof ChainUnreachable))
          logger.error({ chain: name, err: error }, "a chain's steps failed");
        // Said once, and not in every pass until it is back.
        else if (!isAway)
          logger.warn({ chain: name, reason: error.message }, "a chain is away; its steps wait");
        isAway = error instanceof ChainUnreachable;
      }
    }
  }

  return {
    wake(): void {
      isWanted = true;
      if (!isStopped) running ??= run().finally(() => (running = undefined));
    },
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
  };
}

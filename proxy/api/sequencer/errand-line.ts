/** The next errand of a turn: asked for, and tried on the newest block before it may be sent. Payments go on whatever is wrong with it. */
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { IndexedBlock } from "../../base/store/chain-data.ts";
import type { Batch } from "./batch.ts";
import type { Errand, Errands } from "../../base/chain/errands.ts";
import type { TermParts } from "./term.ts";

export interface WaitingErrand {
  readonly errand: Errand;
  /** Ready to be sent, or undefined where the chain would not take it. */
  checked(): Promise<Batch | undefined>;
}

/** `undefined` as the source: an instance without errands. */
export function createErrandLine(
  source: Errands | undefined,
  { chain, wallet, logger }: Pick<TermParts, "chain" | "wallet" | "logger">,
) {
  /** With just this gas, on the newest block: one that would fail is not paid for. */
  async function isTaken({ to, data, gasLimit, label }: Errand): Promise<boolean> {
    try {
      await chain.call({ from: wallet.address, to, data, gas: gasLimit });
      return true;
    } catch (error) {
      if (!(error instanceof ChainRefused)) throw error;
      logger.warn({ errand: label, to, code: error.code, reason: reasonOf(error) }, "an errand would fail");
      return false;
    }
  }

  /** Whatever is wrong with its source, payments go on. */
  async function nextOf(tip: IndexedBlock): Promise<Errand | undefined> {
    try {
      return await source?.next(tip);
    } catch (error) {
      logger.error({ err: error }, "the source of errands failed");
      return undefined;
    }
  }

  return {
    async waiting(tip: IndexedBlock): Promise<WaitingErrand | undefined> {
      const errand = await nextOf(tip);
      if (errand === undefined) return undefined;
      let answer: Promise<Batch | undefined> | undefined;
      async function check(one: Errand): Promise<Batch | undefined> {
        if (await isTaken(one))
          return { candidates: [], calldata: one.data, gasLimit: one.gasLimit, errand: one };
        source?.refused(one, tip);
        return undefined;
      }
      // Once a turn, however often it is looked at.
      return { errand, checked: () => (answer ??= check(errand)) };
    },
  };
}

/** The selector of the contract's error; the rest may be anybody's text. */
const reasonOf = ({ data }: ChainRefused): string => data.slice(0, 10);

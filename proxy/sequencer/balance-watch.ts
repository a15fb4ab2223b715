/** Asks now and then what the gas wallet has, for the operator's figures; nothing is decided by it. */
import { ChainUnreachable, ChainRefused } from "../chain/json-rpc.ts";
import type { Chain } from "../chain/provider.ts";
import type { Address } from "../../shared/protocol/brands.ts";

export interface BalanceWatch {
  start(): void;
  stop(): Promise<void>;
  /** Wei, at most one interval old; undefined when the node did not say when it was last asked. */
  balance(): bigint | undefined;
}

const EVERY_MS = 30_000;

export function createBalanceWatch(
  chain: Pick<Chain, "balance">,
  wallet: Address,
  everyMs = EVERY_MS,
): BalanceWatch {
  let known: bigint | undefined;
  let asking: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  async function ask(): Promise<void> {
    try {
      known = await chain.balance(wallet);
    } catch (error) {
      if (!(error instanceof ChainUnreachable || error instanceof ChainRefused)) throw error;
      known = undefined;
    }
  }
  const look = (): void => {
    asking ??= ask().finally(() => (asking = undefined));
  };

  return {
    start() {
      timer = setInterval(look, everyMs);
      look();
    },
    async stop() {
      clearInterval(timer);
      await asking;
    },
    balance: () => known,
  };
}

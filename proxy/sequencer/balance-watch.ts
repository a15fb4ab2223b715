/** Asks now and then what the gas wallet has, for the operator's figures; nothing is decided by it. */
import { ChainUnreachable, ChainRefused } from "../chain/json-rpc.ts";
import type { Chain } from "../chain/provider.ts";
import type { Address } from "../../shared/protocol/brands.ts";

const EVERY_MS = 30_000;

export type BalanceWatch = ReturnType<typeof createBalanceWatch>;

export function createBalanceWatch(chain: Pick<Chain, "balance">, wallet: Address, everyMs = EVERY_MS) {
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
    start(): void {
      timer = setInterval(look, everyMs);
      look();
    },
    async stop(): Promise<void> {
      clearInterval(timer);
      await asking;
    },
    /** Wei, at most one interval old; undefined when the node did not say when it was last asked. */
    balance: () => known,
  };
}

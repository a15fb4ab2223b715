/** Public token balances, as deposit screens show them. The chain's node may be unreachable; nothing is remembered. */
import type { Balance } from "../../../shared/api/data.ts";
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import type { Tokens } from "../../base/chain/token.ts";
import type { Asset } from "../../base/instance-config.ts";
import { ApiError } from "../../base/http/errors.ts";

export interface Balances {
  usdc(account: Address): Promise<Balance>;
}

export function createBalances(
  chain: Pick<Chain, "header">,
  tokens: Pick<Tokens, "balanceOf">,
  usdc: Asset,
): Balances {
  return {
    usdc: async (account) => {
      try {
        const head = await chain.header("latest");
        if (head === undefined) throw new ChainUnreachable("the node has no latest block");
        // At the named block, so that balance and block number belong together.
        const balance = await tokens.balanceOf(usdc.address, account, head.number);
        return {
          address: checksumAddress(account),
          token: checksumAddress(usdc.address),
          balance: String(balance),
          decimals: usdc.decimals,
          block_number: head.number,
        };
      } catch (cause) {
        if (!(cause instanceof ChainUnreachable)) throw cause;
        throw new ApiError("CHAIN_UNAVAILABLE", "The chain cannot be asked at the moment", {
          retryAfterSecs: 5,
          cause,
        });
      }
    },
  };
}

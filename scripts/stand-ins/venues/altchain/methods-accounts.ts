/** JSON-RPC: what accounts hold. */
import { decodeMint } from "@solana-program/token";
import type { EncodedAccount } from "@solana/kit";
import { z } from "zod";
import { tokenAccount } from "./bank.ts";
import { inContext, method, type Methods } from "./method.ts";
import { accountContext, address, context } from "./params.ts";
import { uiAmount } from "./parsed.ts";
import { accountJson, decimalsOf, isMint } from "./rendering.ts";
import { invalidParams } from "./rpc-errors.ts";

const MOST_ACCOUNTS = 100;

export const accountMethods: Methods = {
  getBalance: method(z.tuple([address, context]), ({ ledger }, [of, config]) =>
    inContext(ledger, config, ledger.account(of, config.commitment)?.lamports ?? 0n),
  ),

  getAccountInfo: method(z.tuple([address, accountContext]), ({ ledger }, [of, config]) => {
    const account = ledger.account(of, config.commitment);
    return inContext(ledger, config, accountJson(ledger, account, config.encoding, config.dataSlice));
  }),

  getMultipleAccounts: method(z.tuple([z.array(address), accountContext]), ({ ledger }, [all, config]) => {
    if (all.length > MOST_ACCOUNTS)
      throw invalidParams(`Too many inputs provided; max ${String(MOST_ACCOUNTS)}`);
    const encoding = config.encoding ?? "base64";
    const found = all.map((of) => ledger.account(of, config.commitment));
    return inContext(
      ledger,
      config,
      found.map((account) => accountJson(ledger, account, encoding, config.dataSlice)),
    );
  }),

  getTokenAccountBalance: method(z.tuple([address, context]), ({ ledger }, [of, config]) => {
    const account = ledger.account(of, config.commitment);
    if (account === undefined) throw invalidParams("could not find account");
    const token = tokenAccount(account);
    if (token === undefined) throw invalidParams("not a Token account");
    return inContext(ledger, config, uiAmount(token.amount, decimalsOf(ledger)(token.mint)));
  }),

  getTokenSupply: method(z.tuple([address, context]), ({ ledger }, [of, config]) => {
    const { supply, decimals } = mustBeMint(ledger.account(of, config.commitment));
    return inContext(ledger, config, uiAmount(supply, decimals));
  }),

  getMinimumBalanceForRentExemption: method(
    z.tuple([z.number().int().nonnegative(), context]),
    ({ ledger }, [space]) => ledger.rentExempt(BigInt(space)),
  ),
};

function mustBeMint(account: EncodedAccount | undefined) {
  if (account === undefined || !isMint(account)) throw invalidParams("not a Token mint");
  return decodeMint(account).data;
}

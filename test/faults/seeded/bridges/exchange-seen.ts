/** What the exchange itself says: its books as they lie on its disk, what its API tells, and what lies for it on the chains. */
import { readAmount } from "../../../../scripts/stand-ins/venues/exchange/amounts.ts";
import { unpaddedAddress } from "../../../../shared/protocol/host/forwarders.ts";
import { balanceOf } from "./chain-seen.ts";
import type { Exchange } from "./exchange.ts";
import type { Books, ExchangeSeen, Withdrawn } from "./observations.ts";
import type { Stage } from "./stage.ts";
import { NEW_ACCOUNT } from "./world-exchange.ts";

export async function readBooks(exchange: Exchange): Promise<Books> {
  const { ledger, updates, withdrawals } = await exchange.books();
  return {
    ledger: new Map(Object.entries(ledger.toJson()).map(([account, units]) => [account, BigInt(units)])),
    deposits: updates.flatMap(({ users, hash, delta }) => {
      const amount = delta["type"] === "deposit" ? readAmount(String(delta["usdc"])) : undefined;
      return amount === undefined ? [] : [{ account: users[0]!, amount, tx: hash }];
    }),
    withdrawals: withdrawals.map(({ user, way, amount, fee, state, sent }): Withdrawn => ({
      ...{ user, amount, fee, state, sent: sent?.hash },
      recipient: unpaddedAddress(way.recipient) ?? "",
    })),
  };
}

export async function readExchange({ facts, parties }: Stage, before: Books): Promise<ExchangeSeen> {
  const { exchange, chains } = parties;
  const { accounts, reserve } = facts.exchange;
  const told = new Map<string, bigint>();
  for (const account of Object.values(accounts)) told.set(account, await exchange.balance(account));
  return {
    ...{ before, after: await readBooks(exchange), told, newAccount: NEW_ACCOUNT },
    forgotten: new Set(exchange.forgotten),
    held: await balanceOf(chains.exchange, facts.chains.exchange, reserve),
  };
}

/** What the exchange itself says: its books as they lie on its disk, what its API tells, and what lies for it on the chains. */
import { readAmount } from "../../../../scripts/stack/venues/exchange/amounts.ts";
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
    withdrawals: withdrawals.map(({ user, way, amount, fee, state, sent }): Withdrawn => {
      const recipient = way.kind === "bridge" ? way.destination : unpaddedAddress(way.recipient);
      return {
        ...{ user, amount, fee, state, door: way.kind, recipient: recipient ?? "" },
        sent: sent.map(({ hash }) => hash),
      };
    }),
  };
}

export async function readExchange({ facts, parties }: Stage, before: Books): Promise<ExchangeSeen> {
  const { exchange, chains } = parties;
  const { accounts, bridge, reserve } = facts.exchange;
  const told = new Map<string, bigint>();
  for (const account of Object.values(accounts)) told.set(account, await exchange.balance(account));
  return {
    ...{ before, after: await readBooks(exchange), bridge, told, newAccount: NEW_ACCOUNT },
    forgotten: new Set(exchange.forgotten),
    held: {
      cctp: await balanceOf(chains.exchange, facts.chains.exchange, reserve),
      bridge: await balanceOf(chains.home, facts.chains.home, bridge),
    },
  };
}

/** The exchange as all scenarios find it: a trader with money on both sides of it, somebody who has taken all of his away, and its own books. */
import { cp, mkdir } from "node:fs/promises";
import { Wallet } from "ethers";
import type { NetworkEntry } from "../../../../scripts/base/stack-file.ts";
import { depositAtExchange, exchangeBalance } from "../../../../scripts/stack/bridges/people.ts";
import { postAction, send, signAction } from "../../../../scripts/stand-ins/venues/exchange/actions.ts";
import { writeAmount } from "../../../../scripts/stand-ins/venues/exchange/amounts.ts";
import { reserveOf } from "../../../../scripts/stand-ins/venues/exchange/start.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { until } from "../../../support/until.ts";
import { person } from "./persons.ts";

const [TRADER, LEAVER, NEVER_THERE] = [9, 10, 11];
const UNIT = 1_000_000n;
const BROUGHT = 2_000_000n * UNIT;
/** What it keeps of the first deposit of an account, or of who sends to one that is new. */
export const NEW_ACCOUNT = UNIT;
const LENT = 10n * UNIT;

/** What becomes of an account of the exchange: it stays, it may be forgotten as nothing is left on it, or it never was. */
export type AccountKind = "trader" | "leaver" | "never";

export interface ExchangeFacts {
  readonly accounts: Readonly<Record<AccountKind, Address>>;
  /** Contract on its own chain that is paid and names the account. */
  readonly forwarder: Address;
  /** Holds its accounts' money on its own chain. */
  readonly reserve: Address;
  /** Its keys, and its books as they stand at the snapshot. */
  readonly folder: string;
}

export const trader = (): Wallet => new Wallet(person(TRADER).privateKey);

/** While the chains still make blocks by themselves. `folder`: of the running exchange; `copy`: where its books go. */
export async function fillExchange(
  { bridges, ...entry }: NetworkEntry,
  { folder, copy }: { readonly folder: string; readonly copy: string },
): Promise<ExchangeFacts> {
  if (bridges === undefined) throw new Error("a network without bridges");
  const { api_url: url, forwarder } = bridges.perpvenue;
  const [account, leaver] = [trader(), new Wallet(person(LEAVER).privateKey)];
  await depositAtExchange(entry, bridges, account, BROUGHT);
  const has = async (amount: bigint): Promise<boolean> =>
    (await exchangeBalance(bridges, account.address)) === amount;
  await until("the deposit to be there", () => has(BROUGHT - NEW_ACCOUNT));
  const now = Date.now();
  const lend = send(asAddress(leaver.address)!, writeAmount(LENT), now);
  await postAction(url, await signAction(account, lend));
  await postAction(url, await signAction(leaver, send(asAddress(account.address)!, writeAmount(LENT), now)));
  await mkdir(copy, { recursive: true, mode: 0o700 });
  await cp(folder, copy, { recursive: true });
  const reserve = await reserveOf(copy);
  return {
    accounts: {
      trader: asAddress(account.address)!,
      leaver: asAddress(leaver.address)!,
      never: asAddress(person(NEVER_THERE).address)!,
    },
    ...{ forwarder: asAddress(forwarder)!, reserve, folder: copy },
  };
}

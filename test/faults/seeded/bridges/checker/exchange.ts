/** The exchange's ledger, to the unit: what was sent to an account is entered there once, what left it left once, and nothing else moved. */
import type { AskedOut, Books, ExchangeSeen, Named, Observations, Withdrawn } from "../observations.ts";
import { amountsOf, sum, type Say } from "./reading.ts";

type Seen = Pick<Observations, "asked" | "chains" | "exchange">;

export function checkExchange(seen: Seen, say: Say): void {
  const { exchange } = seen;
  if (exchange === undefined) return;
  checkNamed(seen, say);
  const fees = checkDeposits(seen.chains.exchange.named, exchange, say);
  const gone = newOf(exchange, "withdrawals");
  for (const one of gone) checkWithdrawal(one, seen.chains.exchange.burns, say);
  checkNothingElseLeft(gone, seen.chains.exchange.burns, say);
  checkLedger(seen.chains.exchange.named, exchange, fees, say);
}

/** What is entered on the ledger of what these messages brought. */
export function enteredOf(
  { chains, exchange }: Pick<Seen, "chains" | "exchange">,
  nonces: ReadonlySet<string>,
): readonly Named[] {
  const entered = new Set(exchange === undefined ? [] : newOf(exchange, "deposits").map(keyOf));
  return chains.exchange.named.filter((one) => nonces.has(one.nonce) && entered.has(keyOf(one)));
}

const keyOf = ({ tx, account }: { readonly tx: string; readonly account: string }): string =>
  `${tx} ${account}`;

function newOf<Name extends "deposits" | "withdrawals">(
  { before, after }: ExchangeSeen,
  name: Name,
): Books[Name] {
  return after[name].slice(before[name].length) as unknown as Books[Name];
}

/** What its contract names was burned for that account, is what was minted, and is all that was minted. */
function checkNamed({ asked, chains: { home, exchange } }: Seen, say: Say): void {
  const outs = asked.filter((one): one is AskedOut => one.direction === "out" && one.account !== undefined);
  for (const { nonce, account, isPerps, amount } of exchange.named) {
    const mint = exchange.mints.find((one) => one.nonce === nonce);
    if (mint === undefined || mint.amount - mint.fee !== amount)
      say("LEDGER_WRONG", `${String(amount)} for ${account} is not what was minted`);
    const burn = home.burns.find((one) => one.nonce === nonce);
    const its = outs.find(({ home: { address } }) =>
      home.acts.some(({ kind, vault, tx }) => kind === "Flushed" && vault === address && tx === burn?.tx),
    );
    // A burn that was taken back tells no more who it was of.
    if (!isPerps || (its === undefined ? burn !== undefined : its.account!.address !== account))
      say("LEDGER_WRONG", `${String(amount)} of ${its?.name ?? "nobody"} for ${account}`);
  }
  for (const { nonce, recipient } of exchange.mints) {
    const times = exchange.named.filter((one) => one.nonce === nonce).length;
    if (times !== 1) say("LEDGER_WRONG", `a mint to ${recipient} is named ${String(times)} times`);
  }
}

/** Each entered once; returns what was taken for accounts that are new again. */
function checkDeposits(named: readonly Named[], exchange: ExchangeSeen, say: Say): bigint {
  const left = [...newOf(exchange, "deposits")];
  const renewed = new Set<string>();
  let fees = 0n;
  for (const one of named) {
    const at = left.findIndex((deposit) => keyOf(deposit) === keyOf(one));
    const [deposit] = at < 0 ? [] : left.splice(at, 1);
    if (deposit === undefined) {
      say("NOT_CREDITED", `${String(one.amount)} for ${one.account} is not on the exchange's ledger`);
      continue;
    }
    const missing = one.amount - deposit.amount;
    const mayBeNew = exchange.forgotten.has(one.account) && !renewed.has(one.account);
    if (missing !== 0n && !(mayBeNew && missing === exchange.newAccount))
      say("LEDGER_WRONG", `${String(one.amount)} for ${one.account} is entered as ${String(deposit.amount)}`);
    if (missing !== 0n) renewed.add(one.account);
    fees += missing;
  }
  for (const { account, amount } of left)
    say("LEDGER_WRONG", `${String(amount)} for ${account} came from nowhere`);
  return fees;
}

type Burns = Observations["chains"]["exchange"]["burns"];

function checkWithdrawal(one: Withdrawn, burns: Burns, say: Say): void {
  const what = `${String(one.amount)} to ${one.recipient}`;
  if (one.state === "open") {
    say("NOT_PAID", what);
    return;
  }
  if (one.state === "returned") say("LEDGER_WRONG", `${what} was given back`);
  const times = burns.filter(
    ({ tx, recipient, amount }) => one.sent === tx && recipient === one.recipient && amount === one.amount,
  ).length;
  if (times !== 1) say("LEDGER_WRONG", `${what} left ${String(times)} times`);
}

function checkNothingElseLeft(gone: readonly Withdrawn[], burns: Burns, say: Say): void {
  const left = sum(amountsOf(burns));
  const should = sum(amountsOf(gone.filter(({ state }) => state === "paid")));
  if (left > should) say("LEDGER_WRONG", `${String(left)} left it, of ${String(should)} that was booked`);
}

/** Every account of the books, those of nobody too. */
function checkLedger(named: readonly Named[], exchange: ExchangeSeen, newAccounts: bigint, say: Say): void {
  const { before, after, held, told } = exchange;
  const should = new Map(before.ledger);
  const add = (account: string, amount: bigint): void =>
    void should.set(account, (should.get(account) ?? 0n) + amount);
  for (const { account, amount } of newOf(exchange, "deposits")) add(`perps:${account}`, amount);
  add("outside", -sum(amountsOf(named)));
  add("fees", newAccounts);
  for (const { user, amount, fee, state } of newOf(exchange, "withdrawals")) {
    if (state === "returned") continue;
    add(`perps:${user}`, -amount - fee);
    add("fees", fee);
    add(state === "open" ? "leaving" : "outside", amount);
  }
  for (const account of new Set([...should.keys(), ...after.ledger.keys()])) {
    const [has, wants] = [after.ledger.get(account) ?? 0n, should.get(account) ?? 0n];
    if (has !== wants) say("LEDGER_WRONG", `${account} has ${String(has)} instead of ${String(wants)}`);
  }
  const owed = -(after.ledger.get("outside") ?? 0n);
  if (held !== owed) say("LEDGER_WRONG", `${String(held)} lies for it, of ${String(owed)} in its books`);
  for (const [account, units] of told)
    if (units !== (after.ledger.get(`perps:${account}`) ?? 0n))
      say("LEDGER_WRONG", `${account} is told to have ${String(units)}`);
}

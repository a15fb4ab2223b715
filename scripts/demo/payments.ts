// The demo's first part: public money becomes private, goes through three hands, one payment of many notes
// among them, and comes out again.
import { parseUnits } from "ethers";
import { newSeed, type Wallet } from "../../shared/client/index.ts";
import { KINDS } from "../../shared/protocol/statements.ts";
import { show, TestUsdc } from "../stand-ins/usdc.ts";
import type { DemoStage as Stage } from "./stage.ts";

const usd = (text: string): bigint => parseUnits(text, TestUsdc.decimals);

const DEPOSIT = usd("100");
/** No two of these make COMBINED. */
const PARTS = [usd("30"), usd("10"), usd("5")];
const COMBINED = usd("42");
const WITHDRAWAL = usd("12.5");
/** Of what its fees brought, in private. */
const SPENT_BY_DEVELOPER = usd("0.1");
const NOTES = { symbol: "notes", decimals: 0 };

export async function showPayments(stage: Stage): Promise<void> {
  const { say, entry } = stage;
  const usdc = stage.token("USDC");
  const money = (amount: bigint): string => show(amount, usdc);
  const held = (of: Wallet): bigint => of.balance(usdc.address).total;

  const thirdSeed = newSeed();
  const [first, second, third] = [
    await stage.wallet(),
    await stage.wallet(),
    await stage.wallet(thirdSeed),
  ] as const;
  const { service, developer } = await stage.feeWallets();
  const before = { service: held(service), developer: held(developer) };
  const [depositor, recipient] = [await stage.account(), await stage.account()];
  const faucet = await TestUsdc.at(usdc.address, stage.chain);
  say(`\nPayments, on the first network (${entry.base_url})`);

  await faucet.mint(depositor.address, DEPOSIT);
  say(`\n  1. ${money(DEPOSIT)} lie in a public account that holds no gas; it signs, the service carries.`);
  await stage.run("deposit", (progress) => first.deposit(DEPOSIT, depositor, { progress }));
  say(`     The first wallet holds ${money(held(first))} in private.`);

  for (const [index, amount] of PARTS.entries()) {
    say(`\n  ${String(index + 2)}. First wallet pays ${money(amount)} to the second.`);
    await stage.run("transfer", (progress) => first.pay(second.address, amount, { progress }));
  }
  say("     The chain saw neither amount, asset nor people.");

  await second.sync();
  say(`\n  5. Second wallet pays ${money(COMBINED)} to the third. No two of its three notes are enough:`);
  say("     one transaction spends all of them, with a larger proof.");
  const combined = await stage.run("combining transfer", (progress) =>
    second.pay(third.address, COMBINED, { progress }),
  );

  await third.sync();
  say(`\n  6. Third wallet withdraws ${money(WITHDRAWAL)} to ${recipient.address}.`);
  await stage.run("withdraw", (progress) => third.withdraw(recipient.address, WITHDRAWAL, { progress }));

  await developer.sync();
  const received = held(developer) - before.developer;
  say(`\n  7. The developer of this app has received ${money(received)} in fees, of which its wallet pays`);
  say(`     ${money(SPENT_BY_DEVELOPER)} to the first wallet.`);
  await stage.run("developer's transfer", (progress) =>
    developer.pay(first.address, SPENT_BY_DEVELOPER, { progress }),
  );

  say("\n  8. Third wallet restored from its key alone, in an empty storage.");
  const restored = await stage.wallet(thirdSeed);
  await Promise.all([first, second, third, restored, service, developer].map((wallet) => wallet.sync()));

  const charged = [
    ["deposit", DEPOSIT],
    ...[...PARTS, COMBINED, SPENT_BY_DEVELOPER].map((amount) => ["transfer", amount] as const),
    ["withdraw", WITHDRAWAL],
  ] as const;
  const feesTo = (party: "service" | "developer"): bigint =>
    sum(charged.map(([operation, amount]) => stage.feeOf(party, operation, usdc, amount)));
  const feeOfDeposit = stage.fee("deposit", usdc, DEPOSIT);
  const feesOfParts = PARTS.map((amount) => stage.fee("transfer", usdc, amount));
  const feeOfCombined = stage.fee("transfer", usdc, COMBINED);
  const feeOfWithdrawal = stage.fee("withdraw", usdc, WITHDRAWAL);
  const thirdExpected = COMBINED - WITHDRAWAL - feeOfWithdrawal;
  const spentNotes = second.notes().filter(({ spent }) => spent !== undefined).length;

  const check = (name: string, expected: bigint, actual: bigint): void =>
    stage.check(name, usdc, expected, actual);
  check(
    "first wallet",
    DEPOSIT - feeOfDeposit - sum(PARTS) - sum(feesOfParts) + SPENT_BY_DEVELOPER,
    held(first),
  );
  check("second wallet", sum(PARTS) - COMBINED - feeOfCombined, held(second));
  check("third wallet", thirdExpected, held(third));
  check("third wallet, restored", thirdExpected, held(restored));
  const unverified = [first, second, third, restored].map((of) => of.balance(usdc.address).unverified);
  check("not verified on the chain", 0n, sum(unverified));
  check("depositor's public account", 0n, await stage.publicBalance(usdc, depositor.address));
  check("recipient's public account", WITHDRAWAL, await stage.publicBalance(usdc, recipient.address));
  check("service's fees of this part", feesTo("service"), held(service) - before.service);
  const spent = SPENT_BY_DEVELOPER + stage.fee("transfer", usdc, SPENT_BY_DEVELOPER);
  check(
    "developer's fees less what it spent",
    feesTo("developer") - spent,
    held(developer) - before.developer,
  );
  stage.check(
    "spent by the second wallet in one transaction",
    NOTES,
    BigInt(PARTS.length),
    BigInt(spentNotes),
  );
  const { inputs } = KINDS.spend9;
  stage.check(
    "room for notes in that transaction",
    NOTES,
    BigInt(inputs),
    BigInt(combined.ticket.nullifiers.length),
  );
}

export function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

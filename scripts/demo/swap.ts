// The demo's second part, on the network with swaps: wrapped ether deposited by its owner's own transaction,
// dollars turned into ether without leaving the pool, and what was bought spent like any other note.
import { Interface, parseEther, parseUnits } from "ethers";
import type { Swap, Wallet } from "../../shared/client/index.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { wrapCoins } from "../stand-ins/uniswap.ts";
import { show, TestUsdc, type Token } from "../stand-ins/usdc.ts";
import { sum } from "./payments.ts";
import type { DemoStage as Stage } from "./stage.ts";

const PLAIN_DEPOSIT = parseEther("0.5");
const DEPOSIT = parseUnits("100", TestUsdc.decimals);
const SWAPPED = parseUnits("50", TestUsdc.decimals);
/** More than the plain deposit alone: the bought ether has to be in it. */
const WITHDRAWAL = parseEther("0.51");
const GAS = parseEther("1");
const TOLERANCE_BPS = 100;

const NOTE_HASHED =
  "event NoteHashed(bytes32 indexed statementHash, uint64 leafIndex, uint256 commitment, uint256 npk, address asset, uint256 value)";
const POOL_EVENTS = new Interface([NOTE_HASHED]);

export async function showSwap(stage: Stage): Promise<void> {
  const { say, entry, chain } = stage;
  const { swaps } = entry;
  if (swaps === undefined) throw new Error("this network has no swaps");
  const [usdc, weth] = [stage.token("USDC"), stage.token("WETH")];
  const held = (of: Wallet, token: Token): bigint => of.balance(token.address).total;

  const [saver, trader] = [await stage.wallet(), await stage.wallet()];
  const { service, developer } = await stage.feeWallets();
  const feesBefore = [service, developer].map((of) => ({ usdc: held(of, usdc), weth: held(of, weth) }));
  const [owner, depositor, recipient] = [
    await stage.account(PLAIN_DEPOSIT + GAS),
    await stage.account(),
    await stage.account(),
  ];
  say(`\nPrivate swap, on the second network (${entry.base_url})`);

  await wrapCoins(owner, weth.address, PLAIN_DEPOSIT);
  say(
    `\n  1. ${show(PLAIN_DEPOSIT, weth)}: a token that knows no signatures, so its owner sends the deposit.`,
  );
  const plain = { asset: weth.address };
  await stage.run("plain deposit", (progress) =>
    saver.depositPlain(PLAIN_DEPOSIT, owner, { ...plain, progress }),
  );
  say(`     The saver's wallet holds ${show(held(saver, weth), weth)} in private.`);

  await (await TestUsdc.at(usdc.address, chain)).mint(depositor.address, DEPOSIT);
  say(`\n  2. The trader's wallet gets ${show(DEPOSIT, usdc)}, deposited with a signature.`);
  await stage.run("deposit", (progress) => trader.deposit(DEPOSIT, depositor, { progress }));

  const feeOfSwap = stage.fee("swap", usdc, SWAPPED);
  const wanted = { tokenIn: usdc.address, tokenOut: weth.address, amount: SWAPPED };
  const offer = await trader.quote({ ...wanted, toleranceBps: TOLERANCE_BPS });
  const { floor } = offer;
  const tiers = offer.route.map(({ feeBps }) => `${feeBps / 100} %`);
  say(
    `\n  3. Trader swaps ${show(SWAPPED, usdc)} inside the pool. The service quotes ${show(offer.amountOut, weth)}`,
  );
  say(
    `     over the pool at ${tiers.join(" and the one at ")}; with less than ${show(floor, weth)} nothing happens.`,
  );
  const swap = await stage.run("swap", (progress) => trader.swap(offer, { progress }));
  const received = swap.received ?? 0n;
  say(`     Bought ${show(received, weth)}. The chain saw the two amounts, not whose they are.`);

  const feeOfTransfer = stage.fee("transfer", weth, received);
  const paid = received - feeOfTransfer;
  say(`\n  4. Trader pays the bought ether to the saver: ${show(paid, weth)}, in private.`);
  await stage.run("transfer", (progress) =>
    trader.pay(saver.address, paid, { asset: weth.address, progress }),
  );

  await saver.sync();
  say(`\n  5. Saver withdraws ${show(WITHDRAWAL, weth)} to ${recipient.address}.`);
  await stage.run("withdraw", (progress) =>
    saver.withdraw(recipient.address, WITHDRAWAL, { asset: weth.address, progress }),
  );

  await Promise.all([saver, trader, service, developer].map((wallet) => wallet.sync()));
  const feeOfPlain = stage.fee("deposit", weth, PLAIN_DEPOSIT);
  const feeOfDeposit = stage.fee("deposit", usdc, DEPOSIT);
  const feeOfWithdrawal = stage.fee("withdraw", weth, WITHDRAWAL);

  const check: Stage["check"] = (...found) => stage.check(...found);
  check("bought, by the pool's own event", weth, await boughtOnChain(stage, swap), received);
  check("fee of the swap, as quoted", usdc, feeOfSwap, offer.fees);
  check("bought below the floor", weth, 0n, received < floor ? floor - received : 0n);
  check("trader's dollars", usdc, DEPOSIT - feeOfDeposit - SWAPPED, held(trader, usdc));
  check("trader's ether", weth, 0n, held(trader, weth));
  check(
    "saver's ether",
    weth,
    PLAIN_DEPOSIT - feeOfPlain + paid - WITHDRAWAL - feeOfWithdrawal,
    held(saver, weth),
  );
  const unverified = [saver, trader].flatMap((of) => of.balances().map((balance) => balance.unverified));
  check("not verified on the chain", { symbol: "units", decimals: 0 }, 0n, sum(unverified));
  check("owner's wrapped ether", weth, 0n, await stage.publicBalance(weth, owner.address));
  check("recipient's public account", weth, WITHDRAWAL, await stage.publicBalance(weth, recipient.address));
  check("left with the venue's executor", usdc, 0n, await stage.publicBalance(usdc, swaps.executor));
  check("left with the venue's executor", weth, 0n, await stage.publicBalance(weth, swaps.executor));
  for (const [index, party] of (["service", "developer"] as const).entries()) {
    const fee = (...charged: Parameters<Stage["fee"]>): bigint => stage.feeOf(party, ...charged);
    const [wallet, earlier] = [index === 0 ? service : developer, feesBefore[index]];
    const name = `${party}'s fees of this part`;
    const inDollars = fee("deposit", usdc, DEPOSIT) + fee("swap", usdc, SWAPPED);
    check(name, usdc, inDollars, held(wallet, usdc) - (earlier?.usdc ?? 0n));
    const inEther =
      fee("deposit", weth, PLAIN_DEPOSIT) + fee("transfer", weth, paid) + fee("withdraw", weth, WITHDRAWAL);
    check(name, weth, inEther, held(wallet, weth) - (earlier?.weth ?? 0n));
  }
}

/** What the pool says that it measured, read from the chain and not from the service. */
async function boughtOnChain(stage: Stage, { ticket, statement }: Swap): Promise<bigint> {
  const receipt = await stage.chain.getTransactionReceipt(ticket.tx_hash ?? "");
  for (const log of receipt?.logs ?? []) {
    if (asAddress(log.address) !== asAddress(stage.entry.pool)) continue;
    const event = POOL_EVENTS.parseLog(log);
    if (event?.args["statementHash"] === statement) return event.args["value"] as bigint;
  }
  throw new Error("the pool's event of the swap is not in its transaction");
}

// The demo's third part: money that comes in from an exchange, another blockchain and another EVM chain, becomes private
// notes, is paid on, and leaves again for the exchange and the other chain; and one deposit that its owner takes back alone.
import { parseUnits, Wallet as Account } from "ethers";
import { newSeed, type BridgeProgress, type Wallet } from "../../shared/client/index.ts";
import { recoverBridges } from "../../shared/client/chain.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import type { BridgesEntry } from "../base/stack-file.ts";
import {
  balanceOnChain,
  depositAtExchange,
  exchangeBalance,
  feeTaken,
  giveOnAltchain,
  sendFromExchange,
  sendOnChain,
} from "../stack/bridges/people.ts";
import { giveCoins } from "../stand-ins/local-chain.ts";
import { PATIENCE_MS, poll } from "../base/poll.ts";
import { bridgePins } from "../stack/stack-wallet.ts";
import { show, TestUsdc } from "../stand-ins/usdc.ts";
import type { DemoStage as Stage } from "./stage.ts";

const usd = (text: string): bigint => parseUnits(text, TestUsdc.decimals);

const BROUGHT_TO_EXCHANGE = usd("101");
/** What the exchange keeps: of a first deposit, and of sending to a chain. */
const NEW_ACCOUNT = usd("1");
const EXCHANGE_FEE = usd("0.2");
const FROM_EXCHANGE = usd("40");
const PAID_ON = usd("15");
const TO_EXCHANGE = usd("10");
const FROM_ALTCHAIN = usd("25");
const FROM_CHAIN = usd("30");
const TO_CHAIN = usd("12");
/** Below the address's minimum: nobody moves it on. */
const TOO_LITTLE = usd("1.5");
const GAS_MONEY = 10n ** 18n;

export async function showBridges(stage: Stage): Promise<void> {
  const { say, entry } = stage;
  const { bridges } = entry;
  if (bridges === undefined) throw new Error("this stack runs without bridges; start it with npm start");
  const usdc = stage.token("USDC");
  const money = (amount: bigint): string => show(amount, usdc);
  const held = (of: Wallet): bigint => of.balance(usdc.address).total;
  const firstSeed = newSeed();
  const [first, second] = [await stage.wallet(firstSeed), await stage.wallet()] as const;
  const { service, developer } = await stage.feeWallets();
  const before = { service: held(service), developer: held(developer) };
  const account = await stage.account();
  say(`\nBridges, on the first network (${entry.base_url})`);

  say(
    `\n  1. A trader's account on the exchange gets ${money(BROUGHT_TO_EXCHANGE)}, of which a new account costs ${money(NEW_ACCOUNT)}.`,
  );
  await depositAtExchange(entry, bridges, account, BROUGHT_TO_EXCHANGE);
  const begun = BROUGHT_TO_EXCHANGE - NEW_ACCOUNT;
  await untilExchangeHolds(bridges, account.address, begun);

  say(
    `\n  2. The trader sends ${money(FROM_EXCHANGE)} from there to an address that the first wallet has computed itself.`,
  );
  const fromExchange = await first.bridges.fromExchange({ refundAddress: account.address });
  await sendFromExchange(bridges, account, fromExchange.address, FROM_EXCHANGE);
  await arrive(stage, first, "from the exchange", fromExchange.bridgeId);
  const arrivedFirst = FROM_EXCHANGE - EXCHANGE_FEE - FROM_EXCHANGE_FEE;
  say(`     The first wallet holds ${money(held(first))} in private.`);

  say(`\n  3. First wallet pays ${money(PAID_ON)} to the second, in private.`);
  await stage.run("transfer", (progress) => first.pay(second.address, PAID_ON, { progress }));
  await second.sync();

  say(
    `\n  4. Second wallet withdraws ${money(TO_EXCHANGE)} to the account on the exchange, which learns no sender.`,
  );
  const onExchange = await exchangeBalance(bridges, account.address);
  await stage.run("withdraw to the exchange", (progress) =>
    second.bridges.withdrawToExchange(account.address, TO_EXCHANGE, { progress, timeoutMs: PATIENCE_MS }),
  );

  say(
    `\n  5. ${money(FROM_ALTCHAIN)} come from the other blockchain: the wallet's own key there signs their burn.`,
  );
  const fromAltchain = await first.bridges.fromOtherBlockchain({ refundAddress: account.address });
  await giveOnAltchain(bridges, fromAltchain.address, FROM_ALTCHAIN);
  await arrive(stage, first, "from the other blockchain", fromAltchain.bridgeId);

  const [chain] = bridges.chains;
  if (chain === undefined) throw new Error("the stack has no other chain");
  say(
    `\n  6. ${money(FROM_CHAIN)} come from another EVM chain (${String(chain.chain_id)}), and ${money(TO_CHAIN)} go back there.`,
  );
  const fromChain = await first.bridges.fromChain({ refundAddress: account.address });
  await sendOnChain(chain, fromChain.source?.address ?? "", FROM_CHAIN);
  await arrive(stage, first, "from another chain", fromChain.bridgeId);
  const recipient = Account.createRandom().address;
  await stage.run("withdraw to another chain", (progress) =>
    first.bridges.withdrawToChain(chain.chain_id, recipient, TO_CHAIN, { progress, timeoutMs: PATIENCE_MS }),
  );

  say(
    `\n  7. ${money(TOO_LITTLE)} reach an address that moves on no less than ${money(fromExchange.minimum)}. Their owner takes them back, without any service.`,
  );
  const spare = await first.bridges.fromExchange({ refundAddress: account.address });
  const publicBefore = await stage.publicBalance(usdc, account.address);
  await (await TestUsdc.at(usdc.address, stage.chain)).mint(spare.address, TOO_LITTLE);
  await takeBackAlone(stage, bridges, firstSeed, account);

  await Promise.all([first, second, service, developer].map((wallet) => wallet.sync()));
  const home = { rpc: entry.chain_rpc, chain_id: entry.chain_id };
  const arrivals = [
    arrivedFirst,
    FROM_ALTCHAIN - (await feeTaken(home, FROM_ALTCHAIN)),
    FROM_CHAIN - (await feeTaken(home, FROM_CHAIN)),
  ];
  const feesOf = (party: "service" | "developer"): bigint =>
    sum(arrivals.map((amount) => stage.feeOf(party, "deposit", usdc, amount))) +
    stage.feeOf(party, "transfer", usdc, PAID_ON) +
    stage.feeOf(party, "withdraw", usdc, TO_EXCHANGE) +
    stage.feeOf(party, "withdraw", usdc, TO_CHAIN);
  const check = (name: string, expected: bigint, actual: bigint): void =>
    stage.check(name, usdc, expected, actual);
  const intoNotes = sum(arrivals.map((amount) => amount - stage.fee("deposit", usdc, amount)));
  check(
    "first wallet",
    intoNotes -
      PAID_ON -
      stage.fee("transfer", usdc, PAID_ON) -
      TO_CHAIN -
      stage.fee("withdraw", usdc, TO_CHAIN),
    held(first),
  );
  check("second wallet", PAID_ON - TO_EXCHANGE - stage.fee("withdraw", usdc, TO_EXCHANGE), held(second));
  check("exchange account, before the withdrawal", begun - FROM_EXCHANGE, onExchange);
  check(
    "exchange account",
    begun - FROM_EXCHANGE + TO_EXCHANGE - (await feeTaken(bridges.perpvenue, TO_EXCHANGE)),
    await exchangeBalance(bridges, account.address),
  );
  check(
    "recipient on the other chain",
    TO_CHAIN - (await feeTaken(chain, TO_CHAIN)),
    await balanceOnChain(chain, recipient),
  );
  check("left at the source address", 0n, await balanceOnChain(chain, fromChain.source?.address ?? ""));
  check("taken back", TOO_LITTLE, (await stage.publicBalance(usdc, account.address)) - publicBefore);
  check("service's fees of this part", feesOf("service"), held(service) - before.service);
  check("developer's fees of this part", feesOf("developer"), held(developer) - before.developer);
}

/** By note: the wallet's own reading of the chain, whatever the service says. */
async function arrive(stage: Stage, wallet: Wallet, name: string, bridgeId: string): Promise<BridgeProgress> {
  const said = new Set<string>();
  const beganAt = performance.now();
  const made = await wallet.bridges.wait(bridgeId, {
    timeoutMs: PATIENCE_MS,
    onStatus: ({ state }) => said.add(state),
  });
  stage.say(
    `     ${name}: ${[...said].join(", ")} (${((performance.now() - beganAt) / 1000).toFixed(1)} s).`,
  );
  return made;
}

async function untilExchangeHolds(bridges: BridgesEntry, account: string, amount: bigint): Promise<void> {
  const look = async (): Promise<true | undefined> =>
    (await exchangeBalance(bridges, account)) === amount || undefined;
  if ((await poll(look)) === undefined) throw new Error("the exchange has not credited a deposit");
}

/** By the owner's key and nodes of the chains; no service is asked. */
async function takeBackAlone(
  stage: Stage,
  bridges: BridgesEntry,
  seed: Uint8Array,
  owner: Account,
): Promise<void> {
  await giveCoins(stage.chain, owner.address, GAS_MONEY);
  const { steps } = await recoverBridges({
    keys: SpendingKey.fromSeed(seed),
    ...{ pool: stage.entry.pool, assets: [stage.entry.usdc] },
    bridges: bridgePins(stage.entry.usdc, bridges),
    home: { chainId: stage.entry.chain_id, rpc: stage.entry.chain_rpc, sender: owner },
    ...{ chains: [], refundAddresses: [owner.address], accounts: [], recipients: [] },
  });
  for (const { what, state } of steps) stage.say(`     ${what}: ${state}`);
}

/** Its burns wait until they are final, and offer so much to whoever keeps the attester: which takes all of it. */
const FROM_EXCHANGE_FEE = 200_000n;

function sum(amounts: readonly bigint[]): bigint {
  return amounts.reduce((total, amount) => total + amount, 0n);
}

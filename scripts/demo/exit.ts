// The demonstration of leaving alone: money comes in by the service, which then is stopped as a whole. What is paid and
// withdrawn afterwards is read from the chain, proved here and sent by accounts of the users' own.
import { parseUnits } from "ethers";
import { newSeed, type Wallet } from "../../shared/client/index.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { leaveAll } from "../exit/leaving.ts";
import { begin, Stage } from "../stack/stage.ts";
import { openWalletAlone } from "../stack/stack-wallet.ts";
import { show, TestUsdc } from "../stand-ins/usdc.ts";
import { DemoStage } from "./stage.ts";
import type { Journey } from "./story.ts";

const usd = (text: string): bigint => parseUnits(text, TestUsdc.decimals);

const DEPOSIT = usd("100");
const PAID_WITH_SERVICE = usd("30");
const PAID_ALONE = usd("20");
const GAS = 10n ** 19n;
/** Of the chain that is to be started for this: an hour, which then passes at once. */
const PROVED_DELAY_SECS = 3_600;
/** No end of it is a fault of the pool's; so often it would not be time that is waited for. */
const MOST_WAITS = 12;

export const showExit: Journey = async (story, parties) => {
  const { say } = story;
  const own = new Stage(await begin("exit", { poolTerms: { provedDelay: PROVED_DELAY_SECS }, say }));
  parties.add({ stop: () => own.close() });
  const { file: stack, folder } = own.stack;
  const prover = await own.prover();
  await story.chapter("leaving without the service", { network: "first" }, (chapter) =>
    DemoStage.on({ network: "first", stack, folder, prover, say, chapter }, (stage) => play(stage, own)),
  );
};

async function play(stage: DemoStage, own: Stage): Promise<void> {
  const { say } = stage;
  const prover = await own.prover();
  const { entry, chain } = stage;
  const usdc = stage.token("USDC");
  const pass = async (seconds: number): Promise<void> => {
    await chain.send("evm_increaseTime", [Math.max(1, seconds)]);
    await chain.send("evm_mine", []);
  };
  const seeds = [newSeed(), newSeed()] as const;
  const fees = stage.fee("deposit", usdc, DEPOSIT) + stage.fee("transfer", usdc, PAID_WITH_SERVICE);
  await withService(stage, seeds);

  say("\n  3. Every process of the service is stopped: proxy, enclave, KMS. What runs is the chain.");
  await own.stack.stopServices();
  await requireSilence([entry.base_url, own.stack.kmsUrl]);

  const wallets = await Promise.all(seeds.map((seed) => openWalletAlone(entry, { seed, prover })));
  const [first, second] = wallets as [Wallet, Wallet];
  const [senderOne, senderTwo] = [await stage.account(GAS), await stage.account(GAS)];
  const [toOne, toTwo] = [await stage.account(), await stage.account()];
  const alone = [await first.withoutService(senderOne), await second.withoutService(senderTwo)] as const;
  try {
    say(
      `\n  4. An hour passes, so old a root must be. First wallet pays ${show(PAID_ALONE, usdc)} to the second, alone.`,
    );
    await pass(PROVED_DELAY_SECS);
    await stage.run("transfer without the service", (progress) =>
      alone[0].pay(second.address, PAID_ALONE, { progress }),
    );
    await second.sync();
    say(`     The second wallet reads it from the chain: it holds ${show(second.balance().total, usdc)}.`);

    say(
      "\n  5. Both take out everything, by the code of npm run exit. Time passes whenever only time helps.",
    );
    for (const [index, to] of [toOne, toTwo].entries()) {
      const leaving = { alone: alone[index]!, to: addressOf(to.address), assets: [addressOf(usdc.address)] };
      await leaveInTime(leaving, pass, (text) => say(`     ${text}`));
    }
    await Promise.all(wallets.map((wallet) => wallet.sync()));

    const check = stage.check.bind(stage);
    check(
      "first wallet's public account",
      usdc,
      DEPOSIT - fees - PAID_WITH_SERVICE - PAID_ALONE,
      await stage.publicBalance(usdc, toOne.address),
    );
    check(
      "second wallet's public account",
      usdc,
      PAID_WITH_SERVICE + PAID_ALONE,
      await stage.publicBalance(usdc, toTwo.address),
    );
    check("left in the first wallet", usdc, 0n, first.balance().total);
    check("left in the second wallet", usdc, 0n, second.balance().total);
    check("left in the pool: the fees", usdc, fees, await stage.publicBalance(usdc, entry.pool));
  } finally {
    for (const wallet of wallets) await wallet.close();
  }
}

async function withService(stage: DemoStage, [one, two]: readonly [Uint8Array, Uint8Array]): Promise<void> {
  const usdc = stage.token("USDC");
  const [first, second] = [await stage.wallet(one), await stage.wallet(two)];
  const depositor = await stage.account();
  await (await TestUsdc.at(usdc.address, stage.chain)).mint(depositor.address, DEPOSIT);
  stage.say(`\n  1. ${show(DEPOSIT, usdc)} are deposited, by the service.`);
  await stage.run("deposit", (progress) => first.deposit(DEPOSIT, depositor, { progress }));
  stage.say(`\n  2. First wallet pays ${show(PAID_WITH_SERVICE, usdc)} to the second, by the service.`);
  await stage.run("transfer", (progress) => first.pay(second.address, PAID_WITH_SERVICE, { progress }));
  // All that they knew they have to find again from the chain.
  await first.sync();
  await Promise.all([first, second].map((wallet) => wallet.close()));
}

async function leaveInTime(
  leaving: Pick<Parameters<typeof leaveAll>[0], "alone" | "to" | "assets">,
  pass: (seconds: number) => Promise<void>,
  say: (text: string) => void,
): Promise<void> {
  const { signal } = new AbortController();
  for (let waits = 0; waits < MOST_WAITS; waits++) {
    const { waitingFor } = await leaveAll({ ...leaving, say, waits: false, pauseMs: 200, signal });
    if (waitingFor.length === 0) return;
    const next = waitingFor.find(({ until }) => until !== undefined);
    if (next?.until === undefined) throw new Error(`nothing helps with: ${waitingFor[0]?.what ?? ""}`);
    say(`Waiting: ${next.what}`);
    await pass(next.until - leaving.alone.time);
  }
  throw new Error("it does not end");
}

/** A demonstration that the service has no part in must not be helped by one that still runs. */
async function requireSilence(urls: readonly string[]): Promise<void> {
  for (const url of urls) {
    const answer = await fetch(url, { signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
    if (answer !== undefined) throw new Error(`${url} still answers`);
  }
}

function addressOf(text: string): Address {
  const found = asAddress(text);
  if (found === undefined) throw new TypeError("not an address");
  return found;
}

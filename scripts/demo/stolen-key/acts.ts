// The story of the stolen key, act by act, with what must hold after each.
import { Contract, type Wallet as Account } from "ethers";
import { newSeed, type Wallet } from "../../../shared/client/index.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { imageOf, VERIFIER_KINDS } from "../../../shared/protocol/host/registration.ts";
import { measurementNamed, registerDevelopmentSigner } from "../../stack/development-registration.ts";
import { poll } from "../../base/poll.ts";
import { show } from "../../stand-ins/usdc.ts";
import type { Journey } from "../story.ts";
import { CAP, CHANGE_DELAY_SECS, PROVED_DELAY_SECS, usd, StolenKeyStage as Stage } from "./stage.ts";
import { Thief } from "./thief.ts";

const USDC = { symbol: "USDC", decimals: 6 };
const money = (amount: bigint): string => show(amount, USDC);

const ALICE = usd(600);
const BOB = usd(400);
const PAID = usd(50);
const PAID_ALONE = usd(20);
const LEFT_ALONE = usd(5);
/** Carried with a false proof. */
const CAROL = usd(30);
/** Three executed, and two that only the cap stopped: the key vouched for all of them. */
const FORGED = Array.from({ length: 5 }, () => "PROOF_FORGED");
const FORGED_NOTE = usd(1_000_000);
const CLAIMED = usd(500);

interface People<T> {
  readonly alice: T;
  readonly bob: T;
  readonly carol: T;
}
type Wallets = Omit<People<Wallet>, "carol">;

export const showStolenKey: Journey = (story, parties) =>
  story.chapter("a stolen key", {}, async (chapter) => {
    const stage = await Stage.on(story, chapter);
    parties.add({ stop: () => stage.close() });
    await play(stage);
  });

async function play(stage: Stage): Promise<void> {
  const seeds = { alice: newSeed(), bob: newSeed(), carol: newSeed() };
  await honestDays(stage, seeds);
  const thief = await admitTheKey(stage);
  const stolen = await theft(stage, thief);
  const depositor = await spoil(stage, thief, seeds.carol);
  const { watcher, account } = await refutation(stage, thief);
  await stage.stack.stopServices();
  // The signers, and who would call `advance` in their stead, are gone: all of the tree is followed up.
  const refuter = await stage.refuter(account, "end");
  stage.say(
    "\n  5. Every process of the service is stopped. Alice pays Bob in private, and leaves, by proofs alone.",
  );
  const wallets = { alice: await stage.walletAlone(seeds.alice), bob: await stage.walletAlone(seeds.bob) };
  await leaving(stage, wallets, () => stage.follow(watcher, refuter));
  await goingBack(stage, seeds.carol, depositor);
  await stage.follow(watcher, refuter);
  await reckoning(stage, wallets, stolen, account);
}

async function honestDays(stage: Stage, { alice, bob }: People<Uint8Array>): Promise<void> {
  stage.say("\n  1. Honest deposits and a payment, by the service.");
  const wallets = { alice: await stage.wallet(alice), bob: await stage.wallet(bob) };
  for (const [wallet, amount] of [
    [wallets.alice, ALICE],
    [wallets.bob, BOB],
  ] as const) {
    const depositor = await stage.account();
    await stage.token.mint(depositor.address, amount);
    await wallet.deposit(amount, depositor, { deadlineSecs: 3_600 });
  }
  await wallets.alice.pay(wallets.bob.address, PAID, { deadlineSecs: 3_600 });
  stage.say(
    `     Alice deposited ${money(ALICE)}, Bob ${money(BOB)}; Alice paid Bob ${money(PAID)} in private.`,
  );
}

/** The way of every signer: the owner proposes its image, the delay passes, anybody admits that and registers the signer with its bond. */
async function admitTheKey(stage: Stage): Promise<Thief> {
  const thief = await Thief.of(stage);
  const owner = await stage.owner();
  const asOwner = new Contract(stage.home.pool, POOL_ABI, owner);
  const measurement = measurementNamed("a second enclave, whose key somebody steals");
  const image = imageOf(measurement);
  const done = async (sent: Promise<unknown>): Promise<unknown> =>
    ((await sent) as { wait(): Promise<unknown> }).wait();
  const source = ["this tree", "npm run build"];
  await done(asOwner.getFunction("proposeImage")(image, VERIFIER_KINDS.first, ...source) as Promise<unknown>);
  await stage.passTime(CHANGE_DELAY_SECS);
  await done(asOwner.getFunction("admitImage")(image) as Promise<unknown>);
  const { address: signer } = thief.signer;
  await registerDevelopmentSigner(owner, { pool: stage.home.pool, signer, measurement });
  stage.say(`\n  2. A second enclave's key ${thief.signer.address} is admitted; then somebody steals it.`);
  return thief;
}

/** @returns what left */
async function theft(stage: Stage, thief: Thief): Promise<bigint> {
  await stage.passDay();
  const recipient = asAddress((await stage.account()).address)!;
  const withdraw = async (value: bigint): Promise<string | undefined> =>
    (await stage.execute([await thief.forge({ type: "withdraw", recipient, value })]))[0];
  const [room] = await stage.ask<[bigint]>("room", stage.usdc);
  stage.say(
    `\n  3. The thief vouches for withdrawals of notes that are nowhere. The cap is ${money(CAP)} in 24 hours.`,
  );
  const refused = (left: bigint): string => `CapReached(${stage.usdc},${String(left)}`;
  /** Without when it would fit. */
  const answer = async (value: bigint): Promise<string | undefined> =>
    (await withdraw(value))?.replace(/,\d+\)$/, "");
  stage.check("a forged withdrawal of more than there is room for", refused(room), await answer(room + 1n));
  stage.check("the same up to it", "Executed", await withdraw(room));
  stage.check("and a tenth more", refused(0n), (await answer(room / 10n))?.replace(/\d+$/, "0"));
  const stolen = await stage.token.balanceOf(recipient);
  stage.check("out of the pool at once, a fraction of the cap", true, stolen === room && stolen <= CAP / 4n);
  stage.say(`     ${money(stolen)} left, and not a unit more.`);
  await forgeNotes(stage, thief, recipient);
  return stolen;
}

/** Notes out of nothing, by a false statement and by a false root: neither can leave before it is refuted. */
async function forgeNotes(stage: Stage, thief: Thief, recipient: Address): Promise<void> {
  const watcher = await stage.watcher();
  // The honest enclave signs roots too: the thief waits until nothing is on its way.
  const isQuiet = async (): Promise<true | undefined> => {
    await watcher.pass();
    return watcher.ledger.rootedCount === watcher.ledger.leafCount || undefined;
  };
  if ((await poll(isQuiet)) === undefined) throw new Error("leaves wait and no root comes");
  const note = await thief.forge({ type: "transfer", to: thief.keys.viewing.address, value: FORGED_NOTE });
  const { update, root, input } = thief.forgeRoot(watcher.ledger, note, FORGED_NOTE);
  const answers = await stage.execute([note], update);
  stage.check("a private transfer of a million out of nothing", "Executed", answers[0]);
  stage.check("a root with a note that no leaf made", "RootUpdated", answers[1]);
  const payment = { type: "withdraw", recipient, value: usd(1) } as const;
  const spend = await thief.prove({ root, inputs: [input], payment });
  stage.check(
    "a true proof on the false root",
    "RootYoung",
    (await stage.execute([spend]))[0]?.split("(")[0],
  );
  await stage.passTime(PROVED_DELAY_SECS);
  const claim = await thief.prove({ root, inputs: [input], payment: { ...payment, value: CLAIMED } });
  stage.check(
    `the same when that root is old enough, of ${money(CLAIMED)}, for which there is no room`,
    "Executed ClaimAdded",
    (await stage.execute([claim])).join(" "),
  );
}

/** Carol's deposit is true, and the thief vouches for a false proof of it. @returns her account */
async function spoil(stage: Stage, thief: Thief, seed: Uint8Array): Promise<Account> {
  const depositor = await stage.account();
  await stage.token.mint(depositor.address, CAROL);
  await stage.approve(depositor, CAROL);
  const member = await thief.spoil(seed, asAddress(depositor.address)!, CAROL);
  const [said] = await stage.execute([member], undefined, depositor);
  stage.check("Carol's deposit, carried with a false proof", "Executed", said);
  return depositor;
}

async function goingBack(stage: Stage, seed: Uint8Array, depositor: Account): Promise<void> {
  stage.say("\n  6. Carol's notes are void. Her money is in the pool, which pays it back.");
  await stage.passTime(CHANGE_DELAY_SECS);
  const alone = await (await stage.walletAlone(seed)).withoutService(await stage.account());
  const { transactionHashes } = await alone.returnDeposits();
  stage.check("deposits that went back", 1, transactionHashes.length);
  stage.check("Carol's public balance", money(CAROL), money(await stage.token.balanceOf(depositor.address)));
}

async function refutation(stage: Stage, thief: Thief) {
  stage.say("\n  4. A watcher reads the chain, and shows the pool what is false.");
  const account = await stage.account();
  const watcher = await stage.watcher();
  const refuter = await stage.refuter(account);
  stage.findings.length = 0;
  await watcher.pass();
  const forged = stage.findings.filter(({ signers }) => signers?.includes(thief.signer.address) === true);
  const codes = forged.map(({ code }) => code).sort();
  stage.check("what the watcher found", [...FORGED, "ROOT_FORGED"].join(" "), codes.join(" "));
  const before = await stage.chain.getBalance(account.address);
  // It pays for no `advance`: the service goes past the void leaves by itself, and every step of it moves the roots.
  const isPast = async (): Promise<true | undefined> => {
    await stage.follow(watcher, refuter);
    const { openEvidence, rootedCount, leafCount } = watcher.ledger;
    return (openEvidence.length === 0 && rootedCount === leafCount) || undefined;
  };
  stage.check("the service goes past the void leaves", true, await poll(isPast));

  stage.check("the thief's key signs", false, await stage.ask("isSigner", thief.signer.address));
  const { ledger } = watcher;
  stage.check("false things not refuted", 0, ledger.openEvidence.length);
  const [claims, owed] = await stage.ask<[bigint, bigint]>("claimTotals", stage.usdc);
  stage.check("claims made, of a root that is revoked, and what is owed to them", "1 0", `${claims} ${owed}`);
  const [root, rooted] = await stage.ask<[bigint, bigint]>("currentRoot");
  stage.check("the tree's root is that of the honest leaves", ledger.tree.root(), root);
  stage.check("leaves in it, void ones empty", ledger.leafCount, rooted);
  const [attestedFrom] = await stage.ask<[bigint]>("brakes");
  stage.check("the attested path is closed", true, Number(attestedFrom) > (await stage.now()));
  stage.check(
    "more than its bond was not paid for gas",
    true,
    (await stage.chain.getBalance(account.address)) > before,
  );
  return { watcher, account };
}

async function leaving(stage: Stage, { alice, bob }: Wallets, follow: () => Promise<void>): Promise<void> {
  const alone = await alice.withoutService(await stage.account());
  await stage.passTime(PROVED_DELAY_SECS);
  await alone.pay(bob.address, PAID_ALONE);
  await follow();
  await stage.passTime(PROVED_DELAY_SECS);
  const recipient = asAddress((await stage.account()).address)!;
  const { claim } = await alone.withdraw(recipient, LEFT_ALONE);
  stage.check("owed to who left, since there was no room", undefined, claim);
  stage.check("public balance of who left", money(LEFT_ALONE), money(await stage.token.balanceOf(recipient)));
  await follow();
}

async function reckoning(
  stage: Stage,
  { alice, bob }: Wallets,
  stolen: bigint,
  account: Account,
): Promise<void> {
  await Promise.all([alice.sync(), bob.sync()]);
  const [a, b] = [alice.balance().total, bob.balance().total];
  stage.check("Alice's notes", money(ALICE - PAID - PAID_ALONE - LEFT_ALONE), money(a));
  stage.check("Bob's notes", money(BOB + PAID + PAID_ALONE), money(b));
  const held = await stage.token.balanceOf(stage.home.pool);
  stage.check("honest notes less what the pool holds: the loss", money(stolen), money(a + b - held));
  const short = stage.findings.filter(({ code }) => code === "BALANCE_SHORT").length;
  stage.check("the watcher says that the pool is short", true, short > 0);
  stage.say(`     The refuter ${account.address} keeps the bond.`);
  stage.say(`\n  Loss: ${money(stolen)}, of ${money(CAP)} that 24 hours could have cost.`);
}

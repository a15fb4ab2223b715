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
/** Four executed, and two that only the cap stopped: the key vouched for all of them. */
const FORGED = Array.from({ length: 6 }, () => "PROOF_FORGED");
const FORGED_NOTE = usd(1_000_000);
const CLAIMED = usd(500);
/** On roots of the honest service that cover a forged note. */
const PAID_MEANWHILE = usd(40);
const LEFT_MEANWHILE = usd(5);
/** In which a full bucket drains: SPEC, 8.4. */
const DRAIN_SECS = 43_200;

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
  const wallets = await honestDays(stage, seeds);
  const thief = await admitTheKey(stage);
  const moved = await moveOn(stage, thief, wallets);
  const stolen = await theft(stage, thief);
  const depositor = await spoil(stage, thief, seeds.carol);
  const { watcher, account } = await refutation(stage, thief);
  await stage.stack.stopServices();
  // The signers, and who would call `advance` in their stead, are gone: all of the tree is followed up.
  const refuter = await stage.refuter(account, "end");
  stage.say(
    "\n  5. Every process of the service is stopped. What was paid on the revoked roots comes again; Alice pays Bob in private, and leaves: all by proofs alone.",
  );
  await comingAgain(stage, wallets, moved, () => stage.follow(watcher, refuter));
  await leaving(stage, wallets, () => stage.follow(watcher, refuter));
  await goingBack(stage, seeds.carol, depositor);
  await stage.follow(watcher, refuter);
  await reckoning(stage, wallets, stolen, account);
}

export async function honestDays(stage: Stage, { alice, bob }: People<Uint8Array>): Promise<Wallets> {
  stage.say("\n  1. Honest deposits and a payment, by the service.");
  const wallets = { alice: await stage.walletOfBoth(alice), bob: await stage.walletOfBoth(bob) };
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
  return wallets;
}

/** The thief's own wallet, and what a true proof paid it from the forged note. */
interface Moved {
  readonly wallet: Wallet;
  readonly leftTo: string;
}

/**
 * The worst that a forged note can do: it waits under roots of the honest service until a true proof pays it on, and claims what
 * is there. In between honest people pay on the same roots, and leave with change.
 */
async function moveOn(stage: Stage, thief: Thief, { alice, bob }: Wallets): Promise<Moved> {
  stage.say(
    "\n     The thief makes a note of a million out of nothing. The honest service takes it into its roots, and people pay on them.",
  );
  const to = thief.keys.viewing.address;
  const [said] = await stage.execute([await thief.forge({ type: "transfer", to, value: FORGED_NOTE })]);
  stage.check("a note of a million out of nothing", "Executed", said);
  await knownTo(stage, [alice, bob]);
  const terms = { deadlineSecs: 7_200 } as const;
  const leftTo = (await stage.account()).address;
  await bob.withdraw(leftTo, LEFT_MEANWHILE, terms);
  await alice.pay(bob.address, PAID_MEANWHILE, terms);
  stage.say(
    `     Bob took ${money(LEFT_MEANWHILE)} out with change, Alice paid Bob ${money(PAID_MEANWHILE)}.`,
  );

  await stage.passTime(PROVED_DELAY_SECS);
  const wallet = await stage.walletAlone(thief.seed);
  const alone = await wallet.withoutService(await stage.account());
  await alone.pay(wallet.address, FORGED_NOTE / 2n);
  await quiet(stage);
  await stage.passTime(PROVED_DELAY_SECS);
  const { claim } = await alone.withdraw((await stage.account()).address, CLAIMED);
  stage.check(
    "the thief's claim, by true proofs of what it paid itself",
    money(CLAIMED),
    money(claim?.amount ?? 0n),
  );
  return { wallet, leftTo };
}

/** Until all leaves are in the tree. */
export async function quiet(stage: Stage): Promise<void> {
  const watcher = await stage.watcher();
  const isQuiet = async (): Promise<true | undefined> => {
    await watcher.pass();
    return watcher.ledger.rootedCount === watcher.ledger.leafCount || undefined;
  };
  if ((await poll(isQuiet)) === undefined) throw new Error("leaves wait and no root comes");
}

/** A payment is proved on the newest root that its wallet has had confirmed: now that is the pool's own for all of them. */
export async function knownTo(stage: Stage, wallets: readonly Wallet[]): Promise<void> {
  await quiet(stage);
  const [root] = await stage.ask<[bigint]>("currentRoot");
  const isServed = async (): Promise<true | undefined> =>
    BigInt((await stage.client.merkleRoot()).root) === root || undefined;
  if ((await poll(isServed)) === undefined) throw new Error("the service does not know the pool's root");
  await Promise.all(wallets.map((wallet) => wallet.sync()));
}

/** What was paid on the revoked roots: of the honest it comes again when they prove it again, of the thief it cannot. */
async function comingAgain(
  stage: Stage,
  wallets: Wallets,
  { wallet: thief, leftTo }: Moved,
  follow: () => Promise<void>,
): Promise<void> {
  await follow();
  await stage.passTime(PROVED_DELAY_SECS);
  const alone = {
    alice: await wallets.alice.withoutService(await stage.account()),
    bob: await wallets.bob.withoutService(await stage.account()),
    thief: await thief.withoutService(await stage.account()),
  };
  await alone.bob.sync();
  const suspended = wallets.bob.activity().filter(({ state }) => state === "suspended");
  stage.check("what Bob did that is suspended", "withdraw", suspended.map(({ kind }) => kind).join(" "));
  for (const [name, one] of [
    ["Alice's", alone.alice],
    ["Bob's", alone.bob],
  ] as const) {
    const { transactionHashes, left } = await one.bringBack();
    stage.check(
      `${name} payments that come again, and that do not`,
      "1 0",
      `${transactionHashes.length} ${left}`,
    );
  }
  const none = await alone.thief.bringBack();
  stage.check("the thief's", "0", String(none.transactionHashes.length));
  stage.check("the thief's notes", money(0n), money(thief.balance().total));
  stage.check(
    "what Bob took out, which moved once",
    money(LEFT_MEANWHILE),
    money(await stage.token.balanceOf(asAddress(leftTo)!)),
  );
  await follow();
}

/** The way of every signer: the owner proposes its image, the delay passes, anybody admits that and registers the signer with its bond. */
export async function admitTheKey(stage: Stage): Promise<Thief> {
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
  // The honest enclave signs roots too: the thief waits until nothing is on its way.
  await quiet(stage);
  const watcher = await stage.watcher();
  await watcher.pass();
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
  // It pays for no `advance`: the service goes past the doubtful leaves by itself, and every step of it moves the roots.
  const isPast = async (): Promise<true | undefined> => {
    await stage.follow(watcher, refuter);
    const { openEvidence, rootedCount, leafCount } = watcher.ledger;
    return (openEvidence.length === 0 && rootedCount === leafCount) || undefined;
  };
  stage.check("the service goes past the leaves in doubt", true, await poll(isPast));

  stage.check("the thief's key signs", false, await stage.ask("isSigner", thief.signer.address));
  const { ledger } = watcher;
  stage.check("false things not refuted", 0, ledger.openEvidence.length);
  const [claims, owed] = await stage.ask<[bigint, bigint]>("claimTotals", stage.usdc);
  stage.check("claims made, of roots that are revoked, and what is owed to them", "2 0", `${claims} ${owed}`);
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
  // What the thief's claim was allotted before it was removed counts as having left, until it has drained.
  await stage.passTime(DRAIN_SECS);
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
  for (const one of [alice, bob]) await (await one.withoutService(await stage.account())).sync();
  const [a, b] = [alice.balance().total, bob.balance().total];
  stage.check("Alice's notes", money(ALICE - PAID - PAID_ALONE - LEFT_ALONE - PAID_MEANWHILE), money(a));
  stage.check("Bob's notes", money(BOB + PAID + PAID_ALONE + PAID_MEANWHILE - LEFT_MEANWHILE), money(b));
  const held = await stage.token.balanceOf(stage.home.pool);
  stage.check("honest notes less what the pool holds: the loss", money(stolen), money(a + b - held));
  const short = stage.findings.filter(({ code }) => code === "BALANCE_SHORT").length;
  stage.check("the watcher says that the pool is short", true, short > 0);
  stage.say(`     The refuter ${account.address} keeps the bond.`);
  stage.say(`\n  Loss: ${money(stolen)}, of ${money(CAP)} that 24 hours could have cost.`);
}

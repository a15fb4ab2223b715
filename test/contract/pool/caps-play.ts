// Draws steps, takes each against a real pool and the model of caps and claims, and compares everything that both say.
import assert from "node:assert/strict";
import { Contract, toBeHex, zeroPadValue } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { Random } from "../../../scripts/base/random.ts";
import { attester, type Attester } from "../../../scripts/stack/pool-transaction.ts";
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { emptyNode, MAX_UPDATE_LEAVES, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import { depositDraft, seal, type Draft, type Sealed } from "../../support/drafts.ts";
import { toyKeys, toyProof, toyProved } from "../../support/toy-keys.ts";
import { CapsModel, isNear, type Refusal, type Way } from "./caps-model.ts";
import { falseStatement, recover } from "./recovery.ts";
import { DAY, GAS, nextBlockAt, now } from "./told-world.ts";
import { actingAs, freshAddress, mustAddress, World, type Fault } from "./world.ts";

export const MINIMUM = 1_000n;
const CHANGE_DELAY = 2 * DAY;
const EMPTY_ROOT = emptyNode(TREE_DEPTH);
const SIGNERS = Array.from({ length: 6 }, (_, i) => attester(i));
/** What no curve has a point for, so that any words refute it. */
const NO_POINTS = new Uint8Array(128).fill(0xff);

/** A pool with three tokens, two of which refuse whom their issuer names; of each some money, and more at the venue. */
export async function startCaps(threshold: number): Promise<World> {
  const world = await World.start({
    ...{ threshold, kinds: SIGNERS.map(kindOf) },
    ...{ keys: toyKeys(), minimumCap: MINIMUM, attesters: SIGNERS, changeDelay: CHANGE_DELAY },
    provedDelay: 1,
    ...{ executor: "FixedExecutor", moreAssets: ["RefusingToken", "RefusingToken"] },
    guardian: mustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
  });
  await world.call(world.usdc, "approve", world.setting.home.pool, 2n ** 200n);
  const { abi } = await loadArtifact("RefusingToken");
  for (const asset of [world.usdcAddress, ...world.moreAssets]) {
    const token = new Contract(asset, abi, world.owner);
    await world.call(token, "mint", world.owner.address, 2n ** 90n);
    await world.call(token, "mint", world.executor, 2n ** 90n);
  }
  return world;
}

/** One run of steps; throws at the first difference. Its world must be as `startCaps` left it. */
export class CapsPlay {
  readonly counts = new Map<string, number>();
  readonly #world: World;
  readonly #dice: Random;
  readonly #model: CapsModel;
  readonly #assets: readonly Address[];
  readonly #tokens: ReadonlyMap<Address, Contract>;
  readonly #people = Array.from({ length: 4 }, freshAddress);
  readonly #frontier = emptyFrontier();
  readonly #threshold: number;
  readonly #signers = [...SIGNERS];

  static async begin(world: World, seed: number, Model = CapsModel): Promise<CapsPlay> {
    const { abi } = await loadArtifact("RefusingToken");
    const threshold = Number(await world.pool.getFunction("threshold")());
    const model = new Model(assetsOf(world), MINIMUM, await deployedAt(world), threshold);
    return new CapsPlay(world, seed, { model, threshold }, abi as never);
  }

  private constructor(
    world: World,
    seed: number,
    { model, threshold }: { readonly model: CapsModel; readonly threshold: number },
    abi: never,
  ) {
    this.#threshold = threshold;
    this.#world = world;
    this.#dice = new Random(seed);
    this.#model = model;
    this.#assets = assetsOf(world);
    this.#tokens = new Map(this.#assets.map((asset) => [asset, new Contract(asset, abi, world.owner)]));
  }

  /** Towards the end somebody proves what cannot be, after which only leaving is left. */
  async run(steps: number): Promise<void> {
    this.#model.now = await now(this.#world);
    for (let i = 0; i < steps; i++) {
      await this.#passTime();
      if (i === Math.floor(steps * 0.85)) await this.#reportUnsound();
      else await this.#step();
      await this.#compare();
    }
  }

  // -------------------------------------------------------------- steps

  #step(): Promise<void> {
    const kind = this.#dice.below(100);
    if (kind < 20) return this.#deposit();
    if (kind < 40) return this.#withdraw("attested");
    if (kind < 58) return this.#withdraw("proved");
    if (kind < 66) return this.#swap();
    if (kind < 80) return this.#payClaim();
    if (kind < 84) return this.#refuse();
    if (kind < 93) return this.#root();
    if (kind < 96) return this.#advance();
    if (kind < 98) return this.#pause();
    if (kind === 98) return this.#dice.below(2) === 0 ? this.#burn() : this.#donate();
    return this.#refute();
  }

  /** Seconds, hours, or exactly to and around the end of a cap. Every step has a block of its own. */
  async #passTime(): Promise<void> {
    const end = this.#model.capEnds(this.#pick(this.#assets));
    const kind = this.#dice.below(12);
    if (kind < 7) this.#model.now += 1 + this.#dice.below(600);
    else if (kind < 9) this.#model.now += 3_600 * (1 + this.#dice.below(12));
    else if (kind < 11) this.#model.now = Math.max(this.#model.now + 1, end - 1 + this.#dice.below(2));
    else this.#model.now += DAY * (1 + this.#dice.below(4));
    await nextBlockAt(this.#world, this.#model.now);
  }

  async #deposit(): Promise<void> {
    const asset = this.#pick(this.#assets);
    const amount = BigInt(1 + this.#dice.below(40_000));
    const isProved = this.#dice.below(4) === 0;
    const depositor = mustAddress(this.#world.owner.address);
    const draft = depositDraft(this.#world.setting, { asset, amount, depositor });
    await this.#take(
      "deposit",
      draft,
      isProved ? "proved" : "attested",
      this.#model.deposit(asset, amount, isProved),
    );
  }

  async #withdraw(way: Way): Promise<void> {
    const asset = this.#pick(this.#assets);
    const amount = this.#amount(asset, way);
    if (amount === 0n) return this.#nothing();
    const recipient = this.#pick(this.#people);
    const draft = this.#world.withdrawalDraft(recipient, amount, asset);
    await this.#take("withdrawal", draft, way, this.#model.withdraw(asset, amount, way, recipient));
  }

  async #swap(): Promise<void> {
    const asset = this.#pick(this.#assets);
    const tokenOut = this.#pick(this.#assets.filter((other) => other !== asset));
    const way = this.#pick(["attested", "attested", "proved"] as const);
    const amount = this.#amount(asset, way);
    if (amount === 0n) return this.#nothing();
    const payout = BigInt(1 + this.#dice.below(20_000));
    const slot = zeroPadValue(toBeHex(payout), 32);
    await this.#world.provider.send("anvil_setStorageAt", [this.#world.executor, "0x0", slot]);
    const draft = this.#world.swapDraft({ asset, amount, tokenOut });
    await this.#take("swap", draft, way, this.#model.swap(asset, amount, way, tokenOut, payout));
  }

  /** Around what there is room for, dust, or most of what there is free of claims; now and then more than there is. */
  #amount(asset: Address, way: Way): bigint {
    const room = this.#model.roomFor(asset, way);
    if (way === "proved" && this.#dice.below(20) === 0)
      return this.#pick([2n ** 128n - 1n, this.#model.held(asset) + 1n]);
    const free = this.#model.held(asset) - this.#model.owed(asset);
    const wanted = this.#pick([room, room + 1n, room / 3n, room / 7n, 1n, free / 2n, free]);
    return wanted < free ? wanted : free < 0n ? 0n : free;
  }

  async #payClaim(): Promise<void> {
    const waiting = this.#assets.filter((asset) => this.#model.owed(asset) > 0n);
    const asset = this.#pick(waiting.length > 0 ? waiting : this.#assets);
    const id = this.#dice.below(this.#model.claims(asset).length + 1);
    let paid = 0n;
    const call = async () => {
      const { receipt } = await recover(this.#world, "payClaim", [asset, id]);
      for (const log of receipt.logs)
        paid += (this.#world.pool.interface.parseLog(log)?.args["amount"] as bigint | undefined) ?? 0n;
    };
    const fault = await this.#tried(call, this.#world.pool, "payClaim", [asset, id]);
    const expected = this.#model.payClaim(asset, id, fault?.error ?? paid);
    this.#expect("claim", fault ?? "ClaimPaid", expected === "paid" ? "ClaimPaid" : expected);
  }

  async #refuse(): Promise<void> {
    const asset = this.#pick(this.#world.moreAssets);
    const account = this.#pick(this.#people);
    const isRefused = this.#dice.below(2) === 0;
    const token = this.#tokens.get(asset)!;
    // By a revert or by an answer, which comes to the same.
    const how = isRefused ? this.#pick(["setRefused", "setFalse"]) : undefined;
    for (const one of ["setRefused", "setFalse"]) await this.#world.call(token, one, account, one === how);
    this.#model.refuse(asset, account, isRefused);
  }

  async #donate(): Promise<void> {
    const asset = this.#pick(this.#assets);
    const amount = BigInt(this.#dice.below(50_000));
    await this.#world.call(this.#tokens.get(asset)!, "mint", this.#world.setting.home.pool, amount);
    this.#model.donate(asset, amount);
  }

  /** The issuer takes some of what the pool holds: it is short then. */
  async #burn(): Promise<void> {
    const asset = this.#pick(this.#world.moreAssets);
    const amount = (this.#model.free(asset) * BigInt(1 + this.#dice.below(10))) / 10n;
    await this.#world.call(this.#tokens.get(asset)!, "burn", this.#world.setting.home.pool, amount);
    this.#model.donate(asset, -amount);
  }

  // -------------------------------------------------------------- the tree, and who may stop what

  async #root(): Promise<void> {
    const { queue, rooted } = this.#world;
    const waiting = queue.count - rooted.count;
    if (waiting === 0n || waiting > MAX_UPDATE_LEAVES) return this.#nothing();
    const expected = this.#model.attestedRoot();
    // Where it is refused, a root of its own, so that nothing else is wrong with it.
    if (expected === "paid") this.#grow();
    const changes = expected === "paid" ? { newRoot: this.#frontier.root() } : {};
    const update = this.#world.updateTo(queue, changes, this.#attesters());
    const { update: said } = await this.#world.execute([], update, { gasLimit: GAS });
    this.#expect("root", typeof said === "bigint" ? "paid" : said!, expected);
  }

  async #advance(): Promise<void> {
    const { queue, rooted, leaves } = this.#world;
    if (queue.count === rooted.count) return this.#nothing();
    const isGone =
      BigInt(this.#model.now) < this.#model.attestedFrom || this.#model.now >= this.#model.silentFrom;
    const expected = isGone
      ? "RootUpdated"
      : { error: "SignersAtWork", args: [BigInt(this.#model.silentFrom)] };
    const shown = leaves.slice(Number(rooted.count));
    // As many as one call has gas for.
    const count = BigInt(Math.min(shown.length, 200));
    const args = [this.#frontier.nodes(), count, rooted.head, shown, []];
    if (isGone) this.#grow(count);
    await this.#call("advance", "advance", args, expected);
  }

  #grow(count = this.#world.queue.count - this.#frontier.leafCount): void {
    const from = Number(this.#frontier.leafCount);
    for (const leaf of this.#world.leaves.slice(from, from + Number(count)))
      assert.ok(this.#frontier.append(mustField(leaf)));
  }

  async #pause(): Promise<void> {
    const expected = this.#model.pause();
    const guardian = await this.#world.account(1);
    const asGuardian = actingAs(this.#world.pool, guardian);
    const call = () => this.#world.call(asGuardian, "pause", { gasLimit: GAS });
    const said = await this.#tried(call, asGuardian, "pause", []);
    this.#expect("pause", said ?? "paid", expected);
  }

  /** A signer vouched for what is nothing; nothing was executed, so its being out is all that becomes of it. */
  async #refute(): Promise<void> {
    const liar = this.#pick(this.#signers);
    // One of each kind must stay, or nobody attests any more.
    if (this.#signers.filter((one) => kindOf(one) === kindOf(liar)).length < 2) return this.#nothing();
    this.#signers.splice(this.#signers.indexOf(liar), 1);
    const draft = this.#world.withdrawalDraft(this.#people[0]!, 1n);
    const lie = seal({ ...draft, proof: NO_POINTS, attesters: [liar] });
    this.#model.close(BigInt(this.#model.now + CHANGE_DELAY));
    const words = Array.from({ length: 8 }, () => 0n);
    const { said } = await recover(this.#world, "refuteStatement", falseStatement(lie, words));
    assert.ok(said.includes("Refuted"));
    this.#count("refuted");
  }

  async #reportUnsound(): Promise<void> {
    const draft = this.#world.withdrawalDraft(this.#people[0]!, 1n);
    const { transaction } = seal({ ...draft, root: EMPTY_ROOT });
    const args = [transaction.kind, transaction.signals, toyProof(transaction.signals)];
    await recover(this.#world, "reportUnsound", args);
    this.#model.reportUnsound();
    this.#count("unsound");
  }

  // -------------------------------------------------------------- comparing

  async #take(name: string, draft: Draft, way: Way, expected: "paid" | "claimed" | Refusal): Promise<void> {
    const members = [this.#sealed({ ...draft, root: EMPTY_ROOT }, way)];
    const { members: outcomes, receipt } = await this.#world.execute(members, undefined, { gasLimit: GAS });
    const isClaim = receipt.logs.some(
      (log) => this.#world.pool.interface.parseLog(log)?.name === "ClaimAdded",
    );
    const [only] = outcomes;
    this.#expect(name, typeof only === "bigint" ? (isClaim ? "claimed" : "paid") : only!, expected);
  }

  #sealed(draft: Draft, way: Way): Sealed {
    if (way === "proved") return toyProved(seal({ ...draft, attesters: [] }));
    return seal({ ...draft, attesters: this.#attesters() });
  }

  /** Where the pool asks for one, now and then a second, of whichever kind; else one of each kind. */
  #attesters(): Attester[] {
    const [one] = this.#signers;
    const other = this.#signers.find((each) => kindOf(each) !== kindOf(one!));
    const second = this.#threshold < 2 ? this.#signers[1] : other;
    const isOne = this.#threshold < 2 && this.#dice.below(3) > 0;
    return isOne
      ? [one!]
      : [one!, second!].toSorted((a, b) => (BigInt(a.address) < BigInt(b.address) ? -1 : 1));
  }

  /** By a stranger: what it says first, or why it reverts. */
  async #call(
    name: string,
    method: string,
    args: readonly unknown[],
    expected: string | Refusal,
  ): Promise<void> {
    let said: string | Fault | undefined;
    const call = async () => {
      said = (await recover(this.#world, method, args)).said[0];
    };
    const fault = await this.#tried(call, this.#world.pool, method, args);
    this.#expect(name, fault ?? said!, expected);
  }

  /** A call that reverts has used its block's time as well; it says why when it is asked again on the same state. */
  async #tried(
    call: () => Promise<unknown>,
    as: Contract,
    method: string,
    args: readonly unknown[],
  ): Promise<Fault | undefined> {
    try {
      await call();
      return undefined;
    } catch (error) {
      if ((error as { code?: string }).code !== "CALL_EXCEPTION") throw error;
      return this.#world.revertOf(as.getFunction(method).staticCall(...args, { gasLimit: GAS }));
    }
  }

  #expect(name: string, said: string | Fault, expected: string | Refusal): void {
    this.#count(`${name} ${typeof expected === "string" ? expected : expected.error}`);
    assert.deepEqual(plain(said), plain(expected), name);
  }

  async #compare(): Promise<void> {
    await Promise.all([
      ...this.#assets.map(async (asset) => {
        assert.deepEqual([...(await this.#read("room", asset))], this.#model.room(asset), "room");
        assert.deepEqual(
          [...(await this.#read("claimTotals", asset))],
          this.#model.claimTotals(asset),
          "claims",
        );
        const claims = this.#model.claims(asset);
        if (claims.length === 0) return;
        const id = this.#dice.below(claims.length);
        const { recipient, left } = claims[id]!;
        const [to, amount, due] = (await this.#read("claim", asset, id)) as [string, bigint, bigint];
        assert.equal(amount, left, "claim");
        if (left > 0n) assert.equal(mustAddress(to), recipient, "claim");
        assert.ok(isNear(due, this.#model.due(asset, id) ?? 0n), `due ${due}`);
      }),
      ...this.#assets.flatMap((asset) =>
        [this.#world.setting.home.pool, ...this.#people].map(async (holder, i) => {
          const balance: unknown = await this.#tokens.get(asset)!.getFunction("balanceOf")(holder);
          const expected = i === 0 ? this.#model.held(asset) : this.#model.balanceOf(asset, holder);
          assert.equal(balance, expected, "balance");
        }),
      ),
      this.#read("brakes").then((said) =>
        assert.deepEqual(
          [...said],
          [this.#model.attestedFrom, this.#model.isUnsound, BigInt(this.#model.silentFrom)],
          "brakes",
        ),
      ),
    ]);
  }

  #read(name: string, ...args: unknown[]): Promise<unknown[]> {
    return this.#world.pool.getFunction(name).staticCall(...args, { blockTag: "latest" }) as Promise<
      unknown[]
    >;
  }

  #pick<T>(among: readonly T[]): T {
    return among[this.#dice.below(among.length)]!;
  }

  #count(what: string): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + 1);
  }

  /** The time has passed all the same. */
  async #nothing(): Promise<void> {
    await this.#world.provider.send("evm_mine", []);
  }
}

/** The verifier that it runs: by turns. */
function kindOf(signer: Attester): number {
  return 1 + (SIGNERS.indexOf(signer) % 2);
}

function assetsOf(world: World): readonly Address[] {
  return [world.usdcAddress, ...world.moreAssets];
}

/** When the pool was made: from then on its signers are awaited. */
async function deployedAt(world: World): Promise<number> {
  const [, , silentFrom] = (await world.pool.getFunction("brakes")()) as bigint[];
  return Number(silentFrom) - 6 * 3_600;
}

/** Comparable, whatever its spelling; a token's own words are the token's. */
function plain(said: string | Fault | Refusal): unknown {
  if (typeof said === "string") return said;
  if (said.error === "TransferRefused") return said.error;
  return [said.error, ...said.args.map((each) => String(each).toLowerCase())];
}

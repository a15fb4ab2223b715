// What the owner may change, how long everybody sees it coming, and that it is nothing else. See governance.tree.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { depositDraft, seal, type Sealed } from "../../support/drafts.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { actingAs, fault, freshAddress, mustAddress, World, type Fault } from "./world.ts";

const DELAY = 1_000;
/** After which a proposal is good for nothing; the pool's own constant. */
const WINDOW = 7 * 86_400;

/** The two roles go one way in and one way out. */
const ROLES = {
  asset: { propose: "proposeAsset", admit: "addAsset", remove: "delistAsset" },
  executor: { propose: "proposeExecutor", admit: "setExecutor", remove: "removeExecutor" },
} as const;
const EVENTS = {
  asset: ["AssetProposed", "AssetAdded", "AssetDelisted", "AssetWithdrawn"],
  executor: ["ExecutorProposed", "ExecutorSet", "ExecutorRemoved", "ExecutorWithdrawn"],
} as const;
type Role = keyof typeof ROLES;

const asText = (outcome: Fault | bigint): string =>
  typeof outcome === "bigint" ? "executed" : [outcome.error, ...outcome.args].join(" ").toLowerCase();

describe("pool: governance", () => {
  let world: World;
  let restore: () => Promise<void>;
  let configurable: Address;
  let venue: Address;
  before(async () => {
    world = await World.start({ changeDelay: DELAY });
    configurable = (await deployContract(world.owner, "ConfigurableToken", [])).address;
    venue = (await deployContract(world.owner, "ConfigurableExecutor", [])).address;
    await world.executeOne(await world.deposit());
  });
  beforeEach(async () => {
    restore = await world.remember();
  });
  afterEach(() => restore());
  after(() => world.stop());

  const subjectOf = (role: Role): Address => ({ asset: configurable, executor: venue })[role];
  const argsOf = (name: string, subject: string): unknown[] =>
    name === "proposeAsset" ? [subject, 1_000n] : [subject];
  const send = async (name: string, subject: string, pool = world.pool): Promise<string> => {
    const { logs } = await world.call(pool, name, ...argsOf(name, subject));
    return logs.map((log) => world.pool.interface.parseLog(log)?.name).join();
  };
  const refusal = async (name: string, subject: string, pool = world.pool): Promise<string> =>
    asText(await world.revertOf(pool.getFunction(name).staticCall(...argsOf(name, subject))));
  const stranger = async () => actingAs(world.pool, await world.account(8));
  /** The second at which it expires. */
  const proposed = async (role: Role): Promise<number> => {
    const { logs } = await world.call(
      world.pool,
      ROLES[role].propose,
      ...argsOf(ROLES[role].propose, subjectOf(role)),
    );
    return Number(world.pool.interface.parseLog(logs[0]!)!.args["expiresAt"]);
  };
  /** The time of the next block. */
  const at = (seconds: number) => world.provider.send("evm_setNextBlockTimestamp", [seconds]);
  const isIn = async (role: Role, subject = subjectOf(role)): Promise<boolean> => {
    switch (role) {
      case "asset":
        return world.pool.getFunction("isAsset")(subject);
      case "executor":
        return mustAddress(await world.pool.getFunction("executor")()) === subject;
    }
  };
  const deposit = (): Sealed =>
    seal(
      depositDraft(world.setting, {
        asset: configurable,
        amount: 1_000n,
        depositor: mustAddress(world.owner.address),
      }),
    );

  for (const role of Object.keys(ROLES) as Role[]) {
    const { propose, admit, remove } = ROLES[role];
    describe(`of ${role}s`, () => {
      it("the owner proposes, everybody sees when it may be admitted, then anyone admits", async () => {
        const subject = subjectOf(role);
        const { logs, blockNumber } = await world.call(world.pool, propose, ...argsOf(propose, subject));
        const at = BigInt((await world.provider.getBlock(blockNumber))!.timestamp + DELAY);
        const log = world.pool.interface.parseLog(logs[0]!);
        assert.deepEqual(
          [log?.name, log?.args["admissibleAt"], log?.args["expiresAt"]],
          [EVENTS[role][0], at, at + BigInt(WINDOW)],
        );
        const anyone = await stranger();
        assert.equal(await refusal(admit, subject, anyone), `tooearly ${String(at)}`);
        // The chain's clock runs a little by itself: the second before the time, and the time itself.
        await world.provider.send("evm_setNextBlockTimestamp", [Number(at) - 1]);
        await assert.rejects(world.call(anyone, admit, subject));
        assert.equal(await isIn(role), false);
        await world.provider.send("evm_setNextBlockTimestamp", [Number(at)]);
        assert.equal(await send(admit, subject, anyone), EVENTS[role][1]);
        assert.equal(await isIn(role), true);
      });

      it("is admitted in the last second of its week, and a second later never", async () => {
        const subject = subjectOf(role);
        const expiresAt = await proposed(role);
        const again = await world.remember();
        await at(expiresAt - 1);
        assert.equal(await send(admit, subject, await stranger()), EVENTS[role][1]);
        await again();
        const late = await stranger();
        for (const time of [expiresAt, expiresAt + 3 * 365 * 86_400]) {
          await at(time);
          await world.provider.send("evm_mine", []);
          assert.equal(await refusal(admit, subject, late), `proposalexpired ${String(expiresAt)}`);
          assert.equal(await isIn(role), false);
        }
      });

      it("what expired is proposed again like the first time, and waits again", async () => {
        const subject = subjectOf(role);
        const expiresAt = await proposed(role);
        await at(expiresAt - 1);
        await world.provider.send("evm_mine", []);
        // To the last second it is pending: neither shortened nor prolonged.
        assert.equal(await refusal(propose, subject), `alreadyproposed ${subject}`);
        await at(expiresAt);
        const { logs } = await world.call(world.pool, propose, ...argsOf(propose, subject));
        const times = world.pool.interface.parseLog(logs[0]!)!.args;
        assert.deepEqual(
          [times["admissibleAt"], times["expiresAt"]],
          [BigInt(expiresAt + DELAY), BigInt(expiresAt + DELAY + WINDOW)],
        );
        assert.equal(await refusal(admit, subject), `tooearly ${String(expiresAt + DELAY)}`);
        await at(expiresAt + DELAY);
        assert.equal(await send(admit, subject, await stranger()), EVENTS[role][1]);
      });

      it("what expired is not there to be withdrawn", async () => {
        const subject = subjectOf(role);
        const expiresAt = await proposed(role);
        await at(expiresAt);
        await world.provider.send("evm_mine", []);
        assert.equal(await refusal(remove, subject), `notproposed ${subject}`);
        await send(propose, subject);
      });

      it("a withdrawal says so, before the time and after it, and nobody gets past it", async () => {
        const subject = subjectOf(role);
        for (const later of [0, DELAY]) {
          const again = await world.remember();
          await send(propose, subject);
          await world.increaseTime(later);
          assert.equal(await send(remove, subject), EVENTS[role][3]);
          assert.equal(await isIn(role), false);
          assert.equal(await refusal(remove, subject), `notproposed ${subject}`);
          await world.increaseTime(DELAY);
          assert.equal(await refusal(admit, subject), `notproposed ${subject}`);
          await again();
        }
        // Admitted just before, by somebody who saw the withdrawal coming: it is out all the same, as removed.
        await send(propose, subject);
        await world.increaseTime(DELAY);
        await send(admit, subject, await stranger());
        assert.equal(await send(remove, subject), EVENTS[role][2]);
        assert.equal(await isIn(role), false);
      });

      it("AlreadyProposed, AlreadyAdmitted: a second proposal moves nothing", async () => {
        const subject = subjectOf(role);
        await send(propose, subject);
        assert.equal(await refusal(propose, subject), `alreadyproposed ${subject}`);
        await world.increaseTime(DELAY);
        assert.equal(await refusal(propose, subject), `alreadyproposed ${subject}`);
        await send(admit, subject);
        assert.equal(await refusal(propose, subject), `alreadyadmitted ${subject}`);
      });

      it("NotProposed: none is admitted without a proposal, nor twice, nor is an unknown one removed", async () => {
        const subject = subjectOf(role);
        assert.equal(await refusal(admit, subject), `notproposed ${subject}`);
        assert.equal(await refusal(remove, subject), `notproposed ${subject}`);
        await send(propose, subject);
        await world.increaseTime(DELAY);
        await send(admit, subject);
        assert.equal(await refusal(admit, subject), `notproposed ${subject}`);
      });

      it("the owner removes at once, what is in and what is only proposed", async () => {
        const subject = subjectOf(role);
        await send(propose, subject);
        assert.equal(await send(remove, subject), EVENTS[role][3]);
        await world.increaseTime(DELAY);
        assert.equal(await refusal(admit, subject), `notproposed ${subject}`);
        await send(propose, subject);
        await world.increaseTime(DELAY);
        await send(admit, subject);
        await send(remove, subject);
        assert.equal(await isIn(role), false);
        assert.equal(await refusal(remove, subject), `notproposed ${subject}`);
        // It comes back only as it came: announced, and after the delay.
        assert.equal(await refusal(admit, subject), `notproposed ${subject}`);
        await send(propose, subject);
        assert.match(await refusal(admit, subject), /^tooearly /);
      });

      it("NotOwner: nobody else proposes or removes", async () => {
        const nobody = await stranger();
        assert.equal(await refusal(propose, subjectOf(role), nobody), "notowner");
        await send(propose, subjectOf(role));
        assert.equal(await refusal(remove, subjectOf(role), nobody), "notowner");
      });

      it("Inadmissible: zero, the pool itself, and what has no code where code is called", async () => {
        const pool = world.setting.home.pool;
        const bad = [ZERO_ADDRESS, pool, freshAddress()];
        for (const subject of bad) assert.equal(await refusal(propose, subject), `inadmissible ${subject}`);
      });
    });
  }

  it("an asset is taken from its admission to its delisting, and can leave for ever", async () => {
    const contract = new Contract(configurable, (await loadArtifact("ConfigurableToken")).abi, world.owner);
    await world.call(contract, "mint", world.owner.address, 10_000n);
    const withdrawal = (): Sealed => seal(world.withdrawalDraft(freshAddress(), 100n, configurable));
    const unsupported = `assetunsupported ${configurable}`;
    assert.equal(asText(await world.executeOne(deposit())), unsupported);
    await send("proposeAsset", configurable);
    assert.equal(asText(await world.executeOne(deposit())), unsupported);
    assert.equal(asText(await world.executeOne(withdrawal())), unsupported);
    await world.increaseTime(DELAY);
    await send("addAsset", configurable);
    assert.equal(asText(await world.executeOne(deposit())), "executed");
    await send("delistAsset", configurable);
    assert.equal(asText(await world.executeOne(deposit())), unsupported);
    assert.equal(asText(await world.executeOne(withdrawal())), "executed");
    await send("proposeAsset", configurable);
    assert.equal(asText(await world.executeOne(withdrawal())), "executed");
    assert.equal(asText(await world.executeOne(deposit())), unsupported);
  });

  it("an asset that was proposed and withdrawn, or expired, is a contract that the pool never calls", async () => {
    const member = seal(world.withdrawalDraft(freshAddress(), 100n, configurable));
    await at(await proposed("asset"));
    await world.provider.send("evm_mine", []);
    assert.equal(asText(await world.executeOne(member)), `assetunsupported ${configurable}`);
    await send("proposeAsset", configurable);
    await send("delistAsset", configurable);
    assert.equal(asText(await world.executeOne(member)), `assetunsupported ${configurable}`);
  });

  it("a delisted asset whose new proposal is withdrawn, or expires, can still leave", async () => {
    const contract = new Contract(configurable, (await loadArtifact("ConfigurableToken")).abi, world.owner);
    await world.call(contract, "mint", world.setting.home.pool, 10_000n);
    const leaves = async (): Promise<string> =>
      asText(await world.executeOne(seal(world.withdrawalDraft(freshAddress(), 100n, configurable))));
    await send("proposeAsset", configurable);
    await world.increaseTime(DELAY);
    await send("addAsset", configurable);
    await send("delistAsset", configurable);
    await send("proposeAsset", configurable);
    assert.equal(await send("delistAsset", configurable), "AssetWithdrawn");
    assert.equal(await leaves(), "executed");
    await at(await proposed("asset"));
    await world.provider.send("evm_mine", []);
    assert.equal(await leaves(), "executed");
  });

  it("one executor replaces another, which is out then, and a proposal is good for one admission", async () => {
    const second = (await deployContract(world.owner, "ConfigurableExecutor", [])).address;
    for (const subject of [venue, second]) await send("proposeExecutor", subject);
    await world.increaseTime(DELAY);
    assert.equal(await send("setExecutor", venue), "ExecutorSet");
    assert.equal(await send("setExecutor", second), "ExecutorRemoved,ExecutorSet");
    assert.equal(await isIn("executor", second), true);
    // Nobody can bring the first back, nor remove it again.
    assert.equal(await refusal("setExecutor", venue), `notproposed ${venue}`);
    assert.equal(await refusal("removeExecutor", venue), `notproposed ${venue}`);
    await send("removeExecutor", second);
    assert.equal(mustAddress(await world.pool.getFunction("executor")()), ZERO_ADDRESS);
  });

  it("removing a proposed executor leaves the one in use", async () => {
    await send("proposeExecutor", venue);
    await world.increaseTime(DELAY);
    await send("setExecutor", venue);
    const second = (await deployContract(world.owner, "ConfigurableExecutor", [])).address;
    await send("proposeExecutor", second);
    await send("removeExecutor", second);
    assert.equal(await isIn("executor"), true);
  });

  it("keeps what it was made with, and has no other call that writes", async () => {
    assert.equal(await world.pool.getFunction("changeDelay")(), BigInt(DELAY));
    const writing = world.pool.interface.fragments
      .filter((fragment) => fragment.type === "function" && !("constant" in fragment && fragment.constant))
      .map((fragment) => ("name" in fragment ? String(fragment.name) : ""));
    const known = Object.values(ROLES).flatMap((role) => Object.values(role));
    // What anybody may call: payments, money that a contract brings, and what recovers from silent or lying signers.
    const anybodys = [
      "execute",
      "credit",
      "advance",
      "payClaim",
      "removeClaim",
      "returnDeposit",
      "refuteStatement",
      "refuteRootUpdate",
      "reportUnsound",
    ];
    const others = ["pause", "proposeImage", "admitImage", "revokeImage", "removeSigner"];
    const ofSigners = ["register", "expel", "releaseBond", "takeBonds"];
    assert.deepEqual(writing.sort(), [...anybodys, ...others, ...ofSigners, ...known].sort());
    assert.deepEqual(
      fault("NotOwner"),
      await world.revertOf(
        actingAs(world.pool, await world.account(3))
          .getFunction("removeSigner")
          .staticCall(attester(0).address),
      ),
    );
  });
});

// The proved way: every kind with a real proof on an aged root, with nobody's word. See proved.tree.
import assert from "node:assert/strict";
import { attester, NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { encodeExt } from "../../../shared/protocol/host/statements.ts";
import { decodeExt } from "../../../shared/protocol/statements.ts";
import { seal } from "../../support/drafts.ts";
import { toyKeys, toyProved } from "../../support/toy-keys.ts";
import { statementCalled } from "../vectors/story.ts";
import {
  DAY,
  GAS,
  nextBlockAt,
  outcome,
  outcomes,
  payOut,
  proved,
  startTold,
  tellUntil,
  told,
} from "./told-world.ts";
import { simulate } from "./simulation.ts";
import { actingAs, fault, mustAddress, World, type Fault } from "./world.ts";

/** One of each kind that spends, all on the same root. */
const SPENDS = ["a withdrawal", "a payment of many notes", "a swap through one pool"];

describe("pool: the proved way", function () {
  let world: World;
  let restore: () => Promise<void>;
  before(async () => {
    world = await startTold({ guardian: mustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8") });
  });
  after(() => world.stop());

  const balance = (holder: string): Promise<bigint> => world.usdc.getFunction("balanceOf")(holder);

  describe("on the empty tree", () => {
    beforeEach(async () => {
      restore = await world.remember();
    });
    afterEach(() => restore());

    it("takes a deposit at once: it has no root, and brings its money", async () => {
      const before = await balance(world.setting.home.pool);
      assert.equal(await outcome(world, proved(world, "a deposit")), 0n);
      assert.equal(await balance(world.setting.home.pool), before + 1_000_000n);
      const again = [proved(world, "a deposit"), told(world, "a deposit")];
      for (const member of again) assert.deepEqual(await outcome(world, member), fault("StatementRepeated"));
    });

    it("StatementRepeated: a deposit that was attested is not proved again", async () => {
      assert.equal(await outcome(world, told(world, "a deposit")), 0n);
      assert.deepEqual(await outcome(world, proved(world, "a deposit")), fault("StatementRepeated"));
    });

    it("AssetUnsupported: a deposit of a delisted token, also by proof", async () => {
      await world.call(world.pool, "delistAsset", world.usdcAddress);
      const refused = (await outcome(world, proved(world, "a deposit"))) as { error: string };
      assert.equal(refused.error, "AssetUnsupported");
    });

    it("RootUnknown: a root that the pool never had", async () => {
      const member = proved(world, "a withdrawal");
      assert.deepEqual(await outcome(world, member), fault("RootUnknown", member.draft.root));
    });
  });

  describe("on a root of the tree", () => {
    before(async () => {
      await tellUntil(world, "a withdrawal");
      await payOut(world, 100_000n);
    });
    beforeEach(async () => {
      restore = await world.remember();
    });
    afterEach(() => restore());

    /** Of the newest root, from which on all of them may be proved. */
    const age = async (): Promise<void> => {
      const [, , from] = (await world.pool.getFunction("rootRecord")(world.rooted.root)) as bigint[];
      await nextBlockAt(world, from!);
      await world.provider.send("evm_mine", []);
    };

    it("RootYoung: until provedDelay has passed, to the second", async () => {
      const member = proved(world, "a withdrawal");
      const [, , from] = (await world.pool.getFunction("rootRecord")(member.draft.root)) as bigint[];
      await nextBlockAt(world, from! - 1n);
      assert.deepEqual(await outcome(world, member), fault("RootYoung", from));
      await nextBlockAt(world, from!);
      assert.equal(await outcome(world, member), world.queue.count - 4n);
    });

    for (const name of SPENDS) {
      it(`executes ${name}, and its notes are spent`, async () => {
        await age();
        const member = proved(world, name);
        const recipient = String(statementCalled("a withdrawal").ext["recipient"]);
        const before = await balance(recipient);
        const first = world.queue.count;
        assert.equal(await outcome(world, member), first);
        for (const nullifier of member.draft.nullifiers)
          assert.equal(await world.pool.getFunction("isSpent")(nullifier), true);
        assert.equal(await balance(recipient), before + (name === "a withdrawal" ? 400_000n : 0n));
        if (name === "a swap through one pool")
          assert.equal(world.bought.get(member.statementHash)?.value, 100_000n);
      });

      it(`NullifierSpent: ${name}, attested then proved and proved then attested`, async () => {
        await age();
        const [first] = proved(world, name).draft.nullifiers;
        const ways = [proved(world, name), told(world, name)] as const;
        for (const [one, other] of [ways, [ways[1], ways[0]] as const]) {
          const again = await world.remember();
          const [done, refused] = await outcomes(world, one, other);
          assert.equal(typeof done, "bigint");
          assert.deepEqual(refused, fault("NullifierSpent", first));
          await again();
        }
      });
    }

    it("ProofRejected: another statement's proof, another kind's, and every single byte changed", async () => {
      await age();
      const rejected = fault("ProofRejected");
      for (const of of ["a private transfer", "a deposit", "a swap through two pools"]) {
        const { proof } = statementCalled(of);
        assert.deepEqual(await outcome(world, proved(world, "a withdrawal", { proof })), rejected, of);
      }
      const bytes = mustFromHex(statementCalled("a withdrawal").proof);
      const bent = Array.from(bytes, (byte, i) => {
        const proof = toHex(bytes.map((each, at) => (at === i ? byte ^ (1 << (i % 8)) : each)));
        return proved(world, "a withdrawal", { proof });
      });
      for (let i = 0; i < bent.length; i += 8) {
        const found = await outcomes(world, ...bent.slice(i, i + 8));
        assert.deepEqual(found, Array(8).fill(rejected));
      }
      assert.equal(typeof (await outcome(world, proved(world, "a withdrawal"))), "bigint");
    });

    it("ProofRejected: the proof of another root, and any signal that no other rule sees", async () => {
      await age();
      const { signals } = told(world, "a withdrawal").transaction;
      const old = told(world, "a private transfer").draft.root;
      for (const bent of [
        signals.with(1, old),
        signals.with(3, 399_999n),
        signals.with(4, 5n),
        signals.with(9, 5n),
      ]) {
        assert.deepEqual(
          await outcome(world, proved(world, "a withdrawal", { signals: bent })),
          fault("ProofRejected"),
        );
      }
    });

    it("ContextMismatch: another recipient, another deadline", async () => {
      await age();
      const { ext } = told(world, "a withdrawal").transaction;
      for (const change of [{ ext: `0x${"12".repeat(20)}${ext.slice(42)}` }, { deadline: 3_999_999_999n }]) {
        assert.deepEqual(
          await outcome(world, proved(world, "a withdrawal", change)),
          fault("ContextMismatch"),
        );
      }
    });

    it("AttestationLength: a proof that comes with attestations, good or not", async () => {
      await age();
      for (const attestations of [told(world, "a withdrawal").transaction.attestations, "0x00"]) {
        const member = proved(world, "a withdrawal", { attestations });
        const length = BigInt(attestations.length / 2 - 1);
        assert.deepEqual(await outcome(world, member), fault("AttestationLength", length));
      }
    });

    it("NullifiersNotDistinct, AssetUnsupported, AuthorizationMalformed: the rules are those of the attested way", async () => {
      await age();
      const { signals } = told(world, "a withdrawal").transaction;
      const twice = proved(world, "a withdrawal", { signals: signals.with(5, signals[4]!) });
      assert.deepEqual(await outcome(world, twice), fault("NullifiersNotDistinct"));
      const unlisted = proved(world, "a withdrawal", { signals: signals.with(2, 77n) });
      assert.equal(((await outcome(world, unlisted)) as { error: string }).error, "AssetUnsupported");
      const surplus = proved(world, "a withdrawal", { authorization: "0x00" });
      assert.deepEqual(await outcome(world, surplus), fault("AuthorizationMalformed"));
    });

    it("DeadlinePassed: its user's own limit holds here too", async () => {
      const member = proved(world, "a withdrawal");
      await nextBlockAt(world, member.draft.deadline + 1n);
      assert.deepEqual(await outcome(world, member), fault("DeadlinePassed", member.draft.deadline));
    });

    it("lets a delisted token leave", async () => {
      await age();
      await world.call(world.pool, "delistAsset", world.usdcAddress);
      assert.equal(typeof (await outcome(world, proved(world, "a withdrawal"))), "bigint");
    });

    it("never says no for want of gas: it reverts, at every limit up to the one that suffices", async () => {
      await age();
      const found: string[] = [];
      for (const name of ["a withdrawal", "a payment of many notes"]) {
        const member = proved(world, name).transaction;
        const data = world.pool.interface.encodeFunctionData("execute", [[member], NO_UPDATE]);
        for (let gas = 150_000n; gas < 1_500_000n; gas += 37_000n) {
          const { isDone, said } = await simulate(world, { data, gas });
          found.push(isDone ? said.map((each) => each.name).join() : "reverted");
        }
        assert.equal(found.at(-1), "Executed");
      }
      assert.deepEqual([...new Set(found)], ["reverted", "Executed"]);
    });

    it("needs nobody: no signer is left, the guardian has paused, and a stranger sends it", async () => {
      await age();
      await world.call(actingAs(world.pool, await world.account(1)), "pause");
      await world.call(world.pool, "removeSigner", attester(0).address);
      const [attested] = await outcomes(world, told(world, "a withdrawal"));
      assert.equal((attested as { error: string }).error, "AttestedPathShut");
      const members = SPENDS.map((name) => proved(world, name));
      const sent = await world.execute(members, NO_UPDATE, { sender: await world.account(9), gasLimit: GAS });
      assert.deepEqual(
        sent.members.map((each) => typeof each),
        ["bigint", "bigint", "bigint"],
      );
    });

    it("stands beside the attested way in one call, each with its own outcome", async () => {
      await age();
      const members = [
        told(world, "a payment of many notes"),
        proved(world, "a withdrawal", { proof: statementCalled("a deposit").proof }),
        proved(world, "a withdrawal"),
        told(world, "a withdrawal"),
        proved(world, "a swap through one pool"),
      ];
      const found = await outcomes(world, ...members);
      assert.deepEqual(
        found.map((each) => (typeof each === "bigint" ? "executed" : each.error)),
        ["executed", "ProofRejected", "executed", "NullifierSpent", "executed"],
      );
    });
  });

  describe("a deposit that its depositor sends and pays by an approval", () => {
    let field: World;
    before(async () => {
      field = await World.start({ keys: toyKeys(), forAllKinds: true });
    });
    after(() => field.stop());

    /** What the pool says, and by how much it has more. */
    const take = async (validAfter: bigint, validBefore: bigint): Promise<[bigint | Fault, bigint]> => {
      const draft = field.depositDraft(1_000n);
      const ext = decodeExt("deposit-shield", draft.ext);
      assert.ok(ext?.kind === "deposit-shield");
      const member = toyProved(seal({ ...draft, ext: encodeExt({ ...ext, validAfter, validBefore }) }));
      const held = (): Promise<bigint> => field.usdc.getFunction("balanceOf")(field.setting.home.pool);
      const before = await held();
      const { members } = await field.execute([member], NO_UPDATE, { sender: await field.account(1) });
      return [members[0]!, (await held()) - before];
    };

    it("SpanEmpty: an authorization's span with no second in it, though no token looks at one", async () => {
      for (const [from, until] of [
        [7n, 7n],
        [8n, 7n],
        [0n, 0n],
        [2n ** 64n - 1n, 0n],
      ] as const)
        assert.deepEqual(await take(from, until), [fault("SpanEmpty"), 0n], `${from} to ${until}`);
    });

    it("is executed with a span of one second, also one that is over", async () => {
      const first = field.queue.count;
      assert.deepEqual(await take(6n, 7n), [first, 1_000n]);
    });
  });

  it("is as far from a root as provedDelay says", async () => {
    assert.equal(await world.pool.getFunction("provedDelay")(), BigInt(2 * DAY));
  });
});

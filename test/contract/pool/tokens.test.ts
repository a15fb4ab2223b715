// Money in and out, measured: EIP-3009 and plain deposits, withdrawals, and tokens that misbehave. See tokens.tree.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { authorize, depositDraft, seal, type Sealed } from "../../support/drafts.ts";
import { NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import { actingAs, fault, freshAddress, mustAddress, World, type Fault } from "./world.ts";

/** In the order of ConfigurableToken.sol. */
const BEHAVIOURS = [
  "Honest",
  "ReturnsNothing",
  "ReturnsFalse",
  "ReturnsTwo",
  "TakesFee",
  "MovesNothing",
  "RevertsAtLength",
  "BurnsGas",
  "Reenters",
  "HidesBalance",
  "BurnsInBalance",
] as const;
type Behaviour = (typeof BEHAVIOURS)[number];

describe("pool: tokens", () => {
  let world: World;
  let configurable: Contract;
  let configurableAddress: Address;
  before(async () => {
    world = await World.start({ moreAssets: ["ConfigurableToken"] });
    configurableAddress = world.moreAssets[0]!;
    configurable = new Contract(
      configurableAddress,
      (await loadArtifact("ConfigurableToken")).abi,
      world.owner,
    );
    await world.call(configurable, "mint", world.setting.home.pool, 10n ** 9n);
    await world.call(configurable, "mint", mustAddress(world.owner.address), 10n ** 9n);
    await world.executeOne(await world.deposit({ amount: 10n ** 9n }));
  });
  after(() => world.stop());

  const balance = (account: string, token = world.usdc): Promise<bigint> =>
    token.getFunction("balanceOf")(account);
  const setBehaviour = (behaviour: Behaviour): Promise<unknown> =>
    world.call(configurable, "setBehaviour", BEHAVIOURS.indexOf(behaviour));
  const tokenFault = async (reason: Fault | bigint): Promise<string | undefined> => {
    assert.ok(typeof reason !== "bigint", "the token should have refused");
    assert.equal(reason.error, "TransferRefused");
    return world.usdc.interface.parseError(String(reason.args[0]))?.name;
  };

  describe("a deposit that somebody else submits", () => {
    it("takes exactly the amount from the depositor", async () => {
      const [before, pool] = [await balance(world.depositorAddress), await balance(world.setting.home.pool)];
      const member = await world.deposit({ amount: 7_000_001n });
      assert.equal(typeof (await world.executeOne(member, await world.account(5))), "bigint");
      assert.equal(await balance(world.depositorAddress), before - 7_000_001n);
      assert.equal(await balance(world.setting.home.pool), pool + 7_000_001n);
      assert.equal(
        await world.usdc.getFunction("authorizationState")(world.depositorAddress, member.statementHash),
        true,
      );
    });

    it("cannot be made twice", async () => {
      const member = await world.deposit();
      await world.executeOne(member);
      assert.deepEqual(await world.executeOne(member), fault("StatementRepeated"));
    });

    it("refuses an authorization for another statement, amount, payee or payer", async () => {
      const other = await world.deposit();
      const mine = seal(world.depositDraft());
      const bent = [
        { ...mine, transaction: { ...mine.transaction, authorization: other.transaction.authorization } },
        await authorize(world.depositor, mine, { nonce: other.statementHash }),
        await authorize(world.depositor, mine, { value: mine.draft.amount - 1n }),
        await authorize(world.depositor, mine, { to: freshAddress() }),
        await authorize(world.depositor, mine, { from: freshAddress() }),
      ];
      for (const member of bent) {
        assert.equal(await tokenFault(await world.executeOne(member)), "SignatureInvalid");
      }
      assert.equal(typeof (await world.executeOne(await authorize(world.depositor, mine))), "bigint");
    });

    it("obeys the bounds of time that the user put into ext", async () => {
      const terms = { asset: world.usdcAddress, amount: 1n, depositor: world.depositorAddress };
      const now = BigInt((await world.provider.getBlock("latest"))!.timestamp);
      const early = seal(depositDraft(world.setting, { ...terms, validAfter: now + 1_000n }));
      const late = seal(depositDraft(world.setting, { ...terms, validBefore: now - 1n }));
      assert.equal(
        await tokenFault(await world.executeOne(await authorize(world.depositor, early))),
        "AuthorizationNotYetValid",
      );
      assert.equal(
        await tokenFault(await world.executeOne(await authorize(world.depositor, late))),
        "AuthorizationExpired",
      );
    });

    it("fails whole when the depositor cannot pay", async () => {
      const held = await balance(world.depositorAddress);
      // ethers answers with a Proxy, and from Node 22 on no two of them are deeply equal.
      const queue = async (): Promise<unknown[]> => [
        ...((await world.pool.getFunction("queue")()) as unknown[]),
      ];
      const before = await queue();
      assert.equal(
        await tokenFault(await world.executeOne(await world.deposit({ amount: held + 1n }))),
        "BalanceTooLow",
      );
      assert.deepEqual(await queue(), before);
    });

    it("TransferRefused: 64 or 66 bytes are for the depositor's own code, and a key has none", async () => {
      const member = await world.deposit();
      const { authorization } = member.transaction;
      for (const bent of [authorization.slice(0, -2), `${authorization}00`]) {
        const changed: Sealed = { ...member, transaction: { ...member.transaction, authorization: bent } };
        assert.equal(((await world.executeOne(changed)) as Fault).error, "TransferRefused");
      }
    });

    it("has no use outside the pool's own call", async () => {
      const member = await world.deposit();
      const { authorization } = member.transaction;
      const stranger = new Contract(
        world.usdcAddress,
        ["function receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"],
        await world.account(6),
      );
      await assert.rejects(
        world.call(
          stranger,
          "receiveWithAuthorization",
          world.depositorAddress,
          world.setting.home.pool,
          member.draft.amount,
          0n,
          member.draft.deadline,
          member.statementHash,
          authorization,
        ),
      );
      assert.equal(typeof (await world.executeOne(member)), "bigint");
    });
  });

  describe("a deposit that the depositor sends", () => {
    it("takes exactly the approved amount, and the same statement once only", async () => {
      const sender = await world.account(1);
      assert.equal(mustAddress(sender.address), world.depositorAddress);
      await world.call(actingAs(world.usdc, sender), "approve", world.setting.home.pool, 10_000_000n);
      const before = await balance(world.depositorAddress);
      const member = seal(world.depositDraft(4_000_000n));
      assert.equal(typeof (await world.executeOne(member, sender)), "bigint");
      assert.equal(await balance(world.depositorAddress), before - 4_000_000n);
      assert.deepEqual(await world.executeOne(member, sender), fault("StatementRepeated"));
    });

    it("AuthorizationMalformed: a stranger points at somebody's approval", async () => {
      const member = seal(world.depositDraft(1_000_000n));
      assert.deepEqual(
        await world.executeOne(member, await world.account(7)),
        fault("AuthorizationMalformed"),
      );
    });

    it("carries the token's own reason when nothing is approved", async () => {
      const sender = await world.account(1);
      await world.call(actingAs(world.usdc, sender), "approve", world.setting.home.pool, 0n);
      assert.equal(
        await tokenFault(await world.executeOne(seal(world.depositDraft()), sender)),
        "AllowanceTooLow",
      );
    });
  });

  describe("a token without EIP-3009", () => {
    let plain: World;
    before(async () => {
      plain = await World.start({ withMarket: true });
    });
    after(() => plain.stop());

    const erc20 = (asset: Address): Contract =>
      new Contract(
        asset,
        [
          "function approve(address, uint256) returns (bool)",
          "function balanceOf(address) view returns (uint256)",
        ],
        plain.owner,
      );
    const depositOf = (asset: Address, amount: bigint): Sealed =>
      seal(depositDraft(plain.setting, { asset, amount, depositor: mustAddress(plain.owner.address) }));

    for (const name of ["weth", "token"] as const) {
      it(`${name}: the depositor approves and sends it himself, and can withdraw it again`, async () => {
        const asset = plain.market[name];
        const amount = 10n ** 18n;
        const member = depositOf(asset, amount);
        const { error } = (await plain.executeOne(member)) as Fault;
        assert.equal(error, "TransferRefused", "nothing approved");
        await plain.call(erc20(asset), "approve", plain.setting.home.pool, amount);
        assert.equal(typeof (await plain.executeOne(member)), "bigint");
        assert.equal(await erc20(asset).getFunction("balanceOf")(plain.setting.home.pool), amount);
        const recipient = freshAddress();
        const back = seal(plain.withdrawalDraft(recipient, amount, asset));
        assert.equal(typeof (await plain.executeOne(back)), "bigint");
        assert.equal(await erc20(asset).getFunction("balanceOf")(recipient), amount);
      });
    }

    it("weth: an authorization, which it has no call for, moves nothing", async () => {
      // WETH9 answers every unknown call without a word, as if it had done it.
      const member = depositOf(plain.market.weth, 10n ** 18n);
      const signed = {
        ...member,
        transaction: { ...member.transaction, authorization: `0x${"11".repeat(65)}` },
      };
      assert.deepEqual(await plain.executeOne(signed), fault("TransferMismatch", 10n ** 18n, 0n));
    });
  });

  describe("a withdrawal", () => {
    it("pays the recipient, who need not exist, exactly the amount", async () => {
      const recipient = freshAddress();
      const before = await balance(world.setting.home.pool);
      assert.equal(
        typeof (await world.executeOne(seal(world.withdrawalDraft(recipient, 12_500_000n)))),
        "bigint",
      );
      assert.equal(await balance(recipient), 12_500_000n);
      assert.equal(await balance(world.setting.home.pool), before - 12_500_000n);
    });

    it("leaves the notes unspent when the pool cannot pay", async () => {
      const held = await balance(world.setting.home.pool);
      const member = seal(world.withdrawalDraft(freshAddress(), held + 1n));
      assert.equal(await tokenFault(await world.executeOne(member)), "BalanceTooLow");
      assert.equal(await world.pool.getFunction("isSpent")(member.draft.nullifiers[0]), false);
    });
  });

  describe("a token that misbehaves", () => {
    const deposit = (): Sealed =>
      seal(
        depositDraft(world.setting, {
          asset: configurableAddress,
          amount: 1_000n,
          depositor: mustAddress(world.owner.address),
        }),
      );
    const withdrawal = (): Sealed => seal(world.withdrawalDraft(freshAddress(), 1_000n, configurableAddress));
    const refused = (reason = "0x"): Fault => fault("TransferRefused", reason);

    const longReason = `0x${"ff".repeat(32)}${"00".repeat(96)}`;
    const cases: readonly [Behaviour, Fault | "accepted", Fault | "accepted", string][] = [
      ["Honest", "accepted", "accepted", "returns true"],
      ["ReturnsNothing", "accepted", "accepted", "returns nothing"],
      ["ReturnsFalse", refused(), refused(), "returns false"],
      ["ReturnsTwo", refused(), refused(), "returns a number that is no truth"],
      ["TakesFee", fault("TransferMismatch", 1_000n, 990n), "accepted", "keeps a fee of what arrives"],
      [
        "MovesNothing",
        fault("TransferMismatch", 1_000n, 0n),
        fault("TransferMismatch", 1_000n, 0n),
        "moves nothing",
      ],
      [
        "RevertsAtLength",
        refused(longReason),
        refused(longReason),
        "reverts with 20 kB, of which 128 bytes are kept",
      ],
      ["HidesBalance", refused(), refused(), "does not tell a balance"],
      ["BurnsGas", refused(), refused(), "burns all gas"],
      [
        "BurnsInBalance",
        fault("GasExhausted"),
        fault("GasExhausted"),
        "burns gas and answers, until none is left",
      ],
    ];
    for (const [behaviour, onDeposit, onWithdrawal, what] of cases) {
      it(`that ${what}`, async () => {
        await setBehaviour(behaviour);
        for (const [member, expected] of [
          [deposit(), onDeposit],
          [withdrawal(), onWithdrawal],
        ] as const) {
          const { members } = await world.execute([member], NO_UPDATE, { gasLimit: 900_000n });
          const [outcome] = members;
          if (expected === "accepted") assert.equal(typeof outcome, "bigint");
          else assert.deepEqual(outcome, expected);
        }
      });
    }

    it("that calls back finds every door locked, and its own business unharmed", async () => {
      await setBehaviour("Reenters");
      const doors: readonly [string, unknown[], string][] = [
        ["execute", [[], NO_UPDATE], "Reentered"],
        ["execute", [[world.transfer().transaction], NO_UPDATE], "Reentered"],
        ["payClaim", [configurableAddress, 0n], "Reentered"],
        ["removeClaim", [configurableAddress, 0n], "Reentered"],
        ["advance", [[], 1n, ZERO_BYTES32, [1n], []], "Reentered"],
        ["releaseBond", [configurableAddress], "Reentered"],
      ];
      for (const [name, args, expected] of doors) {
        const message = world.pool.interface.encodeFunctionData(name, args);
        await world.call(configurable, "setReentry", world.setting.home.pool, message);
        for (const member of [deposit(), withdrawal()]) {
          const first = world.queue.count;
          assert.equal(await world.executeOne(member), first);
          assert.equal(await configurable.getFunction("wasRefused")(), true);
          assert.deepEqual(world.faultOf(await configurable.getFunction("answer")()), fault(expected));
          assert.deepEqual(
            [...(await world.pool.getFunction("queue")())],
            [world.queue.count, world.queue.head],
          );
        }
      }
    });

    it("OnlySelf: nobody but the pool runs a member without its checks, the token in the middle included", async () => {
      const { abi } = await loadArtifact("Pool");
      const inner = new Contract(world.setting.home.pool, abi, world.owner);
      const member = deposit();
      const statement = {
        kind: 1,
        deadline: member.draft.deadline,
        inputs: 0,
        outputs: 3,
        leaves: 3,
        extHash: member.statementHash,
        hash: member.statementHash,
        proofHash: member.statementHash,
        token: configurableAddress,
        amount: 1n,
        rootNumber: 0,
        isProved: false,
        isPaid: false,
        isAgain: false,
      };
      const args = [member.transaction, statement, world.owner.address];
      assert.deepEqual(
        await world.revertOf(inner.getFunction("executeMember").staticCall(...args)),
        fault("OnlySelf"),
      );
      await setBehaviour("Reenters");
      const message = inner.interface.encodeFunctionData("executeMember", args);
      await world.call(configurable, "setReentry", world.setting.home.pool, message);
      assert.equal(typeof (await world.executeOne(deposit())), "bigint");
      assert.deepEqual(world.faultOf(await configurable.getFunction("answer")()), fault("OnlySelf"));
    });
  });
});

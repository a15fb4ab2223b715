// Several transactions in one call: what one member can do to its neighbours, and what the caller can. See batches.tree.
import assert from "node:assert/strict";
import { Contract } from "ethers";
import { depositDraft, drawField, seal, type Sealed } from "../../support/drafts.ts";
import { NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { freshAddress, mustAddress, World, type Fault } from "./world.ts";

const BURNS_GAS = 7;

describe("pool: batches", () => {
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
    await world.call(configurable, "mint", mustAddress(world.owner.address), 10n ** 9n);
    await world.executeOne(await world.deposit({ amount: 10n ** 9n }));
  });
  after(() => world.stop());

  const configurableDeposit = (): Sealed =>
    seal(
      depositDraft(world.setting, {
        asset: configurableAddress,
        amount: 1_000n,
        depositor: mustAddress(world.owner.address),
      }),
    );

  it("executes the good members, in order, and reports each bad one by its own name", async () => {
    const spent = drawField();
    await world.execute([world.transfer({ nullifiers: [spent, drawField()] })]);
    const recipient = freshAddress();
    const members = [
      world.transfer({ context: 5n }),
      world.transfer(),
      world.transfer({ nullifiers: [drawField(), spent] }),
      await world.deposit({ amount: 10n ** 30n }),
      seal(world.withdrawalDraft(recipient, 1_000n)),
      world.transfer({ root: 9n }),
      await world.deposit(),
    ];
    const first = world.queue.count;
    const { members: outcomes, receipt } = await world.execute(
      members,
      world.updateTo(world.after(members.filter((_, i) => [1, 4, 6].includes(i)))),
    );
    assert.deepEqual(
      outcomes.map((outcome) => (typeof outcome === "bigint" ? outcome : outcome.error)),
      ["ContextMismatch", first, "NullifierSpent", "TransferRefused", first + 4n, "RootUnknown", first + 8n],
    );
    const names = receipt.logs
      .filter(({ address }) => mustAddress(address) === world.setting.home.pool)
      .map((log) => world.pool.interface.parseLog(log)?.args[0] as unknown);
    assert.deepEqual(
      names.slice(0, -1),
      members.map(({ statementHash }) => statementHash),
    );
    assert.equal(world.rooted.count, first + 11n);
    assert.equal(await world.usdc.getFunction("balanceOf")(recipient), 1_000n);
    assert.deepEqual([...(await world.pool.getFunction("queue")())], [world.queue.count, world.queue.head]);
  });

  it("keeps the reason short: no more than 256 bytes", async () => {
    await world.call(configurable, "setBehaviour", 6);
    const { receipt } = await world.execute([configurableDeposit()]);
    const log = world.pool.interface.parseLog(receipt.logs[0]!);
    assert.equal(log?.name, "Rejected");
    assert.ok((String(log.args["reason"]).length - 2) / 2 <= 256);
    await world.call(configurable, "setBehaviour", 0);
  });

  it("lets a member that burns gas burn its own share only", async () => {
    await world.call(configurable, "setBehaviour", BURNS_GAS);
    const members = [
      world.transfer(),
      configurableDeposit(),
      world.transfer(),
      configurableDeposit(),
      await world.deposit(),
    ];
    const good = members.filter((_, i) => i % 2 === 0);
    const {
      members: outcomes,
      update,
      receipt,
    } = await world.execute(members, world.updateTo(world.after(good)));
    assert.deepEqual(
      outcomes.map((outcome) => (typeof outcome === "bigint" ? "executed" : outcome.error)),
      ["executed", "TransferRefused", "executed", "TransferRefused", "executed"],
    );
    assert.equal(typeof update, "bigint");
    // Two burners of at most 500,000 each, and three honest neighbours.
    assert.ok(receipt.gasUsed < 1_500_000n, `${receipt.gasUsed} gas`);
    await world.call(configurable, "setBehaviour", 0);
  });

  it("lets a last member that burns gas leave enough for the root update, whatever the caller gives", async () => {
    await world.call(configurable, "setBehaviour", BURNS_GAS);
    for (const gasLimit of [1_200_000n, 3_000_000n, 16_000_000n]) {
      const members = [world.transfer(), configurableDeposit()];
      const update = world.updateTo(world.after(members.slice(0, 1)));
      const outcome = await world.execute(members, update, { gasLimit });
      assert.equal(typeof outcome.members[0], "bigint");
      assert.equal((outcome.members[1] as Fault).error, "TransferRefused");
      assert.equal(typeof outcome.update, "bigint", String(gasLimit));
    }
    await world.call(configurable, "setBehaviour", 0);
  });

  it("GasShort: reverts as a whole rather than fail a stranger's payment with too little gas", async () => {
    const member = seal(world.withdrawalDraft(freshAddress(), 1_000n));
    const send = world.pool.getFunction("execute");
    const reverted = await world.revertOf(
      send.staticCall([member.transaction], NO_UPDATE, { gasLimit: 400_000n }),
    );
    assert.equal(reverted.error, "GasShort");
    // There is no limit at which the member is rejected: each reverts the call or pays in full.
    const outcomes: string[] = [];
    for (let gasLimit = 100_000n; gasLimit <= 700_000n; gasLimit += 40_000n) {
      const another = seal(world.withdrawalDraft(freshAddress(), 1_000n));
      outcomes.push(
        await world.execute([another], NO_UPDATE, { gasLimit }).then(
          ({ members }) => (typeof members[0] === "bigint" ? "paid" : "rejected"),
          () => "reverted",
        ),
      );
    }
    assert.deepEqual([...new Set(outcomes)], ["reverted", "paid"]);
  });

  it("needs no such reserve for a private transfer", async () => {
    const { members } = await world.execute([world.transfer()], NO_UPDATE, { gasLimit: 250_000n });
    assert.equal(typeof members[0], "bigint");
  });

  it("a private transfer carried with too little gas is as if it had not been sent", async () => {
    const member = world.transfer();
    const send = world.pool.getFunction("execute");
    for (let gasLimit = 60_000n; gasLimit < 140_000n; gasLimit += 10_000n) {
      await assert.rejects(send.staticCall([member.transaction], NO_UPDATE, { gasLimit }));
    }
    assert.equal(typeof (await world.executeOne(member)), "bigint");
  });

  it("reverts as a whole when calldata is not a list of transactions, and does nothing for an empty one", async () => {
    const data = world.pool.interface.encodeFunctionData("execute", [
      [world.transfer().transaction],
      NO_UPDATE,
    ]);
    await assert.rejects(
      world.provider.call({ to: world.setting.home.pool, data: data.slice(0, data.length / 2) }),
    );
    const { members, update, receipt } = await world.execute([]);
    assert.deepEqual([members, update, receipt.logs.length], [[], undefined, 0]);
  });

  it("refuses coins sent to it", async () => {
    await assert.rejects(world.owner.sendTransaction({ to: world.setting.home.pool, value: 1n }));
  });
});

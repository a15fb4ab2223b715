// Accounts with code: one whose holder may change it is no venue, and one that judges signatures itself may deposit.
// See accounts.tree.
import assert from "node:assert/strict";
import { Contract, HDNodeWallet, TypedDataEncoder, Wallet } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { depositDraft, seal, type Sealed } from "../../support/drafts.ts";
import { authorizationType } from "../../support/oracle.ts";
import { DEVELOPMENT_MNEMONIC } from "../../support/chain.ts";
import { refusedTo } from "./recovery.ts";
import { outcome } from "./told-world.ts";
import { fault, mustAddress, World, type Fault } from "./world.ts";

describe("pool: accounts with code", function () {
  let world: World;
  before(async () => {
    world = await World.start();
  });
  after(() => world.stop());

  describe("an account that points at code by a signature (EIP-7702)", () => {
    it("Inadmissible: as an executor or asset, when proposed and when admitted; a contract of 23 bytes is one", async () => {
      const holder = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC, "", "m/44'/60'/0'/0/7").connect(
        world.provider,
      );
      const venue = (await deployContract(world.owner, "ConfigurableExecutor", [])).address;
      const authorization = await holder.authorize({
        address: venue,
        nonce: (await holder.getNonce()) + 1,
        chainId: world.setting.home.chainId,
      });
      await (
        await holder.sendTransaction({ type: 4, to: world.owner.address, authorizationList: [authorization] })
      ).wait();
      assert.equal((await world.provider.getCode(holder.address)).slice(0, 8), "0xef0100");
      for (const args of [
        ["proposeExecutor", [holder.address]],
        ["proposeAsset", [holder.address, 1n]],
      ] as const) {
        const refused = await refusedTo(world, args[0], args[1]);
        assert.deepEqual(refused, fault("Inadmissible", holder.address));
      }
      // Proposed as a contract, and no longer one when its time has come.
      await world.call(world.pool, "proposeExecutor", venue);
      await world.increaseTime(100);
      await world.provider.send("anvil_setCode", [venue, await world.provider.getCode(holder.address)]);
      assert.equal((await refusedTo(world, "setExecutor", [venue])).error, "Inadmissible");
      await world.provider.send("anvil_setCode", [venue, `0x${"5b".repeat(23)}`]);
      await world.call(world.pool, "setExecutor", venue);
    });
  });

  describe("a depositor whose code judges signatures (EIP-1271)", () => {
    const [first, second] = [new Wallet(`0x${"51".repeat(32)}`), new Wallet(`0x${"52".repeat(32)}`)];
    let account: string;
    before(async () => {
      account = (await deployContract(world.owner, "SmartAccount", [first.address, second.address])).address;
      await world.call(world.usdc, "mint", account, 10n ** 9n);
    });

    const deposit = async (signers: readonly Wallet[]): Promise<Sealed> => {
      const terms = { asset: world.usdcAddress, amount: 1_000n, depositor: mustAddress(account) };
      const member = seal(depositDraft(world.setting, terms));
      const [domain, types] = authorizationType(world.setting.home.chainId, world.usdcAddress);
      const digest = TypedDataEncoder.hash(domain, types, {
        ...{ from: account, to: world.setting.home.pool, value: 1_000n },
        ...{ validAfter: 0n, validBefore: world.setting.deadline, nonce: member.statementHash },
      });
      const authorization = `0x${signers.map(({ signingKey }) => signingKey.sign(digest).serialized.slice(2)).join("")}`;
      return { ...member, transaction: { ...member.transaction, authorization } };
    };

    it("deposits with an authorization of 130 bytes, that anybody carries, once", async () => {
      const member = await deposit([first, second]);
      const before = (await world.usdc.getFunction("balanceOf")(account)) as bigint;
      assert.equal(await outcome(world, member), world.queue.count - 3n);
      assert.equal(await world.usdc.getFunction("balanceOf")(account), before - 1_000n);
      assert.deepEqual(await outcome(world, member), fault("StatementRepeated"));
    });

    it("TransferRefused: signed by one, by two in another order, by others, or longer", async () => {
      for (const signers of [[first], [second, first], [first, first], [first, second, second]]) {
        assert.equal(((await outcome(world, await deposit(signers))) as Fault).error, "TransferRefused");
      }
      const contract = new Contract(account, (await loadArtifact("SmartAccount")).abi, world.provider);
      assert.equal(
        await contract.getFunction("isValidSignature")(`0x${"00".repeat(32)}`, "0x"),
        "0xffffffff",
      );
    });
  });
});

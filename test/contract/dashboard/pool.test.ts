// What an operator is shown of the pool's owner, on a real pool: the same as the operator's tool reads, with transactions
// that do what they say once the owner has sent them.
import assert from "node:assert/strict";
import { Contract, JsonRpcProvider, type Signer } from "ethers";
import { createChain } from "../../../proxy/base/chain/provider.ts";
import { createPoolView } from "../../../proxy/dashboard/pool.service.ts";
import { deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { deployPoolWithSigners, imageNamed } from "../../../scripts/stack/development-registration.ts";
import { readAdmissions } from "../../../scripts/operator/admissions.ts";
import { startAnvil, type Anvil } from "../../../scripts/stand-ins/anvil.ts";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { DashboardError } from "../../../proxy/dashboard/errors.ts";

const DELAY_SECS = 1_000;
const WEEK_SECS = 7 * 86_400;

describe("the pool at the operator's screen", function () {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let owner: Signer;
  let pool: Address;
  let view: ReturnType<typeof createPoolView>;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
    owner = await provider.getSigner(0);
    const assets = [(await deployTestUsdc(owner)).address];
    const signers = [attester(1).address];
    const made = await deployPoolWithSigners(owner, {
      signers,
      assets,
      threshold: 1,
      changeDelay: DELAY_SECS,
    });
    pool = made.address;
    const chain = createChain(anvil.url, BigInt(anvil.chainId));
    view = createPoolView({ chain, pool, deploymentBlock: made.block });
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  async function propose(image: string): Promise<void> {
    const propose = new Contract(pool, POOL_ABI, owner).getFunction("proposeImage");
    await ((await propose(image, 1, "", "")) as { wait(): Promise<unknown> }).wait();
  }
  const standingOf = async (image: string) => (await view()).admissions.find((one) => one.subject === image);

  it("is what the operator's tool reads of the same chain", async () => {
    await propose(imageNamed("2"));
    const shown = await view();
    assert.equal(shown.threshold, 1);
    assert.equal(asAddress(shown.running[0]!.signer), attester(1).address);
    assert.match(String(shown.running[0]!.measurements["pcr0"]), /^[0-9a-f]{96}$/);
    assert.equal(shown.owner, await owner.getAddress());
    for (const role of ["image", "signer", "asset", "executor"] as const) {
      const read = await readAdmissions(provider, pool, role);
      const ours = shown.admissions.filter((one) => one.role === role);
      assert.deepEqual(
        new Set(ours.map(({ subject, standing }) => `${asAddress(subject) ?? subject} ${standing}`)),
        new Set(read.map(({ subject, standing }) => `${subject} ${standing}`)),
      );
    }
    const [first] = shown.admissions;
    const proposed = (await readAdmissions(provider, pool, "image")).find(
      ({ standing }) => standing === "proposed",
    );
    assert.equal(first!.standing, "proposed");
    assert.equal(Date.parse(first!.withdrawable_until ?? ""), proposed!.admissibleAt! * 1000);
    assert.equal(Date.parse(first!.expires_at ?? ""), proposed!.expiresAt! * 1000);
  });

  it("a proposal is withdrawn by the transaction that stands beside it, sent by the owner", async () => {
    const subject = imageNamed("3");
    await propose(subject);
    const { transaction } = (await standingOf(subject))!.instructions[0]!;
    const { to, data, value, chain_id: chainId } = transaction!;
    assert.equal(chainId, anvil.chainId);
    await (await owner.sendTransaction({ to, data, value: BigInt(value) })).wait();
    const after = await standingOf(subject);
    assert.deepEqual([after?.standing, after?.instructions], ["removed", []]);
  });

  it("one that nobody admitted has expired by the chain's clock", async () => {
    const subject = imageNamed("4");
    await propose(subject);
    await provider.send("evm_increaseTime", [DELAY_SECS + WEEK_SECS + 1]);
    await provider.send("anvil_mine", ["0x1"]);
    const found = await standingOf(subject);
    assert.deepEqual([found?.standing, found?.expires_at], ["expired", null]);
  });

  it("asks once for blocks that lie deep, and says the same", async () => {
    const chain = createChain(anvil.url, BigInt(anvil.chainId));
    const deploymentBlock = (await provider.getBlockNumber()) + 1;
    await propose(imageNamed("5"));
    const asked: unknown[] = [];
    const logs: typeof chain.logs = (address, range, topics) => {
      if ("fromBlock" in range) asked.push(range.fromBlock);
      return chain.logs(address, range, topics);
    };
    const ours = createPoolView({ chain: { ...chain, logs }, pool, deploymentBlock, settledDepth: 16 });
    const before = await ours();
    await provider.send("anvil_mine", ["0x10"]);
    const [first, second] = [await ours(), await ours()];
    assert.deepEqual([first.admissions, second.admissions], [before.admissions, before.admissions]);
    assert.equal(second.admissions.length, 1);
    assert.deepEqual(asked, [deploymentBlock, deploymentBlock, deploymentBlock + 1, deploymentBlock + 1]);
  });

  it("says that the chain is unreachable where it is", async () => {
    // Nothing listens there: the port is reserved (IANA, tcpmux).
    const chain = createChain("http://127.0.0.1:1", BigInt(anvil.chainId));
    const away = createPoolView({ chain, pool, deploymentBlock: 0 });
    await assert.rejects(
      away(),
      (error) => error instanceof DashboardError && error.code === "CHAIN_UNAVAILABLE",
    );
  });
});

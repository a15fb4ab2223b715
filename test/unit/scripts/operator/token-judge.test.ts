// What `operator assets judge` finds in tokens of every kind, on a real chain, where nothing of it stays.
import assert from "node:assert/strict";
import { Contract, JsonRpcProvider, type JsonRpcSigner } from "ethers";
import { loadArtifact } from "../../../../scripts/build/contracts.ts";
import { deployContract, deployTestUsdc } from "../../../../scripts/deploy/pool.ts";
import { judgeToken, type Remark } from "../../../../scripts/operator/token-judge.ts";
import { startAnvil, type Anvil } from "../../../../scripts/stand-ins/anvil.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";

const BEHAVIOURS = [
  ...["Honest", "ReturnsNothing", "ReturnsFalse", "ReturnsTwo", "TakesFee", "MovesNothing"],
  ...[
    "RevertsAtLength",
    "BurnsGas",
    "Reenters",
    "HidesBalance",
    "BurnsInBalance",
    "CallsPayee",
    "RefusesNothing",
  ],
] as const;
type Behaviour = (typeof BEHAVIOURS)[number];

describe("scripts: operator judges tokens", function () {
  let chain: Anvil;
  let provider: JsonRpcProvider;
  let deployer: JsonRpcSigner;
  let token: Contract;
  let address: Address;
  let holder: Address;
  before(async () => {
    chain = await startAnvil();
    provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
    deployer = await provider.getSigner(0);
    holder = asAddress(deployer.address)!;
    address = (await deployContract(deployer, "ConfigurableToken", [])).address;
    token = new Contract(address, (await loadArtifact("ConfigurableToken")).abi, deployer);
    await send("mint", holder, 1_000_000n);
  });
  after(async () => {
    provider.destroy();
    await chain.stop();
  });

  async function send(name: string, ...args: unknown[]): Promise<void> {
    await ((await token.getFunction(name)(...args)) as { wait(): Promise<unknown> }).wait();
  }
  const codes = (remarks: readonly Remark[], weight: Remark["weight"]): string[] =>
    remarks.filter((one) => one.weight === weight).map(({ code }) => code);
  const judge = (of = address, others: readonly Address[] = []): Promise<Remark[]> =>
    judgeToken({ provider, token: of, holder, others });
  const behaving = async (behaviour: Behaviour): Promise<string[]> => {
    await send("setBehaviour", BEHAVIOURS.indexOf(behaviour));
    try {
      return codes(await judge(), "unfit");
    } finally {
      await send("setBehaviour", 0);
    }
  };

  it("finds nothing in a token of the kind that the pool is made for, and changes nothing", async () => {
    const usdc = (await deployTestUsdc(deployer)).address;
    const contract = new Contract(usdc, (await loadArtifact("TestUSDC")).abi, deployer);
    await ((await contract.getFunction("mint")(holder, 5n)) as { wait(): Promise<unknown> }).wait();
    const block = await provider.getBlockNumber();
    assert.deepEqual(await judge(usdc, [usdc, address]), []);
    assert.equal(await provider.getBlockNumber(), block);
    assert.equal(await contract.getFunction("balanceOf")(holder), 5n);
  });

  it("takes an answer of nothing for true, as the pool does", async () => {
    assert.deepEqual(await behaving("ReturnsNothing"), []);
  });

  for (const [behaviour, code] of [
    ["ReturnsFalse", "ANSWERS_FALSE"],
    ["ReturnsTwo", "ANSWERS_FALSE"],
    ["TakesFee", "MOVES_OTHERWISE"],
    ["MovesNothing", "MOVES_OTHERWISE"],
    ["RevertsAtLength", "REFUSES"],
    ["HidesBalance", "NO_TOKEN"],
  ] as const)
    it(`finds unfit what ${behaviour}: ${code}`, async () => {
      assert.deepEqual(await behaving(behaviour), [code]);
    });

  it("doubts what calls its payees, refuses to move nothing, has no EIP-3009, or many decimals", async () => {
    const doubts = async (): Promise<string[]> => codes(await judge(), "doubt");
    assert.deepEqual(await doubts(), ["NO_AUTHORIZATION"]);
    await send("setBehaviour", BEHAVIOURS.indexOf("CallsPayee"));
    assert.deepEqual(await doubts(), ["RUNS_PAYEES", "NO_AUTHORIZATION"]);
    await send("setBehaviour", BEHAVIOURS.indexOf("RefusesNothing"));
    assert.deepEqual(await doubts(), ["NOTHING_REFUSED", "NO_AUTHORIZATION"]);
    await send("setBehaviour", 0);
    await send("setDecimals", 24);
    assert.deepEqual(await doubts(), ["MANY_DECIMALS", "NO_AUTHORIZATION"]);
    await send("setDecimals", 6);
  });

  it("finds a second name for a balance that is listed", async () => {
    const twin = (await deployContract(deployer, "TwinToken", [address])).address;
    assert.deepEqual(codes(await judge(twin, [address]), "unfit"), ["SAME_BALANCE"]);
    assert.deepEqual(codes(await judge(twin), "unfit"), []);
  });

  it("finds more units than 128 bits hold", async () => {
    const wide = (await deployContract(deployer, "ConfigurableToken", [])).address;
    const contract = new Contract(wide, (await loadArtifact("ConfigurableToken")).abi, deployer);
    await ((await contract.getFunction("mint")(holder, 2n ** 128n)) as { wait(): Promise<unknown> }).wait();
    assert.deepEqual(codes(await judge(wide), "unfit"), ["TOO_MANY"]);
  });

  it("doubts what its issuer can change or stop", async () => {
    const slot = "0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc";
    await provider.send("anvil_setStorageAt", [address, slot, `0x${"00".repeat(12)}${holder.slice(2)}`]);
    assert.ok(codes(await judge(), "doubt").includes("CHANGEABLE"));
    await provider.send("anvil_setStorageAt", [address, slot, `0x${"00".repeat(32)}`]);
  });

  it("says what it needs: a holder that has some, and a node that simulates", async () => {
    const nobody = asAddress(`0x${"5a".repeat(20)}`)!;
    await assert.rejects(judgeToken({ provider, token: address, holder: nobody, others: [] }), /--holder/);
  });
});

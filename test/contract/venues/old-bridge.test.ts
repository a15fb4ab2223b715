// Deposits of many by their permits at the exchange's old bridge: what is awkward about it, on a real chain with the exchange's
// own process.
import assert from "node:assert/strict";
import { Contract, Interface, Signature, Wallet, type HDNodeWallet } from "ethers";
import { becomes, FINAL_BLOCKS, Stage, USD } from "./stage.ts";

const SIGNATURE = "(uint256 r, uint256 s, uint8 v)";
const BRIDGE = new Interface([
  `function batchedDepositWithPermit((address user, uint64 usd, uint64 deadline, ${SIGNATURE} signature)[] deposits)`,
  "function pause()",
  "function unpause()",
  "event FailedPermitDeposit(address user, uint64 usd, uint32 errorCode)",
]);
const TOKEN = [
  "function nonces(address) view returns (uint256)",
  "function permit(address owner, address spender, uint256 value, uint256 deadline, uint8 v, bytes32 r, bytes32 s)",
  "function allowance(address owner, address spender) view returns (uint256)",
];
const PERMIT = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
};
const [NO_PERMIT, NO_MONEY] = [0n, 1n];

interface Deposit {
  readonly user: string;
  readonly usd: bigint;
  readonly deadline: number;
  readonly signature: Signature;
}

describe("the exchange's old bridge: deposits by permit", function () {
  let stage: Stage;
  before(async () => {
    stage = await Stage.set();
  });
  after(() => (stage as Stage | undefined)?.close());

  const someone = async (money: bigint): Promise<HDNodeWallet> => {
    const wallet = Wallet.createRandom();
    if (money > 0n) await stage.home.usdc.mint(wallet.address, money);
    return wallet;
  };
  const now = async (): Promise<number> => (await stage.home.provider.getBlock("latest"))!.timestamp;

  /** `signed`: the amount that the permit speaks of. */
  async function deposit(
    user: HDNodeWallet,
    usd: bigint,
    { signed = usd, lifeSecs = 3_600 } = {},
  ): Promise<Deposit> {
    const { home, doors } = stage;
    const token = new Contract(home.cctp.usdc, TOKEN, home.provider);
    const nonce = (await token.getFunction("nonces").staticCall(user.address)) as bigint;
    const deadline = (await now()) + lifeSecs;
    const domain = { name: "USD Coin", version: "2", chainId: 31_337, verifyingContract: home.cctp.usdc };
    const permit = { owner: user.address, spender: doors.bridge, value: signed, nonce, deadline };
    const signature = Signature.from(await user.signTypedData(domain, PERMIT, permit));
    return { user: user.address, usd, deadline, signature };
  }

  const argument = ({ signature: { r, s, v }, ...rest }: Deposit) => ({ ...rest, signature: { r, s, v } });

  /** By the account that pays for gas, which is nobody's in the batch. Failures by user. */
  async function batch(...deposits: Deposit[]): Promise<{ status: number; failed: Record<string, bigint> }> {
    const { home, doors } = stage;
    const bridge = new Contract(doors.bridge, BRIDGE, home.rich);
    const sent = await bridge.getFunction("batchedDepositWithPermit").send(deposits.map(argument));
    const receipt = (await sent.wait())!;
    const failed: Record<string, bigint> = {};
    for (const log of receipt.logs.filter(({ address }) => address.toLowerCase() === doors.bridge)) {
      const args = BRIDGE.parseLog(log)?.args;
      if (args !== undefined) failed[String(args["user"])] = args["errorCode"] as bigint;
    }
    await home.mine(FINAL_BLOCKS);
    return { status: Number(receipt.status), failed };
  }
  const perps = ({ address }: { readonly address: string }) => stage.perps(address.toLowerCase() as never);
  const held = ({ address }: { readonly address: string }) => stage.home.usdc.balanceOf(address);

  it("credits who signed, reports each failure by an event, and succeeds all the same", async () => {
    const good = await someone(50n * USD);
    const other = await someone(50n * USD);
    const poor = await someone(0n);
    const late = await someone(50n * USD);
    const last = await someone(7n * USD);
    const { status, failed } = await batch(
      await deposit(good, 50n * USD),
      await deposit(other, 50n * USD, { signed: 49n * USD }),
      await deposit(poor, 50n * USD),
      await deposit(late, 50n * USD, { lifeSecs: -1 }),
      await deposit(last, 7n * USD),
    );
    assert.equal(status, 1, "who looks at this alone believes that all was paid");
    assert.deepEqual(failed, {
      [other.address]: NO_PERMIT,
      [poor.address]: NO_MONEY,
      [late.address]: NO_PERMIT,
    });
    await becomes(() => perps(last), "6.0");
    assert.equal(await perps(good), "49.0");
    for (const user of [other, poor, late, { address: stage.home.self }])
      assert.equal(await perps(user), "0.0", "nobody who failed, nor who only sent it");
    assert.deepEqual([await held(good), await held(other), await held(late)], [0n, 50n * USD, 50n * USD]);
    assert.equal(await held({ address: stage.doors.bridge }), 57n * USD);
  });

  it("takes less than five dollars without a failure, and they are lost", async () => {
    const [small, marker] = [await someone(5n * USD - 1n), await someone(9n * USD)];
    const before = await held({ address: stage.doors.bridge });
    const { failed } = await batch(await deposit(small, 5n * USD - 1n), await deposit(marker, 9n * USD));
    assert.deepEqual(failed, {});
    // Of the same block, so the exchange has looked at both.
    await becomes(() => perps(marker), "8.0");
    assert.equal(await perps(small), "0.0");
    assert.equal(await held(small), 0n);
    assert.equal((await held({ address: stage.doors.bridge })) - before, 14n * USD - 1n);
  });

  it("sent again it moves nothing: each permit is good once", async () => {
    const user = await someone(100n * USD);
    const made = await deposit(user, 20n * USD);
    assert.deepEqual((await batch(made)).failed, {});
    assert.deepEqual((await batch(made)).failed, { [user.address]: NO_PERMIT });
    await becomes(() => perps(user), "19.0");
    assert.equal(await held(user), 80n * USD);
  });

  it("a permit that a stranger has shown to the token before is a failure here, though the allowance is there", async () => {
    const { home, doors } = stage;
    const user = await someone(20n * USD);
    const made = await deposit(user, 20n * USD);
    const { r, s, v } = made.signature;
    await home.call(home.cctp.usdc, TOKEN, "permit", [
      user.address,
      doors.bridge,
      made.usd,
      made.deadline,
      v,
      r,
      s,
    ]);
    assert.deepEqual((await batch(made)).failed, { [user.address]: NO_PERMIT });
    const token = new Contract(home.cctp.usdc, TOKEN, home.provider);
    assert.equal(await token.getFunction("allowance").staticCall(user.address, doors.bridge), 20n * USD);
    assert.equal(await held(user), 20n * USD);
  });

  it("paused, it reverts as a whole and takes nothing", async () => {
    const { home, doors } = stage;
    const user = await someone(20n * USD);
    const made = await deposit(user, 20n * USD);
    const bridge = new Contract(doors.bridge, BRIDGE, home.rich);
    await home.call(doors.bridge, ["function pause()"], "pause", []);
    await assert.rejects(
      bridge.getFunction("batchedDepositWithPermit").staticCall([argument(made)]),
      /paused/,
    );
    await home.call(doors.bridge, ["function unpause()"], "unpause", []);
    assert.deepEqual((await batch(made)).failed, {});
    await becomes(() => perps(user), "19.0");
  });
});

// The exchange's program over real chains: in and out by CCTP, with what is awkward about it.
import assert from "node:assert/strict";
import { id, Wallet } from "ethers";
import { z } from "zod";
import type { Address } from "../../../shared/protocol/brands.ts";
import { encodeForward } from "../../../shared/protocol/host/cctp-forward.ts";
import { postAction, sendToEvm, signAction } from "../../../scripts/stand-ins/venues/exchange/actions.ts";
import { ALICE, alice, becomes, FINAL_BLOCKS, Stage, USD } from "./stage.ts";

let someone = 0;
/** Without code, and without a past. */
function nobody(): Address {
  return `0x${(++someone).toString(16).padStart(40, "c")}` as Address;
}

const checkShape = z.object({ fee: z.string(), userExists: z.boolean(), isSanctioned: z.boolean() });
const roleShape = z.object({ role: z.string() });
const spotShape = z.object({ balances: z.array(z.object({ coin: z.string(), total: z.string() })) });

describe("the exchange", function () {
  let stage: Stage;
  let nonce = Date.now();
  before(async () => {
    stage = await Stage.set();
  });
  after(() => stage.close());

  /** From the pool's chain by the forwarder, as an exit of ours does it. */
  async function deposit(account: Address, amount: bigint, destination: "perps" | "spot"): Promise<void> {
    const { home, own, forwarder } = stage;
    const hash = await home.burn({
      amount,
      to: forwarder,
      caller: forwarder,
      domain: 19,
      hook: encodeForward({ recipient: account, destination }),
    });
    await home.mine(FINAL_BLOCKS);
    await own.forward(forwarder, await stage.until(3, hash, "complete"));
    await own.mine(1);
  }

  const check = (user: Address) => stage.info(checkShape, { type: "preTransferCheck", user });

  it("knows no account before money came, and says what a new one costs", async () => {
    assert.deepEqual(await check(alice), { fee: "1.0", userExists: false, isSanctioned: false });
    assert.deepEqual(await stage.info(roleShape, { type: "userRole", user: alice }), { role: "missing" });
    const order = { amount: "1", from: "perps", recipient: nobody(), domain: 3, nonce: nonce++ } as const;
    await assert.rejects(
      postAction(stage.exchangeUrl, await signAction(ALICE, sendToEvm(order))),
      /does not exist/,
    );
  });

  it("credits the account that the burn's hook names, and nobody else", async () => {
    await deposit(alice, 101n * USD, "perps");
    await becomes(() => stage.perps(alice), "100.0");
    assert.deepEqual(await check(alice), { fee: "0.0", userExists: true, isSanctioned: false });
    assert.equal((await check(stage.home.self)).userExists, false);
    await deposit(alice, 7n * USD, "spot");
    const spot = async (): Promise<string | undefined> =>
      (await stage.info(spotShape, { type: "spotClearinghouseState", user: alice })).balances[0]?.total;
    await becomes(spot, "7.0");
    assert.equal(await stage.own.usdc.balanceOf(stage.reserve), 108n * USD);
  });

  it("pays by CCTP to an address without code on the pool's chain, whoever delivers", async () => {
    const { home, own } = stage;
    const to = nobody();
    const before = await own.provider.getBlockNumber();
    const order = { amount: "10.2", from: "perps", recipient: to, domain: 3, nonce: nonce++ } as const;
    await postAction(stage.exchangeUrl, await signAction(ALICE, sendToEvm(order)));
    const hash = await burntSince(before);
    await own.mine(FINAL_BLOCKS);
    await home.receive(await stage.until(19, hash, "complete"));
    // What it offers for delivery is kept, whoever delivers.
    assert.equal(await home.usdc.balanceOf(to), 10n * USD - 200_000n);
    assert.equal(await stage.perps(alice), "89.8");
    assert.equal(await own.usdc.balanceOf(stage.reserve), 98n * USD);
  });

  it("asks for more than the fee, and pays nothing that a stranger signs", async () => {
    const order = { amount: "0.2", from: "perps", recipient: nobody(), domain: 3, nonce: nonce++ } as const;
    const small = await signAction(ALICE, sendToEvm(order));
    await assert.rejects(postAction(stage.exchangeUrl, small), /Amount must exceed the fee/);
    const stranger = await signAction(Wallet.createRandom(), sendToEvm({ ...order, amount: "5" }));
    await assert.rejects(postAction(stage.exchangeUrl, stranger), /does not exist/);
    const good = await signAction(ALICE, sendToEvm({ ...order, amount: "5" }));
    const changed = { ...good, action: sendToEvm({ ...order, amount: "50" }) };
    await assert.rejects(postAction(stage.exchangeUrl, changed), /does not exist/);
    assert.equal(await stage.perps(alice), "89.8");
  });

  it("gives back what its chain refuses for good", async () => {
    // No burn goes to a domain that nobody introduced.
    const order = { amount: "5", from: "perps", recipient: nobody(), domain: 77, nonce: nonce++ } as const;
    await postAction(stage.exchangeUrl, await signAction(ALICE, sendToEvm(order)));
    assert.equal(await stage.perps(alice), "84.8");
    const { own } = stage;
    await until(async () => {
      await own.mine(1);
      return (await stage.perps(alice)) === "89.8";
    });
  });

  it("does nothing while it is paused, and everything afterwards", async () => {
    await stage.pauseExchange(true);
    await deposit(alice, 3n * USD, "perps");
    const order = { amount: "5", from: "perps", recipient: nobody(), domain: 3, nonce: nonce++ } as const;
    const signed = await signAction(ALICE, sendToEvm(order));
    await assert.rejects(postAction(stage.exchangeUrl, signed), /paused/);
    assert.equal(await stage.perps(alice), "89.8");
    await stage.pauseExchange(false);
    await becomes(() => stage.perps(alice), "92.8");
  });

  it("killed in the middle of a burn sends the same one again, and never a second", async () => {
    const { home, own } = stage;
    const to = nobody();
    const before = await own.provider.getBlockNumber();
    const order = { amount: "10.2", from: "perps", recipient: to, domain: 3, nonce: nonce++ } as const;
    await postAction(stage.exchangeUrl, await signAction(ALICE, sendToEvm(order)));
    await stage.killExchange();
    await stage.startExchange();
    const hash = await burntSince(before);
    await own.mine(3);
    await stage.killExchange();
    await stage.startExchange();
    await own.mine(FINAL_BLOCKS);
    await home.receive(await stage.until(19, hash, "complete"));
    assert.equal(await home.usdc.balanceOf(to), 10n * USD - 200_000n);
    assert.equal((await burns(before)).length, 1);
    assert.equal(await stage.perps(alice), "82.6");
    assert.equal(await own.usdc.balanceOf(stage.reserve), 91n * USD);
  });

  async function until(look: () => Promise<boolean>): Promise<void> {
    await becomes(look, true);
  }

  async function burns(after: number): Promise<readonly string[]> {
    const { own } = stage;
    const logs = await own.provider.getLogs({
      address: own.cctp.transmitter,
      topics: [id("MessageSent(bytes)")],
      fromBlock: after,
      toBlock: "latest",
    });
    return logs
      .filter(({ blockNumber }) => blockNumber > after)
      .map(({ transactionHash }) => transactionHash);
  }

  /** The exchange's burn after that block. */
  async function burntSince(block: number): Promise<string> {
    await until(async () => (await burns(block)).length > 0);
    return (await burns(block))[0] ?? assert.fail("no burn");
  }
});

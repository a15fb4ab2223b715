/**
 * Two proxies around one Redis, and the relay of their bridges: one proxy sends what the relay offers. When it is held still
 * past its lease the other goes on, and no deposit is swept twice, whoever was in the middle of it. A relay that is killed or
 * held still delays deposits, and no payment.
 */
import assert from "node:assert/strict";
import type { BridgeDeposit, Wallet } from "../../shared/client/index.ts";
import { FORWARDERS_ABI } from "../../shared/contracts/abi.ts";
import { Interface } from "ethers";
import { frozenProcesses } from "../support/frozen.ts";
import { startTestCluster, type TestCluster } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { Proxies } from "./proxies.ts";

const PROXIES = 2;
const AMOUNT = 30_000_000n;
const FORWARDERS = new Interface(FORWARDERS_ABI);
const SWEPT = FORWARDERS.getEvent("Swept")!.topicHash;
const MINT = new Interface(["function mint(address to, uint256 amount)"]).getFunction("mint")!.selector;
/** Of the stack's pool chain, until a deposit is final. */
const CONFIRMATIONS = 2;
const SWEEP = FORWARDERS.getFunction("sweep")!.selector;

describe("bridges of a cluster", function () {
  this.timeout(300_000);
  let on: TestCluster;
  let proxies: Proxies;
  const { freeze, thaw } = frozenProcesses();

  before(async () => {
    on = await startTestCluster({ proxies: PROXIES, enclaves: 1, threshold: 1 }, { bridges: true });
    proxies = new Proxies(on, PROXIES);
  });
  after(async () => {
    thaw();
    await on.stop();
  });

  async function deposit(wallet: Wallet): Promise<BridgeDeposit> {
    const made = await wallet.bridges.fromExchange();
    await on.usdc.mint(made.address, AMOUNT);
    return made;
  }
  /** Transactions that have swept something, as the chain has them. */
  async function sweeps(): Promise<readonly { readonly hash: string; readonly nonce: number }[]> {
    const logs = await on.chain.getLogs({ topics: [SWEPT], fromBlock: 0, toBlock: "latest" });
    const from = await on.sender();
    return Promise.all(
      logs.map(async ({ transactionHash: hash }) => {
        const sent = await on.chain.getTransaction(hash);
        assert.equal(sent?.from, from, "by the service's own wallet");
        return { hash, nonce: sent.nonce };
      }),
    );
  }
  /** Taken by the node, in no block. */
  async function isWaiting(selector: string): Promise<boolean> {
    const { pending } = (await on.chain.send("txpool_content", [])) as {
      readonly pending: Readonly<Record<string, Readonly<Record<string, { readonly input: string }>>>>;
    };
    return Object.values(pending).some((ofOne) =>
      Object.values(ofOne).some(({ input }) => input.startsWith(selector)),
    );
  }
  const stateAt = async (number: number, id: string) => (await proxies.at(number).bridgeStatus({ id })).state;
  const ended = (number: number, { bridgeId }: BridgeDeposit) =>
    until("the money to be a note", async () => (await stateAt(number, bridgeId)) === "completed");
  const held = async (address: string): Promise<bigint> => on.usdc.balanceOf(address);

  it("sweeps each deposit once: by the one that leads, by the other when that is held still, and not again when it wakes", async () => {
    const { number, fence } = await proxies.leader();
    const [other] = proxies.others(number) as [number];
    const wallet = await on.wallet({ through: proxies.at(other) });
    const first = await deposit(wallet);
    await ended(other, first);
    assert.equal((await sweeps()).length, 1);
    await ended(number, first);

    // In the middle: the leader has sent the second's sweep, and no block has it.
    await on.setMining(false);
    const second = await wallet.bridges.fromExchange();
    const minted = on.usdc.mint(second.address, AMOUNT);
    await until("the payment to be sent", () => isWaiting(MINT));
    await on.mine(CONFIRMATIONS);
    await minted;
    await until("the leader to send a sweep", () => isWaiting(SWEEP));
    freeze(on.local.proxy(number).pid);
    const next = await proxies.newLeader(fence);
    assert.equal(next.number, other);
    await on.setMining(true);
    const third = await deposit(wallet);
    await ended(other, second);
    await ended(other, third);

    thaw();
    await until("the first to answer again", () => stateAt(number, third.bridgeId));
    const fourth = await deposit(wallet);
    await ended(number, fourth);
    assert.equal((await proxies.leader()).number, other, "it does not take the lease back");

    const swept = await sweeps();
    assert.equal(swept.length, 4, "each once");
    const nonces = swept.map(({ nonce }) => nonce);
    assert.equal(
      new Set(nonces).size,
      new Set(swept.map(({ hash }) => hash)).size,
      "one nonce for each call",
    );
    for (const { address, bridgeId } of [first, second, third, fourth]) {
      assert.equal(await held(address), 0n);
      const { deposits, received } = await proxies.at(other).bridgeStatus({ id: bridgeId });
      assert.deepEqual([deposits.length, received], [1, String(AMOUNT)]);
      assert.equal(deposits[0]!.transactions.filter(({ what }) => what === "sweep").length, 1);
    }
  });

  it("a relay that is killed, or held still, delays a deposit and no payment; back again, it sweeps each once", async () => {
    const wallet = await on.wallet();
    const before = (await sweeps()).length;
    const pays = async (): Promise<void> => {
      const { ticket } = await wallet.deposit(AMOUNT, await on.depositor(AMOUNT));
      await until("the payment to be confirmed", async () => {
        const { state } = await on.client.ticket(ticket.ticket_id);
        return state === "confirmed" || state === "finalized";
      });
    };
    await on.local.relay().kill();
    const killed = await deposit(wallet);
    await pays();
    assert.equal(await stateAt(0, killed.bridgeId), "awaiting_funds", "as it was told last");
    assert.equal((await sweeps()).length, before);
    await on.local.restartRelay();
    await ended(0, killed);

    freeze(on.local.relay().pid);
    const frozen = await deposit(wallet);
    await pays();
    assert.equal((await sweeps()).length, before + 1);
    thaw();
    await ended(0, frozen);
    assert.equal((await sweeps()).length, before + 2);
  });
});

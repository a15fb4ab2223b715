import { Contract, Interface, type Wallet as Account } from "ethers";
import assert from "node:assert/strict";
import { leaveAll, type Left } from "../../../scripts/exit/leaving.ts";
import {
  memoryStorage,
  type Prover,
  type TransactionSender,
  type Wallet,
  type WalletStorage,
} from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { prepareDeposit } from "../../../shared/client/statements/statements.ts";
import { POOL_ABI, TOKEN_ABI } from "../../../shared/contracts/abi.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { attested, attester, NO_UPDATE } from "../../../scripts/stack/pool-transaction.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { LonePool, PROVED_DELAY_SECS, SILENCE_SECS } from "../../support/lone-pool.ts";
import { leavingOutOnce, startBentNode, type BentNode } from "../watch/bent-node.ts";

const DAY_SECS = 86_400;
const topicOf = (event: string): string => new Interface(POOL_ABI).getEvent(event)!.topicHash;
/** A quarter of it is what proofs can take out in a day; all that is left of it while the signers are silent. */
const CAP = 1_000n;

describe("exit: the whole way out", function () {
  this.timeout(600_000);
  let prover: Prover;
  let lone: LonePool;
  let node: BentNode;
  before(async () => {
    prover = await developmentProver();
    lone = await LonePool.start(prover, CAP);
    node = await startBentNode(lone.anvil.url);
  });
  afterEach(() => node.straighten());
  after(async () => {
    await node.close();
    await lone.stop();
    await prover.close();
  });

  async function leave(wallet: Wallet, sender: TransactionSender, to: string): Promise<Left> {
    return leaveAll({
      ...{ alone: await wallet.withoutService(sender), to: asAddress(to)!, assets: [lone.asset] },
      ...{ say: () => undefined, waits: false, pauseMs: 1, signal: new AbortController().signal },
    });
  }

  /** A wallet with notes of these values, under a root that is old enough. */
  async function holding(seed: number, values: readonly bigint[], storage: WalletStorage): Promise<Wallet> {
    const wallet = await lone.wallet({ seed, storage });
    const payer = await lone.account(values.reduce((sum, value) => sum + value));
    const alone = await wallet.withoutService(payer);
    for (const value of values) await alone.deposit(value);
    await lone.pass(SILENCE_SECS);
    await alone.advance();
    assert.equal((await alone.outlook())[0]?.provable, wallet.balance().total);
    return wallet;
  }

  it("takes eleven notes out in two withdrawals, and a second run finds nothing to do", async () => {
    const values = Array.from({ length: 11 }, (_, at) => BigInt(at + 1));
    const wallet = await holding(1, values, memoryStorage());
    const [account, to] = [await lone.account(), await lone.account()];
    const first = await leave(wallet, account, to.address);
    assert.deepEqual(first.waitingFor, []);
    assert.deepEqual([...first.amounts.values()], [66n]);
    assert.equal(await lone.publicBalance(to.address), 66n);
    assert.equal(await lone.provider.getTransactionCount(account.address), 2);
    assert.deepEqual((await leave(wallet, account, to.address)).amounts.size, 0);
    assert.equal(await lone.provider.getTransactionCount(account.address), 2);
    await wallet.close();
  });

  it("asks again for a root's log that a node leaves out once: nothing seems to wait for an advance", async () => {
    await (await holding(5, [7n], memoryStorage())).close();
    const leaveOut = leavingOutOnce(topicOf("RootUpdated"));
    // Where roots alone are asked for.
    node.bend("eth_getLogs", (logs, [range]) =>
      (range as { topics: unknown[] }).topics.length > 0 ? leaveOut(logs, [range]) : logs,
    );
    const wallet = await lone.wallet({ seed: 5, rpc: node.url });
    const [outlook] = await (await wallet.withoutService(await lone.account())).outlook();
    assert.deepEqual([outlook?.provable, outlook?.uncovered], [7n, 0n]);
    await wallet.close();
    // In the whole history.
    node.bend("eth_getLogs", leavingOutOnce(topicOf("RootUpdated")));
    const reader = await lone.wallet({ seed: 5, rpc: node.url });
    await (await reader.withoutService(await lone.account())).sync();
    assert.equal(reader.balance().unverified, 0n);
    await reader.close();
  });

  it("killed before or after its transaction left, goes on and pays nothing twice", async () => {
    const storage = memoryStorage();
    const wallet = await holding(2, [40n, 2n], storage);
    const [account, to] = [await lone.account(), await lone.account()];
    const lost = new Error("the connection broke");
    let statements = 0;
    const before: TransactionSender = {
      getAddress: () => account.getAddress(),
      sendTransaction: () => {
        statements += 1;
        return Promise.reject(lost);
      },
    };
    await assert.rejects(leave(wallet, before, to.address), { code: "SIGNER_FAILED" });
    // As a process that was killed: this wallet says nothing any more.
    const calls: string[] = [];
    const after: TransactionSender = {
      getAddress: () => account.getAddress(),
      async sendTransaction(transaction) {
        calls.push(transaction.data);
        await (await account.sendTransaction(transaction)).wait();
        throw lost;
      },
    };
    const second = await lone.wallet({ seed: 2, storage });
    await assert.rejects(leave(second, after, to.address), { code: "SIGNER_FAILED" });
    assert.equal(await lone.publicBalance(to.address), 42n);

    const third = await lone.wallet({ seed: 2, storage });
    assert.deepEqual((await leave(third, account, to.address)).waitingFor, []);
    assert.equal(await lone.publicBalance(to.address), 42n);
    assert.deepEqual([statements, calls.length], [1, 1]);
    assert.equal(await lone.provider.getTransactionCount(account.address), 1);
    assert.equal(third.balance().total, 0n);
    for (const one of [wallet, second, third]) await one.close();
  });

  it("has a deposit whose notes are void paid back, to the account that it came from", async () => {
    const storage = memoryStorage();
    const wallet = await lone.wallet({ seed: 6, storage });
    const [account, depositor] = [await lone.account(), await lone.account(90n)];
    await carriedWithAFalseProof(6, depositor, 90n);
    const first = await leave(wallet, account, account.address);
    assert.equal(wallet.balance().total, 0n);
    assert.match(first.waitingFor[0]!.what, /^90 of .*it goes back to 0x/);
    const { timestamp } = (await lone.provider.getBlock("latest"))!;
    const from = first.waitingFor[0]!.until!;
    assert.ok(from > timestamp && from <= timestamp + 2 * PROVED_DELAY_SECS);
    await lone.pass(from - timestamp);
    // Restored from its words: it has kept nothing.
    const again = await lone.wallet({ seed: 6 });
    assert.deepEqual((await leave(again, account, account.address)).waitingFor, []);
    assert.equal(await lone.publicBalance(depositor.address), 90n);
    assert.deepEqual((await leave(again, account, account.address)).waitingFor, []);
    for (const one of [wallet, again]) await one.close();
  });

  /** By a robbed signer, refuted at once. */
  async function carriedWithAFalseProof(seed: number, depositor: Account, amount: bigint): Promise<void> {
    const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(seed));
    const home = { chainId: BigInt(lone.anvil.chainId), pool: lone.pool };
    const { statement } = prepareDeposit({
      ...{ home, keys, asset: lone.asset, amount, depositor: asAddress(depositor.address)! },
      fees: { service: undefined, developer: undefined, total: 0n },
      ...{ deadline: 2 ** 39, validAfter: 0, validBefore: 2 ** 40 },
    });
    const proof = `0x${"ff".repeat(128)}`;
    const { deadline, signals, extBytes } = statement;
    const member = attested(
      home,
      lone.keyHashes["deposit-shield"],
      {
        kind: KINDS["deposit-shield"].id,
        deadline,
        signals: [...signals],
        ext: toHex(extBytes),
        proof,
        authorization: "0x",
      },
      [attester(1)],
    );
    const pool = new Contract(lone.pool, POOL_ABI, depositor);
    const token = new Contract(lone.asset, TOKEN_ABI, depositor);
    await sent(token, "approve", lone.pool, amount);
    await sent(pool, "execute", [member], NO_UPDATE);
    const { attestations } = member;
    const shown = { kind: member.kind, deadline, signals, extHash: keccakHex(extBytes), proof, attestations };
    await sent(pool, "refuteStatement", { ...shown, words: Array.from({ length: 8 }, () => 0n) }, 0n, 0n);
  }
  async function sent(contract: Contract, name: string, ...args: unknown[]): Promise<void> {
    await ((await contract.getFunction(name)(...args)) as { wait(): Promise<unknown> }).wait();
  }

  it("has a claim paid in parts as room comes back, beside one of somebody else's", async () => {
    const [strangers, own] = [
      await holding(3, [1_500n], memoryStorage()),
      await holding(4, [1_200n], memoryStorage()),
    ];
    const [account, other, to] = [await lone.account(), await lone.account(), await lone.account()];
    await lone.pass(DAY_SECS);
    const theirs = await (await strangers.withoutService(account)).leave(other.address);
    assert.equal(theirs.claim?.amount, 1_500n);
    let left = await leave(own, account, to.address);
    assert.deepEqual([...left.amounts.values()], [1_200n]);
    node.bend("eth_getLogs", leavingOutOnce(topicOf("ClaimAdded")));
    const reader = await lone.wallet({ seed: 4, rpc: node.url });
    const { owed } = await (await reader.withoutService(account)).payClaims(to.address);
    assert.equal(owed, 1_200n, "a claim's log that a node leaves out once is asked for again");
    for (let parts = 0; left.waitingFor.length > 0; parts++) {
      assert.ok(parts < 15, "it does not end");
      const [{ until, what } = { until: 0, what: "" }] = left.waitingFor;
      assert.match(what, /which the pool owes/);
      const block = await lone.provider.getBlock("latest");
      await lone.pass(until! - block!.timestamp);
      left = await leave(own, account, to.address);
    }
    for (let owes = 1n; owes > 0n;) {
      owes = (await (await strangers.withoutService(account)).payClaims(other.address)).owed;
      await lone.pass(DAY_SECS);
    }
    assert.equal(await lone.publicBalance(other.address), 1_500n);
    assert.equal(await lone.publicBalance(to.address), 1_200n);
    for (const one of [strangers, own, reader]) await one.close();
  });
});

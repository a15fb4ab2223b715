import { Interface, type Wallet as Account } from "ethers";
import assert from "node:assert/strict";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { hasCode } from "../../../shared/client/base/errors.ts";
import {
  memoryStorage,
  type Prover,
  type TransactionSender,
  type Wallet,
  type WithoutService,
} from "../../../shared/client/index.ts";
import { EXECUTED_TOPIC, readExecuted } from "../../../shared/protocol/host/executed-log.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { LonePool, SILENCE_SECS, type LoneWallet } from "../../support/lone-pool.ts";
import { until } from "../../support/until.ts";
import { leavingOutOnce, startBentNode, type BentNode } from "../watch/bent-node.ts";

type Log = { readonly topics: string[]; readonly data: string; readonly blockNumber: string };
type Block = { readonly number: string; readonly hash: string };

const POOL = new Interface(POOL_ABI);
const isExecuted = (log: Log): boolean => readExecuted(log) !== undefined;
const withoutFirst = (logs: Log[]): Log[] => {
  const at = logs.findIndex(isExecuted);
  return logs.filter((_, index) => index !== at);
};

describe("a wallet without its service, and nodes that lie or lag", function () {
  let prover: Prover;
  let lone: LonePool;
  let node: BentNode;
  let account: Account;
  /** What left for the chain: a lie that sends something is not caught. */
  let sent = 0;
  const opened: Wallet[] = [];

  before(async () => {
    prover = await developmentProver();
    lone = await LonePool.start(prover);
    node = await startBentNode(lone.anvil.url);
    account = await lone.account(1_000n);
    const wallet = await lone.wallet();
    const alone = await wallet.withoutService(account);
    await alone.deposit(60n);
    await lone.pass(SILENCE_SECS);
    await alone.advance();
    await alone.pay(wallet.address, 10n);
    await wallet.close();
  });
  afterEach(async () => {
    node.straighten();
    for (const wallet of opened.splice(0)) await wallet.close();
    assert.equal(sent, 0, "something was sent");
  });
  after(async () => {
    await node.close();
    await lone.stop();
    await prover.close();
  });

  const counting: TransactionSender = {
    getAddress: () => Promise.resolve(account.address),
    sendTransaction: () => {
      sent += 1;
      return Promise.reject(new Error("nothing may be sent"));
    },
  };

  async function open(wishes: LoneWallet = {}): Promise<WithoutService> {
    const wallet = await lone.wallet({ rpc: node.url, ...wishes });
    opened.push(wallet);
    return wallet.withoutService(counting);
  }

  async function doubts(alone: WithoutService, words: RegExp): Promise<void> {
    await assert.rejects(alone.withdraw(account.address, 5n), (error: unknown) => {
      assert.ok(hasCode(error, "CHAIN_DOUBTED"), String(error));
      assert.match((error as Error).message, words);
      return true;
    });
  }

  it("reads in pieces as short as the node wants them", async () => {
    let longest = 0;
    node.bend("eth_getLogs", (logs, [range]) => {
      const { fromBlock, toBlock } = range as { fromBlock: string; toBlock: string };
      const span = Number(toBlock) - Number(fromBlock) + 1;
      if (span > 3) throw new Error("block range too large");
      longest = Math.max(longest, span);
      return logs;
    });
    const alone = await open();
    await alone.sync();
    assert.equal(opened[0]!.balance().total, 60n);
    assert.equal(longest, 3);
  });

  it("asks again for a statement that a node leaves out once", async () => {
    node.bend("eth_getLogs", leavingOutOnce(EXECUTED_TOPIC));
    const alone = await open();
    await alone.sync();
    assert.equal(opened[0]!.balance().total, 60n);
  });

  it("waits for no node longer than its caller does", async () => {
    node.bend("eth_getLogs", (logs) => withoutFirst(logs as Log[]));
    const leaving = new AbortController();
    const alone = await open({ chain: { pollMs: 2_000_000_000 } });
    const synced = alone.sync({ signal: leaving.signal });
    await until("a first reading", () => (node.asked.get("eth_getLogs") ?? 0) > 1);
    leaving.abort();
    await assert.rejects(synced, { name: "AbortError" });
  });

  it('a node that does not know the tag "finalized" is asked for blocks that lie deep instead', async () => {
    await lone.provider.send("anvil_mine", ["0x100"]);
    const refusals: ((block: unknown) => unknown)[] = [
      () => null,
      () => {
        throw new Error("invalid argument 0: hex string without 0x prefix");
      },
    ];
    for (const refuse of refusals) {
      node.bend("eth_getBlockByNumber", (block, [tag]) => (tag === "finalized" ? refuse(block) : block));
      const alone = await open({ chain: { finality: "finalized" } });
      await alone.sync();
      assert.equal(opened.at(-1)!.balance().total, 60n);
    }
  });

  it("what is final may be old: the newest block alone says whether a node is up to date", async () => {
    const now = `0x${Math.floor(Date.now() / 1000).toString(16)}`;
    node.bend("eth_getBlockByNumber", (block, [tag]) => ({
      ...(block as Block),
      timestamp: tag === "latest" ? now : "0x65000000",
    }));
    const alone = await open({ chain: { finality: "finalized", maxAgeSecs: 900 } });
    await alone.sync();
  });

  it("does not believe a history with a statement missing", async () => {
    node.bend("eth_getLogs", (logs) => withoutFirst(logs as Log[]));
    await doubts(await open(), /leaves 0 to 2 of a root are missing/);
  });

  it("does not believe one with its end missing", async () => {
    node.bend("eth_getLogs", (logs) => {
      const all = logs as Log[];
      return all.filter((log) => log !== all.findLast(isExecuted));
    });
    await doubts(await open(), /queue has 7 leaves, and its logs 3/);
  });

  it("does not believe another commitment, and keeps nothing of it", async () => {
    // The first commitment's last byte, wherever the event has it.
    node.bend("eth_getLogs", (logs) =>
      (logs as Log[]).map((log) => {
        const [commitment] = readExecuted(log)?.commitments ?? [];
        if (commitment === undefined) return log;
        const text = commitment.toString(16).padStart(64, "0");
        const bent = (commitment ^ 1n).toString(16).padStart(64, "0");
        return { ...log, data: log.data.replace(text, bent) };
      }),
    );
    const alone = await open();
    await doubts(alone, /head of the pool's queue/);
    assert.deepEqual(opened[0]!.notes(), []);
    // The same wallet finds the truth as soon as it is told.
    node.straighten();
    await alone.sync();
    assert.equal(opened[0]!.balance().total, 60n);
  });

  it("does not believe a root that its leaves do not give", async () => {
    const asked = POOL.encodeFunctionData("currentRoot");
    node.bend("eth_call", (answer, [call]) => {
      const text = answer as string;
      if ((call as { data: string }).data !== asked) return text;
      const bent = BigInt(text.slice(0, 66)) ^ 1n;
      return `0x${bent.toString(16).padStart(64, "0")}${text.slice(66)}`;
    });
    await doubts(await open(), /do not give the pool's root/);
  });

  it("does not believe another chain, another pool's circuits, or a place without a pool", async () => {
    node.bend("eth_chainId", () => "0x1");
    await doubts(await open(), /is on chain 1, and not on 31337/);
    node.straighten();
    const other = { spend: `0x${"ab".repeat(32)}` };
    await doubts(await open({ verifyingKeys: other }), /verifies spend by another key/);
    await doubts(await open({ pool: lone.asset }), /no pool of this version answers/);
  });

  it("a head that is behind the one before for a moment is asked for again", async () => {
    const storage = memoryStorage();
    const before = await open({ storage });
    await before.sync();
    await opened.splice(0)[0]!.close();
    const old = await lone.provider.send("eth_getBlockByNumber", ["0x3", false]);
    let times = 1;
    node.bend("eth_getBlockByNumber", (block, [tag]) => (tag === "latest" && times-- > 0 ? old : block));
    await (await open({ storage })).sync();
    assert.equal(opened[0]!.balance().total, 60n);
  });

  it("does not go back to an older head than it has seen", async () => {
    const storage = memoryStorage();
    const before = await open({ storage });
    await before.sync();
    await opened.splice(0)[0]!.close();
    const old = await lone.provider.send("eth_getBlockByNumber", ["0x3", false]);
    node.bend("eth_getBlockByNumber", (block, [tag]) => (tag === "latest" ? old : block));
    await doubts(await open({ storage }), /is older than block \d+, which was read before/);
  });

  it("does not believe a head that stands still", async () => {
    node.bend("eth_getBlockByNumber", (block) => ({ ...(block as Block), timestamp: "0x65000000" }));
    await doubts(await open({ chain: { maxAgeSecs: 900 } }), /s old: it lags, or stands still/);
  });

  it("compares two nodes, and believes neither where they differ", async () => {
    const rpc = [lone.anvil.url, node.url];
    const honest = await open({ rpc });
    await honest.sync();
    assert.equal(opened[0]!.balance().total, 60n);
    node.bend("eth_getLogs", (logs) => withoutFirst(logs as Log[]));
    await doubts(await open({ rpc }), /say different things about the pool's logs/);
    node.straighten();
    node.bend("eth_call", (answer) => `0x${"00".repeat((String(answer).length - 2) / 2)}`);
    await doubts(await open({ rpc }), /say different things about a call/);
    node.straighten();
    node.bend("eth_getBlockByNumber", (block) => ({ ...(block as Block), hash: `0x${"cd".repeat(32)}` }));
    await doubts(await open({ rpc }), /say different things about block/);
  });

  it("asks again where a node fails for a moment, and says so where it does not answer", async () => {
    const alone = await open();
    node.failNext(2);
    await alone.sync();
    assert.equal(opened[0]!.balance().total, 60n);
    const deaf = await lone.wallet({ rpc: "http://127.0.0.1:9" });
    opened.push(deaf);
    await assert.rejects(deaf.sync(), { code: "NODE_UNREACHABLE" });
  });

  it("what is left out later is read again from where the pool agreed last, and nothing wrong stays told", async () => {
    const alone = await open();
    await alone.sync();
    const payer = await lone.account(5n);
    const other = await lone.wallet({ seed: 9 });
    await (await other.withoutService(payer)).deposit(5n);
    await other.close();
    const ranges: number[] = [];
    const leave = leavingOutOnce(EXECUTED_TOPIC);
    node.bend("eth_getLogs", (logs, [range]) => {
      ranges.push(Number((range as { fromBlock: string }).fromBlock));
      return leave(logs, [range]);
    });
    await alone.sync();
    assert.ok(ranges.length > 1 && Math.min(...ranges) > lone.block, String(ranges));
    assert.equal(opened[0]!.balance().total, 60n);
  });
});

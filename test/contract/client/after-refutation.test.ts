import { Contract, Interface } from "ethers";
import assert from "node:assert/strict";
import {
  attester,
  NO_UPDATE,
  sealUpdate,
  type PoolRootUpdate,
} from "../../../scripts/stack/pool-transaction.ts";
import { readExecuted } from "../../../shared/protocol/host/executed-log.ts";
import type { Prover } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { NoteTree } from "../../../shared/notes/merkle.ts";
import { ZERO_BYTES32, type Field } from "../../../shared/protocol/brands.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import { nextHead } from "../../../shared/protocol/tree.ts";
import { drawField, seal, spendDraft, type Sealed, type Setting } from "../../support/drafts.ts";
import { LonePool, PROVED_DELAY_SECS } from "../../support/lone-pool.ts";

const LIAR = attester(1);
const EMPTY_ROOT = new NoteTree().root();

describe("a wallet without its service, after a signer lied and was refuted", function () {
  let prover: Prover;
  let lone: LonePool;
  before(async () => {
    prover = await developmentProver();
    lone = await LonePool.start(prover);
  });
  after(async () => {
    await lone.stop();
    await prover.close();
  });

  const interfaceOf = new Interface(POOL_ABI);
  async function send(name: string, args: readonly unknown[]): Promise<void> {
    const contract = new Contract(lone.pool, POOL_ABI, await lone.provider.getSigner(0));
    const sent = (await contract.getFunction(name)(...args, { gasLimit: 12_000_000n })) as {
      wait(): Promise<unknown>;
    };
    await sent.wait();
  }

  /** Commitments as they were queued. */
  async function queued(): Promise<Field[]> {
    const logs = await lone.provider.getLogs({ address: lone.pool, fromBlock: lone.block });
    return logs.flatMap((log) => readExecuted(log)?.commitments ?? []);
  }

  /** Of the first so many leaves, by the liar's word. */
  async function rootUpdate(): Promise<PoolRootUpdate> {
    const leaves = await queued();
    const tree = new NoteTree();
    let head = ZERO_BYTES32;
    for (const leaf of leaves) {
      tree.append(leaf);
      head = nextHead(head, leaf);
    }
    const home = { chainId: BigInt(lone.anvil.chainId), pool: lone.pool };
    const places = { fromIndex: 0n, toIndex: BigInt(leaves.length) };
    const heads = { headBefore: ZERO_BYTES32, headAfter: head };
    return sealUpdate(home, { oldRoot: EMPTY_ROOT, newRoot: tree.root(), ...places, ...heads }, [LIAR]);
  }

  /** A transfer out of nothing that also spends a note of somebody's. */
  async function forged(nullifier: Field): Promise<Sealed> {
    const block = await lone.provider.getBlock("latest");
    const setting: Setting = {
      home: { chainId: BigInt(lone.anvil.chainId), pool: lone.pool },
      deadline: BigInt(block!.timestamp + 600),
      verifyingKeyHashes: lone.keyHashes,
      attesters: [LIAR],
    };
    const draft = spendDraft(setting, EMPTY_ROOT, undefined);
    return seal({ ...draft, nullifiers: [nullifier, ...draft.nullifiers.slice(1)] });
  }

  async function refute({ transaction, draft }: Sealed, update: PoolRootUpdate): Promise<void> {
    const { kind, deadline, signals, proof, attestations } = transaction;
    const words = Array.from({ length: 8 }, () => 1n);
    const extHash = keccakHex(draft.ext);
    const statement = { kind, deadline, signals, extHash, proof, words, attestations };
    await send("refuteStatement", [statement, EMPTY_ROOT, update.newRoot]);
  }

  it("counts void leaves as empty and their nullifiers as unspent, extends the tree at once, and leaves", async () => {
    const account = await lone.account(100n);
    const wallet = await lone.wallet();
    const alone = await wallet.withoutService(account);
    await alone.deposit(80n);
    const [note] = wallet.notes();
    const lie = await forged(note!.nullifier);
    await send("execute", [[lie.transaction], NO_UPDATE]);
    const update = await rootUpdate();
    await send("execute", [[], update]);
    await alone.deposit(20n);
    // The wallet believes the pool: nobody has refuted anything yet.
    assert.deepEqual([wallet.balance().total, wallet.balance().pending], [20n, 20n]);

    await refute(lie, update);
    const voided = await lone.provider.getLogs({
      address: lone.pool,
      fromBlock: lone.block,
      topics: [interfaceOf.getEvent("LeavesVoided")!.topicHash],
    });
    assert.equal(voided.length, 1);

    await alone.sync();
    assert.deepEqual([wallet.balance().total, wallet.balance().pending], [100n, 100n]);
    await assert.rejects(alone.withdraw(account.address, 80n), {
      code: "NOTES_YOUNG",
      usableFrom: undefined,
    });

    // No six hours: void leaves wait.
    assert.equal((await alone.advance())?.leafCount, 10);
    const anew = await lone.wallet();
    await anew.sync();
    assert.deepEqual(
      anew.notes().map(({ leafIndex, value, spent }) => ({ leafIndex, value, spent })),
      wallet.notes().map(({ leafIndex, value, spent }) => ({ leafIndex, value, spent })),
    );
    await lone.pass(PROVED_DELAY_SECS);
    const out = await alone.leave(account.address);
    assert.equal(out.amount, 100n);
    assert.equal(await lone.publicBalance(account.address), 100n);
    assert.equal(await lone.publicBalance(lone.pool), 0n);
    await wallet.close();
    await anew.close();
  });

  it("brings back what it paid on the liar's root: the payee's note and the change, and nothing moves twice", async () => {
    const liar = await LonePool.start(prover);
    const others = lone;
    lone = liar;
    try {
      const account = await lone.account(100n);
      const [wallet, payee] = [await lone.wallet({ seed: 3 }), await lone.wallet({ seed: 4 })];
      const alone = await wallet.withoutService(account);
      await alone.deposit(80n);
      await send("execute", [[(await forged(drawField())).transaction], NO_UPDATE]);
      const lie = await forged(drawField());
      await send("execute", [[lie.transaction], NO_UPDATE]);
      const update = await rootUpdate();
      await send("execute", [[], update]);
      await lone.pass(PROVED_DELAY_SECS);
      await alone.pay(payee.address, 30n);
      await alone.sync();
      assert.equal(wallet.balance().total, 50n);

      await refute(lie, update);
      assert.equal((await alone.advance())?.leafCount, 15);
      await alone.sync();
      assert.deepEqual([wallet.balance().total, wallet.activity()[0]!.state], [0n, "suspended"]);
      await payee.sync();
      assert.equal(payee.balance().total, 0n);
      assert.deepEqual(await alone.bringBack(), { transactionHashes: [], left: 1 });

      await lone.pass(PROVED_DELAY_SECS);
      const back = await alone.bringBack();
      assert.deepEqual([back.transactionHashes.length, back.left], [1, 0]);
      await payee.sync();
      assert.deepEqual([wallet.balance().total, payee.balance().total], [50n, 30n]);
      assert.equal(wallet.activity()[0]!.state, "done");
      assert.deepEqual(await alone.bringBack(), { transactionHashes: [], left: 0 });
      assert.equal(await lone.publicBalance(lone.pool), 80n);
      await wallet.close();
      await payee.close();
    } finally {
      lone = others;
      await liar.stop();
    }
  });
});

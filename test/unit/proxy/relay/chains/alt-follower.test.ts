// The other blockchain as a process of its own, and the follower of it.
import assert from "node:assert/strict";
import {
  appendTransactionMessageInstruction,
  createTransactionMessage,
  generateKeyPairSigner,
  getBase64EncodedWireTransaction,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from "@solana/kit";
import { getTransferInstruction } from "@solana-program/token";
import { Terms } from "../../../../../proxy/api/bridge/terms.ts";
import { sentTo } from "../../../../../proxy/base/bridge/unseen-status.ts";
import { AltFollower } from "../../../../../proxy/relay/chains/alt-follower.ts";
import { altKeyOf, spellAlt } from "../../../../../proxy/relay/chains/alt-keys.ts";
import { Ledger } from "../../../../../proxy/relay/chains/ledger.ts";
import { Watched } from "../../../../../proxy/relay/chains/watched.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { burnTransaction } from "../../../../../shared/altchain/burn.ts";
import type { AltchainNode } from "../../../../../shared/altchain/node.ts";
import { recentBlock, sendTransaction } from "../../../../../shared/altchain/sending.ts";
import { payForBurn, signBurn, type AltchainKey } from "../../../../../shared/altchain/signing.ts";
import { parseAltchainAddress, tokenAccountOf } from "../../../../../shared/altchain/token.ts";
import {
  altchainKey,
  expectedBurn,
  HOME_DOMAIN,
  RECIPIENT,
  startTestAltchain,
  type TestAltchain,
} from "../../../../support/altchain.ts";
import {
  BRIDGE_POOL,
  bridgeDraft,
  bridgeSettings,
  madeAddress,
  madeReceiver,
} from "../../../../support/bridges.ts";

const AMOUNT = 5_000_000n;

describe("relay on the other blockchain", function () {
  let chain: TestAltchain;
  let service: AltchainKey;
  let made = 0;
  before(async () => {
    chain = await startTestAltchain();
    service = await altchainKey("service");
    await chain.node.requestAirdrop(service.address, lamports(1_000_000_000n)).send();
    await slots(1);
  });
  after(() => chain.stop());

  const slots = (count: number) => chain.develop("slots", { count });

  interface Deposit {
    readonly key: AltchainKey;
    readonly account: string;
  }
  async function depositKey(): Promise<Deposit> {
    const key = await altchainKey(`watched ${String((made += 1))}`);
    return { key, account: await tokenAccountOf(key.address, chain.token.mint) };
  }
  const pay = (to: string, amount: bigint) => chain.develop("mint", { to, amount: String(amount) });

  /** To a token account as it is named: nothing is derived of it. */
  async function transfer(to: string, amount: bigint): Promise<void> {
    const payer = await generateKeyPairSigner();
    await chain.node.requestAirdrop(payer.address, lamports(1_000_000_000n)).send();
    await pay(payer.address, amount);
    await slots(1);
    const source = await tokenAccountOf(payer.address, chain.token.mint);
    const order = { source, destination: parseAltchainAddress(to), authority: payer, amount };
    const { value } = await chain.node.getLatestBlockhash({ commitment: "confirmed" }).send();
    const message = pipe(
      createTransactionMessage({ version: "legacy" }),
      (draft) => setTransactionMessageFeePayerSigner(payer, draft),
      (draft) => setTransactionMessageLifetimeUsingBlockhash(value, draft),
      (draft) => appendTransactionMessageInstruction(getTransferInstruction(order), draft),
    );
    const signed = await signTransactionMessageWithSigners(message);
    await sendTransaction(chain.node, getBase64EncodedWireTransaction(signed));
  }

  async function burn({ key }: Deposit, amount: bigint): Promise<void> {
    const { blockhash } = await recentBlock(chain.node);
    const order = { domain: HOME_DOMAIN, recipient: RECIPIENT, maxFee: 20_000n, finality: 2000 };
    const terms = {
      ...order,
      token: chain.token,
      owner: key.address,
      amount,
      feePayer: service.address,
      blockhash,
    };
    const expected = expectedBurn(chain.token, key);
    const signed = await signBurn(await burnTransaction(terms), expected, key);
    await sendTransaction(chain.node, await payForBurn(signed, expected, service));
  }

  function following(node: AltchainNode = chain.node) {
    const watched: Watched = new Watched();
    const ledger: Ledger = new Ledger({
      confirmations: 1,
      isKept: (key, event) => watched.keeps("alt", key, event),
      onChange: () => undefined,
    });
    const follower = new AltFollower(
      { name: "altchain", node, token: chain.token, domain: 5, commitment: "confirmed", pollIntervalMs: 20 },
      watched,
      ledger,
      createLogger("silent"),
    );
    const watch = ({ key, account }: Deposit, since = 0): void =>
      void watched.add({
        ...{ bridgeId: account, madeAt: 0, since: { altchain: since } },
        keys: [key.address, account].map((one) => ({ key: altKeyOf(one), where: "alt" })),
      });
    const said = ({ key, account }: Deposit): string =>
      JSON.stringify(
        [account, key.address].map((one) => ledger.entriesOf(altKeyOf(one))),
        (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value),
        1,
      );
    const kinds = ({ account, key }: Deposit): string[] => [
      ...ledger.entriesOf(altKeyOf(account)).map(({ event }) => event.kind),
      ...ledger.entriesOf(altKeyOf(key.address)).map(({ event }) => event.kind),
    ];
    return { follower, ledger, watch, said, kinds };
  }

  async function assertRebuilt(on: ReturnType<typeof following>, deposit: Deposit): Promise<void> {
    await on.follower.passing.sync();
    const again = following();
    again.watch(deposit);
    await again.follower.passing.sync();
    assert.equal(again.said(deposit), on.said(deposit));
  }

  it("sees deposits and the burn, and finds the same again from the chain alone", async () => {
    const on = following();
    const deposit = await depositKey();
    on.watch(deposit);
    await on.follower.passing.sync();
    await pay(deposit.key.address, AMOUNT);
    await pay(deposit.key.address, 7n);
    await pay((await depositKey()).key.address, AMOUNT);
    await slots(3);
    await on.follower.passing.sync();
    assert.deepEqual(on.kinds(deposit), ["moved", "moved"]);
    await assertRebuilt(on, deposit);

    await burn(deposit, AMOUNT + 7n);
    await slots(3);
    await on.follower.passing.sync();
    assert.deepEqual(on.kinds(deposit), ["moved", "moved", "moved", "left", "burned"]);
    const [burned] = on.ledger.entriesOf(altKeyOf(deposit.key.address));
    assert.deepEqual(burned!.event, {
      kind: "burned",
      burn: {
        ...{ sourceDomain: 5, destinationDomain: HOME_DOMAIN, recipient: RECIPIENT, amount: AMOUNT + 7n },
        ...{ maxFee: 20_000n, burner: altKeyOf(deposit.key.address) },
      },
      minFinality: 2_000,
      message: undefined,
    });
    await assertRebuilt(on, deposit);
  });

  it("sees what is paid to the address that is shown, as wallets pay an owner, and what is sent to its account", async () => {
    const on = following();
    const deposit = await depositKey();
    on.watch(deposit);
    const { mint } = chain.token;
    const terms = new Terms(bridgeSettings(), BRIDGE_POOL);
    const planned = await terms.fromAltchain(mint, madeReceiver(1), deposit.key.address, madeAddress(1));
    const record = { ...bridgeDraft(1, {}), ...(planned ?? assert.fail("no address")) };
    // Whatever is given to them they take for an owner, and derive the account of it.
    await pay(sentTo(record), AMOUNT);
    await slots(1);
    await transfer(record.way.kind === "from-altchain" ? record.way.tokenAccount : "", 7n);
    await slots(3);
    await on.follower.passing.sync();
    const events = on.ledger.entriesOf(altKeyOf(deposit.account)).map(({ event }) => event);
    assert.deepEqual(
      events.map((event) => event.kind === "moved" && event.amount),
      [AMOUNT, 7n],
    );
  });

  it("takes back what a reorganisation takes back", async () => {
    const on = following();
    const deposit = await depositKey();
    on.watch(deposit);
    await on.follower.passing.sync();
    await pay(deposit.key.address, AMOUNT);
    await slots(2);
    await on.follower.passing.sync();
    assert.deepEqual(on.kinds(deposit), ["moved"]);
    await chain.develop("reorganise", { slots: 3 });
    await slots(4);
    await assertRebuilt(on, deposit);
    assert.deepEqual(on.kinds(deposit), []);
    await pay(deposit.key.address, AMOUNT);
    await slots(2);
    await assertRebuilt(on, deposit);
    assert.deepEqual(on.kinds(deposit), ["moved"]);
  });

  it("leaves a branch that was taken back also while it has to look back for a new address", async () => {
    const on = following();
    await slots(2);
    await on.follower.passing.sync();
    await chain.develop("reorganise", { slots: 2 });
    const deposit = await depositKey();
    on.watch(deposit);
    await pay(deposit.key.address, AMOUNT);
    await slots(2);
    await on.follower.passing.sync();
    assert.equal(on.follower.isWaiting(deposit.account), false);
    assert.deepEqual(on.kinds(deposit), ["moved"]);
  });

  it("keeps what it read of the past where the node fails at one of its questions", async () => {
    const deposit = await depositKey();
    for (let i = 0; i < 5; i++) {
      await pay(deposit.key.address, AMOUNT);
      await slots(1);
    }
    let asked = 0;
    const failing = new Proxy(chain.node, {
      get(node, name, self) {
        if (name === "getTransaction" && ++asked % 4 === 0) throw new Error("the node is busy");
        return Reflect.get(node, name, self) as unknown;
      },
    });
    const on = following(failing);
    on.watch(deposit);
    for (let i = 0; i < 5; i++) await on.follower.passing.sync().catch(() => undefined);
    assert.deepEqual(on.kinds(deposit), ["moved", "moved", "moved", "moved", "moved"]);
    assert.ok(asked > 5);
  });

  it("goes on after the node has crashed and come back", async () => {
    const on = following();
    const deposit = await depositKey();
    on.watch(deposit);
    await on.follower.passing.sync();
    await pay(deposit.key.address, AMOUNT);
    await slots(2);
    await chain.crash();
    await slots(2);
    await assertRebuilt(on, deposit);
    assert.deepEqual(on.kinds(deposit), ["moved"]);
  });

  it("finds money that a node left out of its block, by what the account holds", async () => {
    let leavesOut = true;
    const bent = new Proxy(chain.node, {
      get(node, name, self) {
        const found = Reflect.get(node, name, self) as unknown;
        if (name !== "getBlock" || !leavesOut) return found;
        return (...asked: Parameters<typeof node.getBlock>) => ({
          send: async () => ({ ...(await node.getBlock(...asked).send()), transactions: [] }),
        });
      },
    });
    const on = following(bent);
    const [deposit, other] = [await depositKey(), await depositKey()];
    for (const one of [deposit, other]) on.watch(one);
    await on.follower.passing.sync();
    await pay(deposit.key.address, AMOUNT);
    await slots(2);
    await on.follower.passing.sync();
    leavesOut = false;
    assert.deepEqual(on.kinds(deposit), []);
    for (let i = 0; i < 3; i++) {
      await slots(1);
      await on.follower.passing.sync();
    }
    assert.deepEqual(on.kinds(deposit), ["moved"]);
    await assertRebuilt(on, deposit);
    assert.deepEqual(on.kinds(other), []);
  });

  it("asks as often for a thousand addresses as for one", async () => {
    const calls = async (count: number): Promise<number> => {
      let asked = 0;
      const counting = new Proxy(chain.node, {
        get: (node, name, self) => {
          asked += 1;
          return Reflect.get(node, name, self) as unknown;
        },
      });
      const on = following(counting);
      const paid = await depositKey();
      on.watch(paid);
      for (let i = 1; i < count; i++) {
        const [key, account] = [paid.key, altAddress(i)];
        on.watch({ key, account });
      }
      await on.follower.passing.sync();
      const before = asked;
      await pay(paid.key.address, AMOUNT);
      await slots(5);
      await on.follower.passing.sync();
      assert.deepEqual(on.kinds(paid), ["moved"]);
      return asked - before;
    };
    const one = await calls(1);
    assert.ok(one <= 5 * 2 + 3, String(one));
    assert.equal(await calls(1_000), one);
  });
});

/** 32 bytes that are nobody's. */
function altAddress(n: number): string {
  return spellAlt(`0x${(n + 1).toString(16).padStart(64, "7")}`);
}

/**
 * P7 and P9, swaps. The pool alone says what a swap brought, and the service is who tells the wallet. It can lie
 * about that note or hide it: the wallet counts nothing that it could not spend, and finds the true note from
 * whoever tells the truth. Nor can the service take more of a swap than the client's pins allow.
 */
import assert from "node:assert/strict";
import type { FeeRules } from "../../shared/api/credentials.ts";
import type { StreamEvent } from "../../shared/api/data.ts";
import { SEQUENCE_BODIES } from "../../shared/api/transactions.ts";
import { encodeUniswapPath, decodeUniswapPath } from "../../shared/api/uniswap-path.ts";
import {
  createClient,
  createWallet,
  memoryStorage,
  type Pins,
  type Wallet,
} from "../../shared/client/index.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { commitmentOf, npkOf } from "../../shared/notes/note.ts";
import { FIELD_ORDER, ZERO_ADDRESS } from "../../shared/protocol/brands.ts";
import { parseField } from "../../shared/protocol/host/text.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import { parseSnarkjsProof } from "../../shared/protocol/host/proofs.ts";
import { checkStatement } from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";
import {
  freshAddress,
  freshKeys,
  mustAddress,
  restoreFrom,
  type Battlefield,
  type Signed,
} from "../support/adversary.ts";
import { Bazaar, DOLLAR, notesOf } from "../support/swaps.ts";
import { LyingService, PREFIX, type Lies } from "./lying-service.ts";
import { readSealed, sealNote } from "../support/sealed-notes.ts";

type LeafEvent = Extract<StreamEvent, { kind: "leaf" }>;
type Leaf = LeafEvent["data"];

const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;
const FEE_BPS = 15;

describe("P9 a wallet believes of a swap what its leaf bears out", function () {
  this.timeout(600_000);
  let bazaar: Bazaar;
  let field: Battlefield;
  let service: LyingService;
  const seed = new Uint8Array(32).fill(12);
  const keys = SpendingKey.fromSeed(seed);
  const sink = freshKeys().viewing.addressText(PREFIX);
  const thiefsSink = freshKeys().viewing.addressText(PREFIX);
  let swap: Signed;
  let promised: bigint;
  /** Of the bought note. */
  let place: number;

  before(async () => {
    bazaar = await Bazaar.open();
    ({ field } = bazaar);
    service = await LyingService.start(field, sink);
    await field.settle(await field.deposit(keys, 100n * DOLLAR));
    const wallet = await field.restore(keys);
    const { usdc, twoHops: path, token: tokenOut } = bazaar;
    promised = await bazaar.quote(usdc, path, tokenOut, 60n * DOLLAR);
    const terms = { notes: wallet.notes, sharesIn: 60n * DOLLAR, tokenOut, floor: promised, path };
    swap = await bazaar.swap(wallet, terms);
    await bazaar.settle(swap);
    place = notesOf(await field.restore(keys), tokenOut)[0]!.leafIndex;
  });
  after(async () => {
    await service.stop();
    await bazaar.stop();
  });
  beforeEach(() => {
    service.lies = offered();
    service.payments.length = 0;
  });

  const rule = (part: FeeRules["service"], developer: FeeRules["service"] = null): FeeRules => ({
    ...{ asset: bazaar.usdc, operation: "swap", service: part, developer },
    valid_until: "2100-01-01T00:00:00Z",
  });
  const honestPart = { flat: "0", bps: FEE_BPS, sink, enforced: true };

  /** A service that offers swaps, and all three tokens; for the rest as `more` says. */
  function offered(more: Lies = {}, ...fees: FeeRules[]): Lies {
    const others = [bazaar.weth, bazaar.token].map((address) => ({ address, symbol: "T", decimals: 18 }));
    return {
      info: (truth) => ({
        ...truth,
        assets: [...truth.assets, ...others],
        features: { ...truth.features, swaps: true },
      }),
      whoami: (truth) => ({
        ...truth,
        fees: [...truth.fees, ...(fees.length > 0 ? fees : [rule(honestPart)])],
      }),
      ...more,
    };
  }

  function open(changes: Partial<Pins> = {}, storage = memoryStorage()): Promise<Wallet> {
    const pins: Pins = {
      ...{ chainId: Number(field.home.chainId), pool: field.home.pool, addressPrefix: PREFIX },
      enclaves: "unverified",
      assets: [bazaar.usdc, bazaar.weth, bazaar.token],
      feeCeiling: { swap: { flat: 0n, bps: FEE_BPS } },
      feeSinks: [sink],
      ...changes,
    };
    const client = createClient({ baseUrl: service.baseUrl, credential: { apiKey: "k" }, tries: 1 });
    return createWallet({ key: { seed }, client, storage, prover: field.prover, pins });
  }

  const lying =
    (change: (data: Leaf) => Leaf) =>
    (truth: readonly StreamEvent[]): StreamEvent[] =>
      truth.map((event) => (event.kind === "leaf" ? { ...event, data: change(event.data) } : event));
  /** About the bought note only. */
  const about = (part: Partial<Leaf>): NonNullable<Lies["events"]> =>
    lying((data) => (data.index === place ? { ...data, ...part } : data));
  const hidden = lying((data) => {
    const { npk: _npk, asset: _asset, value: _value, ...rest } = data;
    return rest;
  });

  async function balances(lies: Lies): Promise<bigint[]> {
    service.lies = lies;
    const wallet = await open();
    await wallet.sync();
    const found = [bazaar.usdc, bazaar.weth, bazaar.token].map((asset) => wallet.balance(asset).total);
    await wallet.close();
    return found;
  }

  it("P9 what an honest service tells is counted, and is the pool's", async () => {
    assert.deepEqual(await balances(offered()), [40n * DOLLAR, 0n, promised]);
    assert.equal(await bazaar.balance(bazaar.token, field.home.pool), promised);
  });

  it("P9 another npk, asset or value, more or less or none, and parts left out: never counted", async () => {
    const strangers = toHex(word(npkOf(freshKeys().owner, 5n as never)));
    for (const part of [
      { npk: strangers },
      { asset: bazaar.weth },
      { asset: bazaar.usdc },
      { asset: ZERO_ADDRESS },
      { value: String(promised + 1n) },
      { value: String(promised - 1n) },
      { value: "0" },
      { value: String(2n ** 128n - 1n) },
      { npk: strangers, asset: bazaar.usdc, value: String(1_000_000n * DOLLAR) },
      { npk: undefined },
      { asset: undefined },
      { value: undefined },
    ] as Partial<Leaf>[]) {
      const found = await balances(offered({ events: about(part) }));
      assert.deepEqual(found, [40n * DOLLAR, 0n, 0n], JSON.stringify(part));
    }
  });

  it("P9 the same value spelled so that the hash is the same (v + r), or no number: the stream is refused", async () => {
    for (const value of [String(promised + FIELD_ORDER), `0${String(promised)}`, "1e30", "-1"]) {
      service.lies = offered({ events: about({ value }) });
      const wallet = await open();
      await assert.rejects(wallet.sync(), refusal("UNEXPECTED_ANSWER"));
      assert.equal(wallet.balance(bazaar.token).total, 0n);
      await wallet.close();
    }
  });

  it("P9 a bought note promised on another leaf of the swap, or of a deposit", async () => {
    const truth = await field.events();
    const bought = truth.find(
      (event): event is LeafEvent => event.kind === "leaf" && event.data.index === place,
    )!;
    const { npk, asset, value, ephemeral_key, output, ciphertext } = bought.data;
    const promise = { npk, asset, value, ephemeral_key, output, ciphertext } as Partial<Leaf>;
    // On a fee's place, where nothing of ours is: counted once, where it is.
    const dummy = lying((data) => (data.index === place - 1 ? { ...data, ...promise } : data));
    assert.deepEqual(await balances(offered({ events: dummy })), [40n * DOLLAR, 0n, promised]);
    // On the change: that is then not found, and nothing is found in its place.
    const change = lying((data) => (data.index === place - 3 ? { ...data, ...promise } : data));
    assert.deepEqual(await balances(offered({ events: change })), [0n, 0n, promised]);
  });

  it("P9 a bought note invented to fit, beside the pool's root, contradicts the leaves", async () => {
    const { note, told } = sealNote(keys.viewing.address, bazaar.token, 0n);
    const npk = npkOf(keys.owner, note.blinding);
    const value = 10n ** 24n;
    const invented = {
      ...{ npk: toHex(word(npk)), asset: bazaar.token, value: String(value) },
      commitment: toHex(word(commitmentOf(npk, bazaar.token, value))),
      ...told,
    };
    service.lies = offered({ events: about(invented) });
    const wallet = await open();
    await assert.rejects(wallet.sync(), refusal("STREAM_INCONSISTENT"));
    await wallet.close();
  });

  it("P7 a bought note that was hidden from a wallet's storage is found by a rescan, and not before", async () => {
    const storage = memoryStorage();
    service.lies = offered({ events: hidden });
    const misled = await open({}, storage);
    await misled.sync();
    await misled.close();

    service.lies = offered();
    const wallet = await open({}, storage);
    await wallet.sync();
    assert.equal(wallet.balance(bazaar.token).total, 0n);
    await wallet.rescan();
    assert.equal(wallet.balance(bazaar.token).total, promised);
    assert.equal(wallet.balance(bazaar.usdc).total, 40n * DOLLAR);
    await wallet.close();
  });

  it("P7 a bought note that was hidden is found from the key by the chain or any honest service, and it pays", async () => {
    assert.deepEqual(await balances(offered({ events: hidden })), [40n * DOLLAR, 0n, 0n]);
    assert.deepEqual(await balances(offered()), [40n * DOLLAR, 0n, promised]);
    const restored = restoreFrom(SpendingKey.fromSeed(seed), await field.events());
    const notes = notesOf(restored, bazaar.token);
    const out = freshAddress();
    const payment = { type: "withdraw", recipient: out, value: promised } as const;
    await bazaar.undone(async () => {
      await bazaar.settle(await bazaar.pay(restored, { notes, asset: bazaar.token, payment }));
      assert.equal(await bazaar.balance(bazaar.token, out), promised);
    });
  });

  const order = () => ({
    ...{ tokenIn: bazaar.usdc, tokenOut: bazaar.token, amount: 20n * DOLLAR, floor: 7n },
    path: encodeUniswapPath({ tokenIn: bazaar.usdc, path: bazaar.twoHops, tokenOut: bazaar.token }),
  });

  it("P9 fees of a swap above the ceiling, to a foreign sink, or for a service that offers none: nothing leaves", async () => {
    const attempts: [Lies, string][] = [
      [offered({}, rule({ ...honestPart, bps: FEE_BPS + 1 })), "FEE_ABOVE_CEILING"],
      [offered({}, rule({ ...honestPart, flat: "1" })), "FEE_ABOVE_CEILING"],
      [offered({}, rule(honestPart, { ...honestPart, bps: 1 })), "FEE_ABOVE_CEILING"],
      [offered({}, rule({ ...honestPart, sink: thiefsSink })), "PIN_MISMATCH"],
      [offered({}, rule(null, { ...honestPart, sink: thiefsSink })), "PIN_MISMATCH"],
      [{}, "PIN_MISMATCH"],
    ];
    const swapsOff = offered();
    const offer = swapsOff.info!;
    attempts.push([
      { ...swapsOff, info: (truth) => ({ ...offer(truth), features: truth.features }) },
      "FEATURE_OFF",
    ]);
    for (const [lies, code] of attempts) {
      service.lies = lies;
      const wallet = await open();
      await assert.rejects(wallet.swap(order()), refusal(code));
      await wallet.close();
    }
    assert.deepEqual(service.payments, []);
  });

  it("P9 another token than a pinned one, or a path with other ends, is nothing the wallet asks for", async () => {
    const wallet = await open({ assets: [bazaar.usdc] });
    await assert.rejects(wallet.swap(order()), refusal("PIN_MISMATCH"));
    await wallet.close();
    const other = await open();
    const path = encodeUniswapPath({ tokenIn: bazaar.usdc, path: bazaar.oneHop, tokenOut: bazaar.weth });
    await assert.rejects(other.swap({ ...order(), path }), refusal("PATH_INVALID"));
    await other.close();
    assert.deepEqual(service.payments, []);
  });

  it("P9 what leaves the device binds token, floor, path, amount and whose the bought note is, and no secret is in it", async () => {
    const wallet = await open();
    await assert.rejects(wallet.swap(order()), refusal("PROOF_INVALID"));
    await wallet.close();
    assert.equal(service.payments.length, 1);
    const sent = SEQUENCE_BODIES["private-swap"].parse(service.payments[0]);
    const { statement } = carriedFrom(service.payments[0]);
    const { ext } = statement;
    assert.ok(ext.kind === "private-swap");
    const fee = (20n * DOLLAR * BigInt(FEE_BPS)) / 10_000n;
    assert.equal(statement.facts.amount, 20n * DOLLAR - fee);
    assert.equal(statement.facts.asset, BigInt(bazaar.usdc));
    assert.deepEqual([ext.tokenOut, ext.minAmountOut, ext.path], [bazaar.token, 7n, bazaar.twoHops]);
    assert.deepEqual(
      sent.fees.map(({ value }) => value),
      [String(fee)],
    );
    const text = JSON.stringify(sent);
    for (const secret of [keys.scalar(), keys.viewing.nullifierKey, keys.owner, BigInt(toHex(seed))]) {
      assert.ok(!text.includes(String(secret)) && !text.toLowerCase().includes(secret.toString(16)));
    }
  });

  it("P11 a swap that the service refuses, and carries all the same, is made once", async () => {
    const wallet = await open();
    await assert.rejects(wallet.swap(order()), refusal("PROOF_INVALID"));
    // Newer notes, of which two would do.
    await field.settle(await field.deposit(keys, 15n * DOLLAR), await field.deposit(keys, 16n * DOLLAR));
    await assert.rejects(wallet.swap(order()), refusal("PROOF_INVALID"));
    assert.equal(service.payments.length, 2);
    const [first, again] = service.payments.map(carriedFrom);
    for (const [one, other] of [
      [first!, again!],
      [again!, first!],
    ]) {
      await bazaar.undone(async () => {
        assert.equal(await field.executeOne(await field.transaction(one!)), "executed");
        assert.equal(await field.executeOne(await field.transaction(other!)), "NullifierSpent");
      });
    }
    assert.equal(await field.executeOne(await field.transaction(first!)), "executed");
    await bazaar.bringRoot();
    await assert.rejects(wallet.swap(order()), refusal("EXECUTED_AFTER_REFUSAL"));
    assert.equal(service.payments.length, 2);
    await wallet.close();
  });

  /** What a service has in hand when a client sent it a swap. */
  function carriedFrom(payment: unknown): Signed {
    const sent = SEQUENCE_BODIES["private-swap"].parse(payment);
    const route = decodeUniswapPath(sent.ext.path);
    assert.ok(typeof route !== "string");
    const ext = encodeExt({
      ...{ kind: "private-swap", tokenOut: mustAddress(sent.ext.token_out) },
      ...{
        minAmountOut: BigInt(sent.ext.min_amount_out),
        npkOut: BigInt(sent.ext.npk_out),
        path: route.path,
      },
      ...readSealed(sent.ext),
    });
    const signals = sent.public_signals.map((signal) => parseField(signal)!);
    const statement = checkStatement(field.home, "private-swap", BigInt(sent.deadline), signals, ext);
    assert.ok(typeof statement !== "string");
    return { statement, proof: parseSnarkjsProof(sent.proof)!, authorization: "0x" };
  }
});

import assert from "node:assert/strict";
import { Wallet as Account } from "ethers";
import type { BridgeAddress } from "../../../shared/api/bridges.ts";
import { checksumAddress } from "../../../shared/api/checksum.ts";
import { memoryStorage, type Wallet } from "../../../shared/client/index.ts";
import { DepositKey } from "../../../shared/notes/bridge-keys.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { paddedAddress } from "../../../shared/protocol/host/forwarders.ts";
import { burnTransaction } from "../../../shared/altchain/burn.ts";
import { checkSignedBurn, keyFromSeed } from "../../../shared/altchain/signing.ts";
import { parseAltchainAddress, tokenAccountOf } from "../../../shared/altchain/token.ts";
import {
  ACCOUNT,
  BRIDGE_PINS,
  CEILING,
  FACTORY,
  MINIMUM,
  MINT,
  OTHER,
  REFUND,
  type Deal,
} from "./bridge-desk.ts";
import { USDC } from "./chain.ts";
import type { TestService } from "./service.ts";
import { give, refusal } from "./stand-in.ts";
import { until } from "../../support/until.ts";
import { startWallets, type OpenWallet, type WalletWishes } from "./wallets.ts";

const other = checksumAddress(OTHER);
const word = `0x${"77".repeat(32)}`;
const refund = { refundAddress: REFUND };

describe("bridges of a wallet", function () {
  let service: TestService;
  let openWallet: OpenWallet;
  const wallets: Wallet[] = [];
  beforeEach(async () => {
    ({ service, open: openWallet } = await startWallets());
    service.features.bridges = true;
    const accounts = new Map<string, string>();
    for (const key of [1, 2])
      for (let index = 0; index < 3; index++) {
        const owner = new DepositKey(SpendingKey.fromSeed(new Uint8Array(32).fill(key)), index).text;
        const mint = parseAltchainAddress(MINT);
        accounts.set(owner, await tokenAccountOf(parseAltchainAddress(owner), mint));
      }
    service.bridges.tokenAccount = (owner) => accounts.get(owner)!;
  });
  afterEach(async () => {
    for (const wallet of wallets.splice(0)) await wallet.close();
    await service.close();
  });

  const open = async ({ pins = {}, ...wishes }: WalletWishes = {}): Promise<Wallet> => {
    const wallet = await openWallet({ ...wishes, pins: { bridges: BRIDGE_PINS, ...pins } });
    wallets.push(wallet);
    return wallet;
  };
  const deal = (bridgeId: string): Deal => service.bridges.deals.get(bridgeId)!;
  /** The service's word changes, and every stream hears it. */
  const say = (bridgeId: string, change: Partial<Deal["status"]>): void => {
    const told = deal(bridgeId);
    told.status = { ...told.status, ...change };
    service.tellBridge(told.status);
  };

  it("shows an address that the wallet computed itself, good on the pool's chain and on every lane", async () => {
    const wallet = await open();
    const made = await wallet.bridges.fromExchange(refund);
    const { answer } = deal(made.bridgeId);
    assert.equal(made.address, answer.address);
    assert.equal(made.source?.address, answer.source?.address);
    assert.deepEqual(made.source?.chainIds, [31_338, 31_339]);
    assert.equal(made.refundAddress, checksumAddress(REFUND));
    assert.deepEqual([made.minimum, made.feeCeiling, made.timeoutSecs], [MINIMUM, CEILING, 86_400]);
    assert.deepEqual(made.fees, { service: 50_000n, developer: 0n });
  });

  it("takes an account of its own key for refunds where none is named: a new one for each address", async () => {
    const [wallet, another] = [await open(), await open({ key: 2 })];
    const made = [
      await wallet.bridges.fromExchange(),
      await wallet.bridges.fromChain({ asset: USDC }),
      await wallet.bridges.fromOtherBlockchain(),
      await another.bridges.fromExchange(),
    ];
    assert.equal(new Set(made.map(({ refundAddress }) => refundAddress)).size, 4);
    assert.equal(new Set(made.map(({ address }) => address)).size, 4);
    for (const { bridgeId, refundAddress } of made) {
      const { answer, body } = deal(bridgeId);
      assert.equal(body.refund_address, refundAddress);
      assert.equal(answer.terms.refund_address, refundAddress);
    }
    // By the id, by the address that was paid and by the account, it is the key of that account.
    for (const { bridgeId, address, refundAddress } of made.slice(0, 3)) {
      const keys = [bridgeId, address, refundAddress].map((name) => wallet.bridges.refundKey(name));
      for (const key of await Promise.all(keys)) {
        assert.equal(checksumAddress(key.address), refundAddress);
        assert.equal(new Account(key.exportPrivateKey()).address, refundAddress);
      }
      await assert.rejects(another.bridges.refundKey(refundAddress), refusal("BRIDGE_UNKNOWN"));
    }
  });

  it("gives no key where somebody else gets the refund, or the wallet itself", async () => {
    const wallet = await open();
    const named = await wallet.bridges.fromExchange(refund);
    const out = await wallet.bridges.toExchange(ACCOUNT);
    for (const name of [named.bridgeId, named.address, REFUND, out.bridgeId, OTHER])
      await assert.rejects(wallet.bridges.refundKey(name), refusal("BRIDGE_UNKNOWN"), name);
    // Its own for that number is there, and nobody was told of it.
    assert.notEqual(named.refundAddress, (await (await open()).bridges.fromExchange()).refundAddress);
  });

  it("shows nothing when a service puts its own account in the place of the wallet's", async () => {
    const wallet = await open();
    service.bridges.bend = bendTerms({ refund_address: other });
    await assert.rejects(wallet.bridges.fromExchange(), refusal("BRIDGE_ADDRESS_MISMATCH"));
  });

  it("finds every address again that it made with its own refund accounts, from its key and nothing else", async () => {
    const wallet = await open();
    const made = [
      await wallet.bridges.fromExchange(),
      await wallet.bridges.fromExchange(refund),
      await wallet.bridges.fromChain(),
      await wallet.bridges.fromOtherBlockchain(),
    ];
    const own = made.filter(({ refundAddress }) => refundAddress !== checksumAddress(REFUND));
    const restored = await open();
    const ids = (entries: readonly { readonly bridgeId: string | undefined }[]): unknown[] =>
      entries.map(({ bridgeId }) => bridgeId);
    const found = await restored.bridges.find();
    assert.deepEqual(ids(found), ids(own));
    assert.deepEqual(
      found.map(({ address }) => address),
      own.map(({ address }) => address),
    );
    // An account is known before its address is.
    const key = await (await open()).bridges.refundKey(own[1]!.refundAddress);
    assert.equal(checksumAddress(key.address), own[1]!.refundAddress);
    const all = await (await open()).bridges.find({ refundAddresses: [REFUND] });
    assert.deepEqual(new Set(ids(all)), new Set(ids(made)));
    assert.deepEqual(await (await open({ key: 2 })).bridges.find(), []);
  });

  it("takes a new address each time, each saved before it is shown, and a copy from the storage goes on behind it", async () => {
    const storage = memoryStorage();
    const wallet = await open({ storage });
    const first = await wallet.bridges.fromExchange(refund);
    const second = await wallet.bridges.fromChain(refund);
    const out = await wallet.bridges.toExchange(ACCOUNT);
    const copy = await open({ storage });
    assert.deepEqual(await copy.bridges.list(), await wallet.bridges.list());
    const third = await copy.bridges.fromExchange(refund);
    const addresses = [first, second, out, third].map(({ address }) => address);
    assert.equal(new Set(addresses).size, 4);
    assert.deepEqual(
      (await copy.bridges.list()).map(({ address }) => address),
      addresses,
    );
  });

  it("two tabs on one storage never show one address", async () => {
    const storage = memoryStorage();
    const [one, two] = [await open({ storage }), await open({ storage })];
    const made = await Promise.all([one, two, one, two].map(({ bridges }) => bridges.fromExchange(refund)));
    assert.equal(new Set(made.map(({ address }) => address)).size, 4);
  });

  it("a service that is away uses up no number for ever", async () => {
    let now = Math.floor(Date.now() / 1000);
    const wallet = await open({ now: () => now });
    let isAway = true;
    service.faults.push(({ url }) =>
      isAway && url.startsWith("/bridge/") ? "VENUE_UNAVAILABLE" : undefined,
    );
    await assert.rejects(wallet.bridges.fromExchange(refund), refusal("VENUE_UNAVAILABLE"));
    now += 601;
    isAway = false;
    const made = await wallet.bridges.fromExchange(refund);
    const entries = await wallet.bridges.list();
    assert.deepEqual(
      entries.map(({ bridgeId }) => bridgeId),
      [made.bridgeId],
    );
  });

  // ---------------------------------------------------------------- a service that lies

  const bendTerms =
    (change: Record<string, unknown>) =>
    (answer: BridgeAddress): unknown => ({ ...answer, terms: { ...answer.terms, ...change } });
  const bendSource =
    (change: Record<string, unknown>) =>
    (answer: BridgeAddress): unknown => ({ ...answer, source: { ...answer.source, ...change } });
  const bendLane =
    (change: Record<string, unknown>) =>
    (answer: BridgeAddress): unknown => ({
      ...answer,
      source: {
        ...answer.source,
        lanes: answer.source!.lanes.map((lane, at) => (at === 1 ? { ...lane, ...change } : lane)),
      },
    });
  const bend =
    (change: Record<string, unknown>) =>
    (answer: BridgeAddress): unknown => ({ ...answer, ...change });

  for (const [what, place, lie] of [
    ["one address", "address", bend({ address: other })],
    ["the source address", "source.address", bendSource({ address: other })],
    ["the collector", "terms.collector", bendTerms({ collector: other })],
    ["the collector, to nobody", "terms.collector", bendTerms({ collector: null })],
    ["the factory", "terms.factory", bendTerms({ factory: other })],
    ["the vault's code", "terms.vault_code_hash", bendTerms({ vault_code_hash: word })],
    ["the pool", "terms.pool", bendTerms({ pool: other })],
    ["the note's key", "terms.npk", bendTerms({ npk: `0x${"07".repeat(32)}` })],
    ["the ephemeral key", "terms.ephemeral_key", bendTerms({ ephemeral_key: word })],
    ["the ciphertext", "terms.ciphertext", bendTerms({ ciphertext: `0x${"00".repeat(53)}` })],
    ["who is refunded", "terms.refund_address", bendTerms({ refund_address: other })],
    ["the salt", "terms.salt", bendTerms({ salt: word })],
    ["the ceiling", "fee_ceiling", bend({ fee_ceiling: "4000000" })],
    ["the minimum", "minimum", bend({ minimum: "1" })],
    ["the time-out", "timeout_secs", bend({ timeout_secs: 1 })],
    ["the token", "asset", bend({ asset: other })],
    ["the direction", "direction", bend({ direction: "out" })],
    ["who is refunded elsewhere", "source.refund_address", bendSource({ refund_address: other })],
    ["where a source burns to", "source.recipient", bendSource({ recipient: word })],
    ["a lane's messenger", "source.lanes.1.messenger", bendLane({ messenger: other })],
    ["a lane's token", "source.lanes.1.token", bendLane({ token: other })],
    ["a lane's ceiling", "source.lanes.1.fee_ceiling", bendLane({ fee_ceiling: "4999999" })],
    ["a lane's chain", "source.lanes.1.chain_id", bendLane({ chain_id: 1 })],
    ["that a lane is missing", "source.lanes", bendSource({ lanes: [] })],
    [
      "the other blockchain",
      "altchain",
      (answer) => ({
        ...answer,
        altchain: {
          ...{ deposit_key: MINT, token_account: MINT, mint: MINT, program: MINT, home_address: other },
        },
      }),
    ],
  ] as const satisfies readonly (readonly [string, string, (answer: BridgeAddress) => unknown])[]) {
    it(`shows nothing when a service changes ${what}`, async () => {
      const wallet = await open();
      service.bridges.bend = lie;
      const asked = wallet.bridges.fromChain(refund);
      await assert.rejects(asked, (error: Error & { code?: string }) => {
        assert.equal(error.code, "BRIDGE_ADDRESS_MISMATCH");
        assert.ok(error.message.includes(`(${place})`), error.message);
        return true;
      });
      const [entry] = await wallet.bridges.list();
      assert.equal(entry?.bridgeId, undefined);
    });
  }

  it("shows no address of somebody else's, whole and consistent as it is", async () => {
    const [wallet, mallory] = [await open(), await open({ key: 2 })];
    const theirs = deal((await mallory.bridges.fromExchange(refund)).bridgeId).answer;
    service.bridges.bend = () => theirs;
    await assert.rejects(wallet.bridges.fromExchange(refund), refusal("BRIDGE_ADDRESS_MISMATCH"));
  });

  it("shows no earlier address of its own either", async () => {
    const wallet = await open();
    const first = deal((await wallet.bridges.fromExchange(refund)).bridgeId).answer;
    service.bridges.bend = () => first;
    await assert.rejects(wallet.bridges.fromExchange(refund), refusal("BRIDGE_ADDRESS_MISMATCH"));
  });

  for (const [what, place, change] of [
    ["pays another account", "terms.exit.hook", { hook: `0x${"63".repeat(56)}` }],
    ["delivers by another", "terms.exit.caller", { caller: word }],
    ["pays another on the exchange's chain", "terms.exit.recipient", { recipient: word }],
    ["burns by another messenger", "terms.exit.messenger", { messenger: other }],
    ["goes to another chain", "terms.exit.domain", { domain: 7 }],
  ] as const) {
    it(`withdraws nothing to an address that ${what}`, async () => {
      const wallet = await open();
      give(service, wallet.address, USDC, [20_000_000n]);
      service.bridges.bend = (answer) => bendTerms({ exit: { ...answer.terms.exit, ...change } })(answer);
      await assert.rejects(
        wallet.bridges.withdrawToExchange(ACCOUNT, 9_000_000n),
        (error: Error) =>
          error.message.startsWith("BRIDGE_ADDRESS_MISMATCH") && error.message.includes(`(${place})`),
      );
      assert.equal(service.tickets.size, 0);
    });
  }

  it("withdraws nothing to an honest address of another account", async () => {
    const [wallet, helper] = [await open(), await open()];
    give(service, wallet.address, USDC, [20_000_000n]);
    const theirs = deal((await helper.bridges.toExchange(OTHER)).bridgeId).answer;
    service.bridges.bend = () => theirs;
    await assert.rejects(
      wallet.bridges.withdrawToExchange(ACCOUNT, 9_000_000n),
      refusal("BRIDGE_ADDRESS_MISMATCH"),
    );
    assert.equal(service.tickets.size, 0);
  });

  for (const [what, change] of [
    ["deposit key", { deposit_key: MINT }],
    ["token account", { token_account: MINT }],
    ["mint", { mint: "11111111111111111111111111111111" }],
    ["home address", { home_address: other }],
  ] as const) {
    it(`shows no deposit address with another ${what}`, async () => {
      const wallet = await open();
      service.bridges.bend = (answer) => ({ ...answer, altchain: { ...answer.altchain, ...change } });
      await assert.rejects(wallet.bridges.fromOtherBlockchain(refund), refusal("BRIDGE_ADDRESS_MISMATCH"));
    });
  }

  it("gives its own deposit key, with the token account that the other blockchain's library finds for it", async () => {
    const wallet = await open();
    const made = await wallet.bridges.fromOtherBlockchain(refund);
    const mint = parseAltchainAddress(MINT);
    assert.equal(made.tokenAccount, await tokenAccountOf(parseAltchainAddress(made.address), mint));
    assert.equal((await wallet.bridges.list()).at(-1)?.address, made.address);
    assert.equal(made.source, undefined);
    assert.notEqual(made.address, (await keyFromSeed(new Uint8Array(32).fill(1))).address);
  });

  it("fees above the ceiling are refused, and so is a service without source chains where one was asked for", async () => {
    const wallet = await open();
    service.bridges.bend = bend({ fees: { service: "999999", developer: "2", capped: false } });
    await assert.rejects(wallet.bridges.fromExchange(refund), refusal("FEE_ABOVE_CEILING"));
    service.bridges.bend = (answer) => ({ ...answer, source: null });
    await assert.rejects(wallet.bridges.fromChain(refund), refusal("FEATURE_OFF"));
    assert.equal((await wallet.bridges.fromExchange(refund)).source, undefined);
  });

  it("an answer that never comes ends by the caller's clock, and shows nothing", async () => {
    const wallet = await open({
      fetch: (input, init) =>
        (input as string).includes("/bridge/") ? new Promise(() => undefined) : fetch(input, init),
    });
    await assert.rejects(wallet.bridges.fromExchange({ ...refund, timeoutMs: 300 }), refusal("TIMED_OUT"));
    assert.equal((await wallet.bridges.list())[0]?.bridgeId, undefined);
  });

  it("refuses what it was not configured for, before anything is asked", async () => {
    const wallet = await open();
    for (const [asked, code] of [
      [() => wallet.bridges.toChain(1, OTHER), "FEATURE_OFF"],
      [() => wallet.bridges.toExchange("0x12"), "ADDRESS_INVALID"],
      [() => wallet.bridges.toExchange(`0x${"00".repeat(20)}`), "ADDRESS_INVALID"],
      [() => wallet.bridges.fromExchange({ refundAddress: `0x${"00".repeat(20)}` }), "ADDRESS_INVALID"],
      [() => wallet.bridges.fromExchange({ ...refund, asset: OTHER }), "PIN_MISMATCH"],
      [() => wallet.bridges.withdrawToExchange(ACCOUNT, MINIMUM - 1n), "AMOUNT_INVALID"],
      [() => wallet.bridges.withdrawToExchange(ACCOUNT, 0n), "AMOUNT_INVALID"],
      [() => wallet.bridges.status("none"), "BRIDGE_UNKNOWN"],
      [() => wallet.bridges.fromExchange({ refundAddress: 7 } as never), "OPTIONS_INVALID"],
      [() => wallet.bridges.refundKey(7 as never), "OPTIONS_INVALID"],
    ] as const)
      await assert.rejects(async () => asked(), refusal(code), code);
    assert.ok(!service.requests.some(({ url }) => url.startsWith("/bridge/")));
    const plain = await openWallet();
    await assert.rejects(plain.bridges.fromExchange(refund), refusal("FEATURE_OFF"));
    await plain.close();
    service.features.bridges = false;
    const late = await open();
    await assert.rejects(late.bridges.fromExchange(refund), refusal("FEATURE_OFF"));
  });

  // ---------------------------------------------------------------- what becomes of it

  it("has the note without any further step, and says completed when it is there", async () => {
    const wallet = await open();
    const { bridgeId, address } = await wallet.bridges.fromExchange(refund);
    const seen: string[] = [];
    const waiting = wallet.bridges.wait(bridgeId, { onStatus: ({ state }) => void seen.push(state) });
    await until(() => seen.length === 1);
    say(bridgeId, { state: "shielding", received: "9000000", amount: "9000000" });
    await until(() => seen.includes("shielding"));
    service.bridges.credit(service.chain, deal(bridgeId), 8_950_000n);
    const status = await waiting;
    assert.equal(status.inWallet, 8_950_000n);
    assert.equal(wallet.balance(USDC).total, 8_950_000n);
    assert.equal(wallet.notes()[0]?.source, "forwarder");
    assert.equal((await wallet.bridges.status(address)).inWallet, 8_950_000n);
    // It is spent like any other.
    await wallet.pay(wallet.address, 1_000_000n);
  });

  it("does not believe a `completed` without the note", async () => {
    const wallet = await open();
    const { bridgeId } = await wallet.bridges.fromExchange(refund);
    say(bridgeId, { state: "completed", credited: "9000000" });
    const status = await wallet.bridges.status(bridgeId);
    assert.deepEqual([status.state, status.inWallet], ["completed", 0n]);
    await assert.rejects(wallet.bridges.wait(bridgeId, { timeoutMs: 500 }), refusal("TIMED_OUT"));
  });

  it("nor one whose note is another wallet's, or worth less than is said", async () => {
    const [wallet, mallory] = [await open(), await open({ key: 2 })];
    const { bridgeId } = await wallet.bridges.fromExchange(refund);
    const theirs = await mallory.bridges.fromExchange(refund);
    service.bridges.credit(service.chain, deal(theirs.bridgeId), 9_000_000n);
    say(bridgeId, { state: "completed", credited: "9000000" });
    await assert.rejects(wallet.bridges.wait(bridgeId, { timeoutMs: 500 }), refusal("TIMED_OUT"));
    assert.equal((await wallet.bridges.status(bridgeId)).inWallet, 0n);
  });

  it("another end is told as such", async () => {
    const wallet = await open();
    const { bridgeId } = await wallet.bridges.fromExchange(refund);
    const waiting = wallet.bridges.wait(bridgeId);
    say(bridgeId, { state: "refunded", refunded: "9000000" });
    await assert.rejects(waiting, refusal("BRIDGE_FAILED"));
  });

  describe("from the other blockchain", () => {
    const PAYER = parseAltchainAddress(
      new DepositKey(SpendingKey.fromSeed(new Uint8Array(32).fill(9)), 0).text,
    );
    const ask = async (bridgeId: string, change: { readonly recipient?: string } = {}): Promise<void> => {
      const { altchain } = deal(bridgeId).answer;
      const transaction = await burnTransaction({
        ...{ token: { mint: parseAltchainAddress(MINT), decimals: 6 }, amount: 9_000_000n, maxFee: 0n },
        ...{ owner: parseAltchainAddress(altchain!.deposit_key), feePayer: PAYER, blockhash: PAYER },
        ...{ domain: 3, finality: 2_000, recipient: paddedAddress(asAddress(altchain!.home_address)!) },
        ...change,
      });
      say(bridgeId, { state: "awaiting_signature", sign: { transaction, expires_after_slot: 9 } });
    };

    it("signs the burn when it is asked for, sends it back, and has the note in the end", async () => {
      const wallet = await open();
      const { bridgeId, address } = await wallet.bridges.fromOtherBlockchain(refund);
      await ask(bridgeId);
      const waiting = wallet.bridges.wait(bridgeId);
      await until(() => service.bridges.signed.length === 1);
      const recipient = paddedAddress(asAddress(deal(bridgeId).answer.altchain!.home_address)!);
      const { burn } = await checkSignedBurn(service.bridges.signed[0], {
        ...{
          token: { mint: parseAltchainAddress(MINT), decimals: 6 },
          domain: 3,
          recipient,
          feePayer: PAYER,
        },
        ...{ owner: parseAltchainAddress(address), feeCeiling: CEILING, minimum: MINIMUM },
      });
      assert.equal(burn.amount, 9_000_000n);
      service.bridges.credit(service.chain, deal(bridgeId), 9_000_000n);
      assert.equal((await waiting).inWallet, 9_000_000n);
      assert.equal(service.bridges.signed.length, 1);
    });

    it("signs no burn for somebody else, and sends nothing", async () => {
      const wallet = await open();
      const { bridgeId } = await wallet.bridges.fromOtherBlockchain(refund);
      await ask(bridgeId, { recipient: paddedAddress(OTHER) });
      await assert.rejects(wallet.bridges.wait(bridgeId), refusal("BURN_REFUSED"));
      await assert.rejects(wallet.bridges.sign(bridgeId), refusal("BURN_REFUSED"));
      assert.deepEqual(service.bridges.signed, []);
    });
  });

  it("pays an out-address in private and waits until the other side has it", async () => {
    const wallet = await open();
    give(service, wallet.address, USDC, [20_000_000n]);
    const told: string[] = [];
    const withdrawing = wallet.bridges.withdrawToChain(31_338, OTHER, 9_000_000n, {
      onStatus: ({ bridge_id, state }) => {
        told.push(state);
        if (state === "awaiting_funds") say(bridge_id, { state: "completed", credited: "9000000" });
      },
    });
    const made = await withdrawing;
    const [ticket] = [...service.tickets.values()];
    assert.equal(ticket?.kind, "spend");
    assert.equal(made.status?.state, "completed");
    assert.equal(asAddress(made.bridge.address), asAddress(deal(made.bridge.bridgeId).answer.address));
    assert.equal(wallet.balance(USDC).total, 20_000_000n - 9_000_000n - made.fees);
    assert.deepEqual(told, ["awaiting_funds", "completed"]);
  });

  it("a wallet restored from its key finds its requests again, and takes no number twice", async () => {
    const wallet = await open();
    const made = [];
    for (let n = 0; n < 3; n++) made.push(await wallet.bridges.fromExchange(refund));
    const out = await wallet.bridges.toExchange(ACCOUNT);
    // The first two have money, the third nothing yet.
    for (const { bridgeId } of made.slice(0, 2))
      service.bridges.credit(service.chain, deal(bridgeId), 9_000_000n);

    const restored = await open();
    const fresh = await restored.bridges.fromExchange({ refundAddress: OTHER });
    assert.ok(
      !made.slice(0, 2).some(({ bridgeId }) => deal(bridgeId).body.npk === deal(fresh.bridgeId).body.npk),
    );

    const again = await open();
    const found = await again.bridges.find({ refundAddresses: [REFUND], accounts: [OTHER, ACCOUNT] });
    assert.deepEqual(
      found.map(({ bridgeId }) => bridgeId),
      [...made, out].map(({ bridgeId }) => bridgeId),
    );
    assert.equal(found[0]?.inWallet, 9_000_000n);
    assert.deepEqual((await again.bridges.find({ refundAddresses: [OTHER] })).length, 0);
  });

  it("is not moved by pins of another contract: what they do not name is not shown", async () => {
    const wallet = await open({ pins: { bridges: { ...BRIDGE_PINS, factory: OTHER } } });
    await assert.rejects(wallet.bridges.fromExchange(refund), refusal("BRIDGE_ADDRESS_MISMATCH"));
    assert.notEqual(FACTORY.address, OTHER);
  });
});

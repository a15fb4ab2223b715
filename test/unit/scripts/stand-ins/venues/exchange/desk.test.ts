// The exchange's rules on its books: who is credited what, what is lost, what is refused, and that nothing appears or
// vanishes whatever is asked.
import assert from "node:assert/strict";
import fc from "fast-check";
import type { Address } from "../../../../../../shared/protocol/brands.ts";
import { addressToWord } from "../../../../../../shared/protocol/host/cctp.ts";
import {
  LOCAL,
  send,
  sendToEvm,
  type Action,
} from "../../../../../../scripts/stand-ins/venues/exchange/actions.ts";
import {
  act,
  credit,
  settle,
  type Deposit,
} from "../../../../../../scripts/stand-ins/venues/exchange/desk.ts";
import { parseSettings } from "../../../../../../scripts/stand-ins/venues/exchange/settings.ts";
import { ExchangeState, stateShape } from "../../../../../../scripts/stand-ins/venues/exchange/state.ts";

const of = (byte: string): Address => `0x${byte.repeat(20)}` as Address;
const [ALICE, BOB, CAROL] = [of("aa"), of("bb"), of("cc")];
const NOW = 1_800_000_000_000;
const USD = 1_000_000n;
const chain = { rpc: "http://127.0.0.1:1", usdc: of("01") };
const TERMS = parseSettings({
  own: { ...chain, chain_id: 31_340, domain: 19, messenger: of("02"), forwarder: of("03") },
});

const aDeposit = (changes: Partial<Deposit> = {}): Deposit => ({
  account: ALICE,
  amount: 100n * USD,
  to: "perps",
  hash: "0x00",
  ...changes,
});
function funded(): ExchangeState {
  const state = new ExchangeState();
  credit(state, TERMS, aDeposit(), NOW);
  return state;
}
const acting = (state: ExchangeState, action: Action, user = ALICE, nowMs = NOW): string | undefined =>
  act(state, TERMS, { user, action, nowMs });
const toEvm = (amount: string, nonce = NOW): Action =>
  sendToEvm({ amount, from: "perps", recipient: BOB, domain: 3, nonce });

describe("a deposit at the exchange", () => {
  it("makes the account the first time, for a dollar, and is whole from then on", () => {
    const state = funded();
    assert.equal(state.ledger.balance(`perps:${ALICE}`), 99n * USD);
    credit(state, TERMS, aDeposit({ to: "spot", amount: 1n }), NOW);
    assert.equal(state.ledger.balance(`spot:${ALICE}`), 1n);
    assert.equal(state.ledger.balance("fees"), USD);
    assert.equal(state.ledger.balance("outside"), -100n * USD - 1n);
  });

  it("of no more than the dollar makes no account and is lost", () => {
    const state = new ExchangeState();
    credit(state, TERMS, aDeposit({ amount: USD }), NOW);
    assert.equal(state.ledger.isKnown(ALICE), false);
    assert.equal(state.ledger.balance("lost"), USD);
  });
});

describe("an action at the exchange", () => {
  it("by CCTP debits the amount, keeps its fee and burns the rest, with the published hook and a fee for delivery", () => {
    const state = funded();
    assert.equal(acting(state, toEvm("10")), undefined);
    assert.equal(state.ledger.balance(`perps:${ALICE}`), 89n * USD);
    const [withdrawal] = state.withdrawals;
    assert.equal(withdrawal?.amount, 9_800_000n);
    assert.deepEqual(withdrawal.way, {
      domain: 3,
      recipient: addressToWord(BOB),
      hook: `0x636374702d666f7277617264${"00".repeat(12)}000000000000001c${"aa".repeat(20)}000001a3185c5000`,
      max_fee: 200_000n,
    });
    settle(state, withdrawal, true);
    assert.equal(state.ledger.balance("outside"), -100n * USD + 9_800_000n);
    assert.equal(state.ledger.balance("leaving"), 0n);
    assert.throws(() => settle(state, withdrawal, true), RangeError);
  });

  it("with bytes of the user's offers no fee, unless they begin with the words for delivery; too many are refused", () => {
    const hookOf = (data: string, nonce: number) => {
      const state = funded();
      const order = { amount: "10", from: "perps", recipient: BOB, domain: 3, nonce, data } as const;
      const refusal = acting(state, sendToEvm(order));
      const way = state.withdrawals[0]?.way;
      return [refusal ?? way?.hook.slice(2, 66), way?.max_fee];
    };
    const words = `636374702d666f7277617264${"00".repeat(12)}`;
    assert.deepEqual(hookOf("0x07", NOW), [`${"00".repeat(24)}000000000000001d`, 0n]);
    assert.deepEqual(hookOf(`0x${words}07`, NOW), [`${words}0000000000000035`, 200_000n]);
    assert.equal(hookOf(`0x${"07".repeat(1_025)}`, NOW)[0], "Data length exceeds MAX_HOOK_DATA_SIZE");
  });

  it("that its chain refuses for good is undone, the fee with it", () => {
    const state = funded();
    assert.equal(acting(state, toEvm("10")), undefined);
    settle(state, state.withdrawals[0]!, false);
    assert.equal(state.ledger.balance(`perps:${ALICE}`), 99n * USD);
    assert.equal(state.ledger.balance("fees"), USD);
  });

  it("to somebody new makes the account, at the sender's cost", () => {
    const state = funded();
    assert.equal(acting(state, send(BOB, "10", NOW)), undefined);
    assert.equal(acting(state, send(BOB, "10", NOW + 1)), undefined);
    assert.equal(state.ledger.balance(`perps:${ALICE}`), 78n * USD);
    assert.equal(state.ledger.balance(`perps:${BOB}`), 20n * USD);
    assert.equal(acting(state, send(CAROL, "77.5", NOW + 2)), "Insufficient balance for transfer");
    assert.equal(state.ledger.isKnown(CAROL), false);
  });

  it("is refused in the exchange's words, and then nothing has changed", () => {
    const order = { amount: "10", from: "perps", recipient: BOB, domain: 3, nonce: NOW } as const;
    const cases: readonly (readonly [string, Action, Address?])[] = [
      [`User or API Wallet ${BOB} does not exist.`, toEvm("10"), BOB],
      ["Invalid amount", toEvm("0")],
      ["Invalid amount", toEvm("1e3")],
      ["Invalid amount", toEvm("1.0000001")],
      ["Amount must exceed the fee", toEvm("0.2")],
      ["Insufficient balance for transfer", toEvm("99.000001")],
      ["Insufficient balance for transfer", sendToEvm({ ...order, from: "spot" })],
      ["Invalid destination chain", sendToEvm({ ...order, domain: 19 })],
      ["Invalid destination recipient", sendToEvm({ ...order, recipient: "0xbb" })],
      ["Invalid destination recipient", sendToEvm({ ...order, recipient: "abc", encoding: "base58" })],
      ["Invalid token", { ...toEvm("10"), token: "USDT" } as Action],
      ["Invalid chain", { ...toEvm("10"), hyperliquidChain: "Mainnet" }],
      ["Invalid nonce", toEvm("10", NOW - 2 * 86_400_000)],
      ["Invalid nonce", toEvm("10", NOW + 86_400_000)],
      ["Invalid destination", send(ALICE, "1", NOW)],
    ];
    for (const [refusal, action, user] of cases) {
      const state = funded();
      const before = JSON.stringify(state.toJson());
      assert.equal(acting(state, action, user), refusal);
      assert.equal(JSON.stringify(state.toJson()), before, refusal);
    }
  });

  it("is done once, also when other actions came between", () => {
    const state = funded();
    assert.equal(acting(state, toEvm("1")), undefined);
    assert.equal(acting(state, toEvm("1", NOW + 1)), undefined);
    assert.equal(acting(state, toEvm("1")), "Invalid nonce");
    for (let i = 2; i < 110; i++) assert.equal(acting(state, send(BOB, "0.01", NOW + i)), undefined);
    // Long forgotten by number, and below the oldest that is kept.
    assert.equal(acting(state, toEvm("1")), "Invalid nonce");
  });

  it("waits until the exchange is open again", () => {
    const state = funded();
    state.paused = true;
    assert.equal(acting(state, toEvm("1")), "The exchange is paused");
  });
});

describe("the exchange's books", () => {
  const user = fc.constantFrom(ALICE, BOB, CAROL);
  const amount = fc.bigInt(0n, 20n * USD);
  const written = amount.map((units) => `${units / USD}.${String(units % USD).padStart(6, "0")}`);
  const event = fc.oneof(
    fc.record({
      deposit: fc.record({
        account: user,
        amount,
        to: fc.constantFrom("perps" as const, "spot" as const),
      }),
    }),
    fc.record({
      user,
      other: user,
      written,
      kind: fc.constantFrom("send", "spot", "perps"),
    }),
    fc.record({ settle: fc.nat(5), isPaid: fc.boolean() }),
  );

  it("add up after any history, and read back from disk the same", () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let state = new ExchangeState();
        let [arrived, paid] = [0n, 0n];
        for (const [i, each] of events.entries()) {
          if ("deposit" in each) {
            credit(state, TERMS, { ...each.deposit, hash: "0x" }, NOW);
            arrived += each.deposit.amount;
          } else if ("settle" in each) {
            const open = state.withdrawals.filter((one) => one.state === "open");
            const one = open[each.settle];
            if (one !== undefined) settle(state, one, each.isPaid);
            if (one !== undefined && each.isPaid) paid += one.amount;
          } else acting(state, actionOf(each, NOW + i), each.user);
          state = new ExchangeState(stateShape.parse(JSON.parse(JSON.stringify(state.toJson()))));
        }
        const { ledger } = state;
        assert.equal(ledger.sum(), 0n);
        assert.equal(ledger.balance("outside"), paid - arrived);
        const open = state.withdrawals.filter((one) => one.state === "open");
        assert.equal(
          ledger.balance("leaving"),
          open.reduce((sum, one) => sum + one.amount, 0n),
        );
        for (const [account, units] of Object.entries(ledger.toJson()))
          assert.ok(account === "outside" || BigInt(units) >= 0n, account);
      }),
      { numRuns: 60 },
    );
  });

  function actionOf(
    { other, written, kind }: { other: Address; written: string; kind: string },
    nonce: number,
  ): Action {
    if (kind === "send")
      return { type: "usdSend", ...LOCAL, destination: other, amount: written, time: nonce };
    return sendToEvm({
      amount: written,
      from: kind === "spot" ? "spot" : "perps",
      recipient: other,
      domain: 3,
      nonce,
    });
  }
});

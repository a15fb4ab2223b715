import assert from "node:assert/strict";
import fc from "fast-check";
import { FIELD_ORDER, mustField, ZERO_ADDRESS, type Address } from "../../../../shared/protocol/brands.ts";
import { toAddress, toHex } from "../../../../shared/protocol/bytes.ts";
import {
  checkStatement,
  CIPHERTEXT_BYTES,
  contextOf,
  decodeExt,
  EPHEMERAL_KEY_BYTES,
  FEE_TIERS,
  kindById,
  KIND_NAMES,
  KINDS,
  signalCount,
  statementHashOf,
  type Ext,
  type Home,
  type Kind,
  type SpendExt,
  type Statement,
  type SwapExt,
  type SwapPath,
} from "../../../../shared/protocol/statements.ts";
import {
  encodeExt,
  readSignals,
  signalNames,
  writeSignals,
} from "../../../../shared/protocol/host/statements.ts";
import * as oracle from "../../../support/oracle.ts";
import { anySealed } from "../../../support/sealed-notes.ts";

const HOME: Home = { chainId: 31_337n, pool: `0x${"c1".repeat(20)}` as Address };
const TOKEN = BigInt(`0x${"0a".repeat(20)}`);
const SOMEBODY = `0x${"5b".repeat(20)}` as Address;
const DEADLINE = 1_900_000_000n;

const uint64 = fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map(toAddress);
const kind = fc.constantFrom<Kind>(...KIND_NAMES);
const ciphertexts = (of: Kind): fc.Arbitrary<Uint8Array[]> =>
  fc.array(fc.uint8Array({ minLength: CIPHERTEXT_BYTES, maxLength: CIPHERTEXT_BYTES }), {
    minLength: KINDS[of].leaves,
    maxLength: KINDS[of].leaves,
  });
const sealedBytes = (of: Kind) => ({
  ephemeralKey: fc.uint8Array({ minLength: EPHEMERAL_KEY_BYTES, maxLength: EPHEMERAL_KEY_BYTES }),
  ciphertexts: ciphertexts(of),
});
const uint24 = fc.nat({ max: (1 << 24) - 1 });
/** Objects like ours, to be compared with ours. */
const PLAIN = { noNullPrototype: true } as const;
const anExt: fc.Arbitrary<Ext> = fc.oneof(
  fc.record(
    {
      kind: fc.constantFrom("spend" as const, "spend9" as const),
      recipient: address,
      ...sealedBytes("spend"),
    },
    PLAIN,
  ),
  fc.record(
    {
      kind: fc.constant("private-swap" as const),
      tokenOut: address,
      minAmountOut: fc.bigInt({ min: 0n, max: (1n << 128n) - 1n }),
      npkOut: fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }),
      path: fc.record({ feeFirst: uint24, middle: address, feeSecond: uint24 }, PLAIN),
      ...sealedBytes("private-swap"),
    },
    PLAIN,
  ),
  fc.record(
    {
      kind: fc.constant("deposit-shield" as const),
      depositor: address,
      validAfter: uint64,
      validBefore: uint64,
      ...sealedBytes("deposit-shield"),
    },
    PLAIN,
  ),
);

describe("shared/protocol/statements", () => {
  it("has distinct ids, and no kind for any other", () => {
    const known = Array.from({ length: 256 }, (_, id) => kindById(id)).filter((found) => found !== undefined);
    assert.deepEqual(known, ["deposit-shield", "spend", "spend9", "private-swap"]);
    assert.deepEqual(
      known.map((of) => KINDS[of].id),
      [1, 2, 3, 4],
    );
  });

  it("knows the leaves of each kind and the fee tiers of Uniswap v3", () => {
    assert.deepEqual(
      KIND_NAMES.map((name) => KINDS[name].leaves),
      [3, 4, 4, 4],
    );
    assert.deepEqual(FEE_TIERS, [100, 500, 3_000, 10_000]);
  });

  it("names the signals in circuit order", () => {
    assert.deepEqual(signalNames("deposit-shield"), [
      "context",
      "asset",
      "amountIn",
      "commitments[0]",
      "commitments[1]",
      "commitments[2]",
    ]);
    assert.deepEqual(signalNames("spend"), [
      "context",
      "root",
      "asset",
      "amountOut",
      "nullifiers[0]",
      "nullifiers[1]",
      "commitments[0]",
      "commitments[1]",
      "commitments[2]",
      "commitments[3]",
    ]);
    const nullifiers = (count: number): string[] =>
      Array.from({ length: count }, (_, i) => `nullifiers[${i}]`);
    const commitments = (count: number): string[] =>
      Array.from({ length: count }, (_, i) => `commitments[${i}]`);
    const shown = ["context", "root", "asset", "amountOut"];
    assert.deepEqual(signalNames("spend9"), [...shown, ...nullifiers(9), ...commitments(4)]);
    assert.deepEqual(signalNames("private-swap"), [...shown, ...nullifiers(2), ...commitments(3)]);
  });

  it("reads signals into facts and back", () => {
    for (const of of KIND_NAMES) {
      const signals = signalNames(of).map((_, i) => mustField(BigInt(100 + i)));
      const facts = readSignals(of, signals);
      assert.ok(typeof facts === "object");
      assert.deepEqual(writeSignals(of, facts), signals);
      const isDeposit = of === "deposit-shield";
      assert.equal(facts.context, 100n);
      assert.equal(facts.root, isDeposit ? undefined : 101n);
      assert.equal(facts.asset, isDeposit ? 101n : 102n);
      assert.equal(facts.amount, isDeposit ? 102n : 103n);
      const { inputs, outputs } = KINDS[of];
      assert.deepEqual(facts.nullifiers, signals.slice(4, 4 + inputs));
      assert.deepEqual(facts.commitments, signals.slice(-outputs));
    }
  });

  it("reads no other number of signals, and none at or above r or below zero", () => {
    for (const of of KIND_NAMES) {
      const signals = signalNames(of).map(() => 1n);
      assert.equal(readSignals(of, signals.slice(1)), "SIGNAL_COUNT");
      assert.equal(readSignals(of, [...signals, 0n]), "SIGNAL_COUNT");
      assert.equal(readSignals(of, []), "SIGNAL_COUNT");
      for (let i = 0; i < signalCount(of); i++) {
        for (const wrong of [FIELD_ORDER, FIELD_ORDER + 1n, -1n, (1n << 256n) - 1n]) {
          assert.equal(readSignals(of, signals.with(i, wrong)), "SIGNAL_RANGE");
        }
      }
    }
  });

  it("packs ext as Solidity's encodePacked, and reads it back", () => {
    fc.assert(
      fc.property(anExt, (ext) => {
        const bytes = encodeExt(ext);
        const terms = { ...ext, ...("path" in ext ? ext.path : {}) };
        assert.equal(
          toHex(bytes),
          oracle.extOf(ext.kind, terms, toHex(ext.ephemeralKey), ext.ciphertexts.map(toHex)),
        );
        assert.deepEqual(decodeExt(ext.kind, bytes), ext);
        for (const other of KIND_NAMES) {
          const isTwin = other.startsWith("spend") && ext.kind.startsWith("spend");
          if (other !== ext.kind && !isTwin) assert.equal(decodeExt(other, bytes), undefined);
        }
        assert.equal(decodeExt(ext.kind, bytes.slice(1)), undefined);
        assert.equal(decodeExt(ext.kind, new Uint8Array([...bytes, 0])), undefined);
      }),
    );
  });

  it("encodes no ext with another number or length of ciphertexts, or another length of the ephemeral key", () => {
    const full = Array.from({ length: 4 }, () => new Uint8Array(CIPHERTEXT_BYTES));
    const spend = (sealed: Uint8Array[], keyBytes = EPHEMERAL_KEY_BYTES): Ext => ({
      kind: "spend",
      recipient: SOMEBODY,
      ephemeralKey: new Uint8Array(keyBytes),
      ciphertexts: sealed,
    });
    assert.equal(encodeExt(spend(full)).length, 264);
    for (const bytes of [0, 31, 33]) assert.throws(() => encodeExt(spend(full, bytes)), RangeError);
    for (const sealed of [
      full.slice(1),
      [...full, full[0]!],
      full.with(2, new Uint8Array(CIPHERTEXT_BYTES - 1)),
    ]) {
      assert.throws(() => encodeExt(spend(sealed)), RangeError);
    }
  });

  it("computes context and statement hash as ethers' ABI coder does", () => {
    fc.assert(
      fc.property(
        uint64,
        address,
        kind,
        uint64,
        fc.uint8Array(),
        fc.array(fc.bigInt({ min: 0n, max: FIELD_ORDER - 1n })),
        (chainId, pool, of, deadline, ext, signals) => {
          const home = { chainId, pool };
          const context = oracle.contextOf(home, of, deadline, toHex(ext));
          assert.equal(contextOf(home, of, deadline, ext), context);
          const hash = oracle.statementHashOf(of, deadline, signals, toHex(ext));
          assert.equal(statementHashOf(of, deadline, signals, ext), hash);
        },
      ),
    );
  });

  describe("checkStatement", () => {
    interface Draft {
      ext: Ext;
      asset: bigint;
      amount: bigint;
      nullifiers: bigint[];
      deadline: bigint;
    }
    const spendExt = (recipient: Address): SpendExt => ({
      kind: "spend",
      recipient,
      ...anySealed("spend"),
    });
    const depositExt = (depositor = SOMEBODY, validAfter = 0n, validBefore = 1n): Ext => ({
      kind: "deposit-shield",
      depositor,
      validAfter,
      validBefore,
      ...anySealed("deposit-shield"),
    });
    const aSpend: Draft = {
      ext: spendExt(SOMEBODY),
      asset: TOKEN,
      amount: 5n,
      nullifiers: [1n, 2n],
      deadline: DEADLINE,
    };
    const OTHER_TOKEN = `0x${"0b".repeat(20)}` as Address;
    const MIDDLE = `0x${"0c".repeat(20)}` as Address;
    const swapExt = (changes: Partial<SwapExt> = {}, path: Partial<SwapPath> = {}): Ext => ({
      kind: "private-swap",
      tokenOut: OTHER_TOKEN,
      minAmountOut: 1n,
      npkOut: 9n,
      path: { feeFirst: 3_000, middle: ZERO_ADDRESS, feeSecond: 0, ...path },
      ...anySealed("private-swap"),
      ...changes,
    });
    const aSwap: Draft = { ...aSpend, ext: swapExt() };
    const swapWith = (changes: Partial<SwapExt>, path: Partial<SwapPath> = {}): Draft => ({
      ...aSwap,
      ext: swapExt(changes, path),
    });
    const twoHops = { middle: MIDDLE, feeSecond: 500 };
    const nine = Array.from({ length: 9 }, (_, i) => BigInt(i + 1));
    const aSpend9: Draft = { ...aSpend, ext: { ...spendExt(SOMEBODY), kind: "spend9" }, nullifiers: nine };
    const aTransfer: Draft = { ...aSpend, ext: spendExt(ZERO_ADDRESS), asset: 0n, amount: 0n };
    const aDeposit: Draft = { ...aSpend, ext: depositExt(), nullifiers: [] };

    const check = (draft: Draft): Statement | string => {
      const bytes = encodeExt(draft.ext);
      const of = draft.ext.kind;
      const context = contextOf(HOME, of, draft.deadline & ((1n << 64n) - 1n), bytes);
      const before = KINDS[of].inputs === 0 ? [context] : [context, 77n];
      const commitments = Array.from({ length: KINDS[of].outputs }, (_, i) => BigInt(50 + i));
      const signals = [...before, draft.asset, draft.amount, ...draft.nullifiers, ...commitments];
      return checkStatement(HOME, of, draft.deadline, signals, bytes);
    };

    for (const [what, draft] of Object.entries<Draft>({
      "a deposit": aDeposit,
      "a withdrawal": aSpend,
      "a private transfer": aTransfer,
      "the greatest amount": { ...aSpend, amount: (1n << 128n) - 1n },
      "the greatest asset": { ...aSpend, asset: (1n << 160n) - 1n },
      "a payment of nine notes": aSpend9,
      "a swap through one pool": aSwap,
      "a swap through two pools": swapWith({}, twoHops),
      "the greatest npk": swapWith({ npkOut: FIELD_ORDER - 1n }),
      "the greatest floor": swapWith({ minAmountOut: (1n << 128n) - 1n }),
      "the greatest deadline": { ...aSpend, deadline: (1n << 64n) - 1n },
      "the least deadline": { ...aSpend, deadline: 0n },
    })) {
      it(`passes ${what}`, () => {
        const statement = check(draft);
        assert.ok(typeof statement === "object", what);
        assert.deepEqual(statement.ext, draft.ext);
        const { kind: of, deadline, signals, extBytes } = statement;
        assert.equal(statement.hash, statementHashOf(of, deadline, signals, extBytes));
      });
    }

    // What else is refused is a table that enclave, proxy and pool play, too: test/contract/vectors/refusals.ts.
    for (const [what, deadline] of [
      ["2^64", 1n << 64n],
      ["less than zero", -1n],
    ] as const) {
      it(`STATEMENT_INVALID: a deadline of ${what}, which no wire can say`, () =>
        assert.equal(check({ ...aSpend, deadline }), "STATEMENT_INVALID"));
    }

    it("EXT_MALFORMED: another length; SIGNAL_COUNT and SIGNAL_RANGE before it", () => {
      const signals = signalNames("spend").map(() => 1n);
      const noExt = new Uint8Array(0);
      assert.equal(checkStatement(HOME, "spend", DEADLINE, signals, noExt), "EXT_MALFORMED");
      assert.equal(checkStatement(HOME, "spend", DEADLINE, signals.slice(1), noExt), "SIGNAL_COUNT");
      assert.equal(
        checkStatement(HOME, "spend", DEADLINE, signals.with(0, FIELD_ORDER), noExt),
        "SIGNAL_RANGE",
      );
    });
  });
});

// Swaps, payments of nine notes and plain deposits at the door, with a chain that says what each test wants.
import assert from "node:assert/strict";
import {
  depositDraft,
  type Draft,
  drawField,
  type Setting,
  spendDraft,
  swapDraft,
} from "../../../../support/drafts.ts";
import type { Pool } from "../../../../../proxy/base/chain/pool.ts";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { Tokens } from "../../../../../proxy/base/chain/token.ts";
import { setRule } from "../../../../../proxy/base/fees/developer-rules.ts";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import { embeddedStores } from "../../../../../proxy/base/store/instance.ts";
import { Admission, type AdmissionParts } from "../../../../../proxy/api/payments/admission.ts";
import { readSequenceBody, type Body } from "../../../../../proxy/api/payments/body.ts";
import { encodeUniswapPath } from "../../../../../shared/api/uniswap-path.ts";
import { toTransaction } from "../../../../../proxy/api/payments/transaction.ts";
import type { ErrorCode } from "../../../../../shared/api/errors.ts";
import {
  FIELD_ORDER,
  ZERO_ADDRESS,
  type Address,
  type Bytes32,
  type Field,
} from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { poseidon2, poseidon3 } from "../../../../../shared/protocol/host/poseidon.ts";
import { contextOf } from "../../../../../shared/protocol/statements.ts";
import { temporaryDatabase, testFees } from "../../../../support/fees.ts";
import { posted } from "./posted.ts";

const token = (byte: string): Address => `0x${byte.repeat(20)}` as Address;
const USDC = token("11");
const WETH = token("22");
const DAI = token("33");
const STRANGE = token("99");
const POOL = token("aa");
const EXECUTOR = token("ee");
const DEPOSITOR = token("dd");
const ROOT = drawField();
const SINK = drawField();
const BLINDING = drawField();
const NOW_SECS = 1_800_000_000;

const setting: Setting = {
  home: { chainId: 31_337n, pool: POOL },
  deadline: BigInt(NOW_SECS + 600),
  verifyingKeyHashes: {
    "deposit-shield": toHex(word(1n)) as Bytes32,
    spend: toHex(word(2n)) as Bytes32,
    spend9: toHex(word(3n)) as Bytes32,
    "private-swap": toHex(word(4n)) as Bytes32,
  },
  attesters: [],
};
const ONE_HOP = { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 };
const TWO_HOPS = { feeFirst: 500, middle: DAI, feeSecond: 100 };

const assets = [
  { address: USDC, symbol: "USDC", decimals: 6 },
  { address: WETH, symbol: "WETH", decimals: 18 },
  { address: DAI, symbol: "DAI", decimals: 18 },
];
const feeRules = embeddedStores(temporaryDatabase()).feeRules;
const fees = testFees({
  store: feeRules,
  assets,
  serviceFee: { text: "clo1sink", sink: { owner: SINK } },
  feeSchedule: [{ asset: USDC, operation: "swap", flat: 0n, bps: 15 }],
  minimums: [{ asset: USDC, operation: "swap", minimum: 1_000n }],
});

interface World {
  readonly pool?: Partial<Pool>;
  readonly tokens?: Partial<Tokens>;
  readonly data?: Partial<AdmissionParts["data"]>;
  readonly reserved?: boolean;
  readonly isFresh?: boolean;
}

function admission({ pool, tokens, data, reserved = false, isFresh = false }: World = {}) {
  return new Admission({
    deadEnds: [],
    pool: {
      home: setting.home,
      address: POOL,
      isKnownRoot: async (root: bigint) => root === ROOT,
      isSpent: async () => false,
      isAsset: async () => true,
      executor: async () => EXECUTOR,
      ...pool,
    },
    brakes: {
      brakes: async () => ({ attestedFrom: 0, isUnsound: false, advanceableFrom: 0 }),
      room: async () => ({ attested: 10n ** 30n, proved: 0n }),
      ...pool,
    },
    tokens: {
      balanceOf: async () => 10n ** 30n,
      isAuthorizationUsed: async () => false,
      domainSeparator: async () => toHex(word(7n)) as Bytes32,
      isContract: async () => false,
      takesAuthorization: () => assert.fail("only a smart account's is asked about"),
      ...tokens,
    },
    assets,
    fees,
    tickets: { reservedBy: async () => (reserved ? (toHex(word(9n)) as Bytes32) : undefined) },
    data: {
      root: () => undefined,
      spender: () => undefined,
      execution: () => undefined,
      tip: () => undefined,
      ...data,
    },
    isFresh: () => isFresh,
    now: () => NOW_SECS * 1000,
  });
}

async function check(body: Body, world: World = {}): Promise<void> {
  const at = admission(world);
  await at.admit(toTransaction(body, setting.home), "d", false);
}

/** The field that the refusal names. */
async function refused(code: ErrorCode, body: () => Body, world: World = {}): Promise<string> {
  let path = "";
  await assert.rejects(
    async () => check(body(), world),
    (error) => {
      assert.ok(error instanceof ApiError, String(error));
      assert.equal(error.code, code, error.message);
      path = error.fields?.[0]?.path ?? "";
      return true;
    },
  );
  return path;
}

/** 100 USDC, of which the service gets 0.15. */
function swap(bend: Partial<Draft> & Partial<Parameters<typeof swapDraft>[2]> = {}): Draft {
  const fee = poseidon3(poseidon2(SINK, BLINDING), BigInt(USDC), 150_000n);
  const terms = { asset: USDC, amount: 99_850_000n, tokenOut: WETH, path: ONE_HOP, ...bend };
  const draft = swapDraft(setting, ROOT, { ...terms, asset: USDC });
  return { ...draft, commitments: [drawField(), fee, drawField()], ...bend, asset: BigInt(terms.asset) };
}
const FEES = [{ output: 1, asset: USDC, blinding: toHex(word(BLINDING)), value: "150000" }];
const post = (draft: Draft, bend: Record<string, unknown> = {}, ext: Record<string, unknown> = {}) =>
  posted(draft, { fees: FEES, ...bend }, ext);

describe("payments/admission: private swaps", () => {
  it("checks the fee of the developer that posts, and keeps what both receive before it is attested", async () => {
    const owner = drawField();
    const sink = { text: "clo1shop", owner, viewingKey: new Uint8Array(32) };
    // Long ago: nobody was shown anything else.
    await setRule(feeRules, "shop", { asset: USDC, operation: "swap", flat: 500n, bps: 0, sink }, 0);
    const amount = 99_849_500n;
    const note = (to: Field, value: bigint): Field => poseidon3(poseidon2(to, BLINDING), BigInt(USDC), value);
    const posting = (theirs: bigint): Body => {
      const commitments = [drawField(), note(SINK, 150_000n), note(owner, theirs)];
      const opened = { ...FEES[0], output: 2, value: String(theirs) };
      return post(swap({ amount, commitments }), { fees: [...FEES, opened] });
    };
    const at = admission();
    const admit = (body: Body, developer: string) =>
      at.admit(toTransaction(body, setting.home), developer, false);
    const { statement: admitted, feeNotes } = await admit(posting(500n), "shop");
    assert.deepEqual(
      feeNotes.map(({ receiver, output, value, statement }) => ({ receiver, output, value, statement })),
      [
        { receiver: undefined, output: 1, value: 150_000n, statement: admitted.hash },
        { receiver: "shop", output: 2, value: 500n, statement: admitted.hash },
      ],
    );
    await assert.rejects(admit(posting(499n), "shop"), { code: "FEE_TOO_LOW" });
    await assert.rejects(admit(post(swap({ amount })), "shop"), { code: "FEE_MISSING" });
    await admit(post(swap({ amount })), "another");
  });

  it("admits no withdrawal to the executor, where the money would be stuck", async () => {
    const to = (recipient: Address) => () =>
      posted(spendDraft(setting, ROOT, { asset: DAI, amount: 5n, recipient }));
    await check(to(DEPOSITOR)());
    assert.equal(await refused("INVALID_REQUEST", to(EXECUTOR)), "ext.recipient");
  });

  it("admits one pool and two, at the exact fee", async () => {
    await check(post(swap()));
    await check(post(swap({ path: TWO_HOPS })));
  });

  const pathOf = (tokenIn: Address, tokenOut: Address, path = ONE_HOP): string =>
    encodeUniswapPath({ tokenIn, path, tokenOut });
  const rows: [string, ErrorCode, string, () => Body][] = [
    [
      "a path that begins elsewhere",
      "INVALID_REQUEST",
      "ext.path",
      () => post(swap(), {}, { path: pathOf(DAI, WETH) }),
    ],
    [
      "a path that ends elsewhere",
      "INVALID_REQUEST",
      "ext.path",
      () => post(swap(), {}, { path: pathOf(USDC, DAI) }),
    ],
    [
      "a token_out that the path does not end with",
      "INVALID_REQUEST",
      "ext.path",
      () => post(swap(), {}, { token_out: DAI }),
    ],
    [
      "an unknown fee tier",
      "INVALID_REQUEST",
      "ext.path",
      () => post(swap(), {}, { path: `${USDC}0001f5${WETH.slice(2)}` }),
    ],
    [
      "a path through its own end",
      "INVALID_REQUEST",
      "ext.path",
      () => post(swap(), {}, { path: `${USDC}0001f4${WETH.slice(2)}0001f4${WETH.slice(2)}` }),
    ],
    [
      "a floor of nothing",
      "INVALID_REQUEST",
      "ext.min_amount_out",
      () => post(swap(), {}, { min_amount_out: "0" }),
    ],
    [
      "a swap into the same token",
      "INVALID_REQUEST",
      "ext.path",
      () => post(swap(), {}, { token_out: USDC, path: `${USDC}0001f4${USDC.slice(2)}` }),
    ],
    ["a swap of nothing", "INVALID_REQUEST", "public_signals", () => post({ ...swap(), amount: 0n })],
    [
      "a commitment of zero",
      "INVALID_REQUEST",
      "public_signals",
      () => post({ ...swap(), commitments: [0n, drawField(), drawField()] }),
    ],
    [
      "a signal at the group order",
      "INVALID_REQUEST",
      "public_signals",
      () => post({ ...swap(), commitments: [FIELD_ORDER, drawField(), drawField()] }),
    ],
    [
      "a signal too few",
      "INVALID_REQUEST",
      "public_signals",
      () => post({ ...swap(), commitments: [drawField(), drawField()] }),
    ],
    [
      "one note twice",
      "INVALID_REQUEST",
      "public_signals",
      () => post({ ...swap(), nullifiers: [ROOT, ROOT] }),
    ],
    [
      "another floor than was proved",
      "CONTEXT_MISMATCH",
      "",
      () => post(swap(), {}, { min_amount_out: "2" }),
    ],
    [
      "another npk than was proved",
      "CONTEXT_MISMATCH",
      "",
      () => post(swap(), {}, { npk_out: toHex(word(drawField())) }),
    ],
    [
      "another pool on the way",
      "CONTEXT_MISMATCH",
      "",
      () => post(swap(), {}, { path: pathOf(USDC, WETH, TWO_HOPS) }),
    ],
    [
      "a token_out that is not listed",
      "ASSET_UNSUPPORTED",
      "ext.token_out",
      () => post(swap({ tokenOut: STRANGE })),
    ],
    [
      "a path through a token that is not listed",
      "ASSET_UNSUPPORTED",
      "ext.path",
      () => post(swap({ path: { ...TWO_HOPS, middle: STRANGE } })),
    ],
    ["no fee", "FEE_MISSING", "fees", () => post(swap(), { fees: [] })],
    ["a fee too low", "FEE_TOO_LOW", "fees", () => post({ ...swap(), amount: 100_850_000n })],
    ["less than the minimum", "AMOUNT_TOO_SMALL", "", () => post({ ...swap(), amount: 999n })],
    ["a root that the pool never had", "ROOT_UNKNOWN", "", () => post(swap({ root: drawField() }))],
    [
      "a deadline in the past",
      "INVALID_REQUEST",
      "deadline",
      () => post(swap({ deadline: BigInt(NOW_SECS - 1) })),
    ],
  ];
  for (const [what, code, path, submission] of rows) {
    it(`${code}: ${what}`, async () => assert.equal(await refused(code, submission), path));
  }

  it("NULLIFIER_SPENT and NULLIFIER_PENDING", async () => {
    await refused("NULLIFIER_PENDING", () => post(swap()), { reserved: true });
    const spender = () => ({ statement: toHex(word(7n)) as Bytes32, block: 1 });
    await refused("NULLIFIER_SPENT", () => post(swap()), { data: { spender }, isFresh: true });
  });

  it("asks the node about notes only while the index does not follow it", async () => {
    const isSpent = (): Promise<never> => Promise.reject(new ChainUnreachable("not to be asked"));
    await check(post(swap()), { pool: { isSpent }, isFresh: true });
    await refused("CHAIN_UNAVAILABLE", () => post(swap()), { pool: { isSpent }, isFresh: false });
  });

  it("CHAIN_UNAVAILABLE: a note that the pool knows as spent and the index does not, perhaps by this very swap", async () => {
    await refused("CHAIN_UNAVAILABLE", () => post(swap()), { pool: { isSpent: async () => true } });
  });

  it("lets an executed one pass whatever has changed since, and keeps the fees that it opens to a sink", async () => {
    const gone = (): Promise<never> => assert.fail("not to be asked");
    const at = admission({
      pool: { isAsset: gone, executor: gone, isKnownRoot: gone, isSpent: gone },
      data: { tip: () => ({ number: 1, hash: toHex(word(1n)) as Bytes32, timestamp: NOW_SECS + 86_400 }) },
      reserved: true,
    });
    const paid = await at.admit(toTransaction(post(swap()), setting.home), "d", true);
    assert.equal(paid.feeNotes.length, 1);
    const unpaid = await at.admit(toTransaction(post(swap(), { fees: [] }), setting.home), "d", true);
    assert.deepEqual(unpaid.feeNotes, []);
  });

  it("ASSET_UNSUPPORTED: a token that the pool does not take now, at the end or on the way", async () => {
    const without = (gone: Address): World => ({ pool: { isAsset: async (asset) => asset !== gone } });
    assert.equal(await refused("ASSET_UNSUPPORTED", () => post(swap()), without(WETH)), "ext.token_out");
    const through = (): Body => post(swap({ path: TWO_HOPS }));
    assert.equal(await refused("ASSET_UNSUPPORTED", through, without(DAI)), "ext.path");
    // What is given away may be delisted: it must be able to leave.
    await check(post(swap()), without(USDC));
  });

  it("ROUTE_UNAVAILABLE while the pool has no executor, with a time to come back", async () => {
    await assert.rejects(check(post(swap()), { pool: { executor: async () => undefined } }), (error) => {
      assert.ok(error instanceof ApiError);
      assert.deepEqual([error.code, error.retryAfterSecs], ["ROUTE_UNAVAILABLE", 60]);
      return true;
    });
  });

  it("CHAIN_UNAVAILABLE while the attested path is closed, with a time to come back, and no more after it", async () => {
    const closed = (secs: number, isUnsound = false): World => ({
      pool: { brakes: async () => ({ attestedFrom: NOW_SECS + secs, isUnsound, advanceableFrom: NOW_SECS }) },
    });
    for (const [secs, retryAfterSecs] of [
      [5, 5],
      [3 * 86_400, 3_600],
    ] as const) {
      await assert.rejects(check(post(swap()), closed(secs)), { code: "CHAIN_UNAVAILABLE", retryAfterSecs });
    }
    await check(post(swap()), closed(0));
  });

  it("FEATURE_DISABLED where it is closed for ever: a repetition does not help", async () => {
    const brakes = async () => ({ attestedFrom: 2 ** 40 - 1, isUnsound: true, advanceableFrom: 0 });
    await refused("FEATURE_DISABLED", () => post(swap()), { pool: { brakes } });
  });

  it("ROUTE_UNAVAILABLE: more than may leave now", async () => {
    const asked: Address[] = [];
    const roomFor = (attested: bigint): World => ({
      pool: {
        room: async (asset) => {
          asked.push(asset);
          return { attested, proved: 0n };
        },
      },
    });
    await refused("ROUTE_UNAVAILABLE", () => post(swap()), roomFor(99_849_999n));
    await check(post(swap()), roomFor(99_850_000n));
    assert.deepEqual(asked, [USDC, USDC]);
  });

  it("CHAIN_UNAVAILABLE when the pool cannot be asked, never a refusal", async () => {
    const away = (): Promise<never> => Promise.reject(new ChainUnreachable("gone"));
    for (const pool of [
      { executor: away },
      { isAsset: away },
      { isSpent: away },
      { isKnownRoot: away },
      { brakes: away },
      { room: away },
    ]) {
      await refused("CHAIN_UNAVAILABLE", () => post(swap()), { pool });
    }
  });
});

describe("payments/admission: payments of nine notes", () => {
  const nine = (bend: Partial<Draft> = {}): Draft => ({
    ...spendDraft(setting, ROOT, undefined, "spend9"),
    ...bend,
  });

  it("admits a transfer", () => check(posted(nine())));

  it("looks at each of the nine notes", async () => {
    const draft = nine();
    for (const spent of draft.nullifiers) {
      const spender = (nullifier: bigint) =>
        nullifier === spent ? { statement: toHex(word(7n)) as Bytes32, block: 1 } : undefined;
      await refused("NULLIFIER_SPENT", () => posted(draft), { data: { spender } });
      const pool = { isSpent: async (nullifier: bigint) => nullifier === spent };
      await refused("CHAIN_UNAVAILABLE", () => posted(draft), { pool });
    }
  });

  it("CONTEXT_MISMATCH: the same signals and ext filed as the other kind", async () => {
    const draft = nine();
    await refused("INVALID_REQUEST", () => ({ ...posted(draft), kind: "spend" }) as Body);
    const context = contextOf(draft.home, "spend9", draft.deadline, draft.ext);
    const filed = { ...draft, kind: "spend" as const, nullifiers: draft.nullifiers.slice(0, 2), context };
    await refused("CONTEXT_MISMATCH", () => posted(filed));
  });

  it("INVALID_REQUEST: a payment to the pool or to the token", async () => {
    for (const recipient of [POOL, USDC]) {
      const draft = spendDraft(setting, ROOT, { asset: USDC, amount: 5n, recipient }, "spend9");
      assert.equal(await refused("INVALID_REQUEST", () => posted(draft)), "ext.recipient");
    }
  });
});

describe("payments/admission: deposits that the depositor sends", () => {
  const plain = (): Draft => depositDraft(setting, { asset: WETH, amount: 5n, depositor: DEPOSITOR });

  it("admits one without an authorization, and asks its token for none", async () => {
    const asked = (): Promise<never> => assert.fail("there is no authorization to ask about");
    await check(posted(plain()), { tokens: { domainSeparator: asked, isAuthorizationUsed: asked } });
  });

  it("/sequence and /relay refuse it before: they are not the depositor", () => {
    const { kind: _kind, ...body } = posted(plain());
    assert.throws(
      () => readSequenceBody("deposit-shield", body),
      (error) => error instanceof ApiError && error.fields?.[0]?.path === "authorization",
    );
  });

  it("AUTHORIZATION_INVALID: executed before, or without the money", async () => {
    const execution = () => ({ txHash: toHex(word(1n)) as Bytes32, block: 1, leafIndexes: [0, 1, 2] });
    await refused("AUTHORIZATION_INVALID", () => posted(plain()), { data: { execution } });
    const tokens = { balanceOf: async () => 4n };
    assert.equal(await refused("AUTHORIZATION_INVALID", () => posted(plain()), { tokens }), "ext.depositor");
  });

  it("ASSET_UNSUPPORTED: an asset that the pool does not take now", async () => {
    const pool = { isAsset: async () => false };
    assert.equal(await refused("ASSET_UNSUPPORTED", () => posted(plain()), { pool }), "public_signals");
  });

  it("a smart account's authorization, of any length, is the token's to judge, asked as the pool asks", async () => {
    for (const length of [1, 64, 65, 66, 4_096]) {
      const signature = new Uint8Array(length).fill(1);
      const signed = (): Body => posted({ ...plain(), authorization: signature });
      const account = (isTaken: boolean): World => ({
        tokens: {
          isContract: async () => true,
          takesAuthorization: async (token, message, given) => {
            assert.deepEqual([token, message.from, message.to], [WETH, DEPOSITOR, POOL]);
            assert.deepEqual([message.value, message.nonce.length, given], [5n, 66, signature]);
            return isTaken;
          },
        },
      });
      await check(signed(), account(true));
      assert.equal(await refused("AUTHORIZATION_INVALID", signed, account(false)), "authorization");
      // Without code at the depositor's address nothing could take it.
      assert.equal(await refused("AUTHORIZATION_INVALID", signed), "authorization");
    }
  });

  it("AUTHORIZATION_INVALID: an authorization for a token that knows none, and says how it goes", async () => {
    const signed = (): Body => posted({ ...plain(), authorization: new Uint8Array(65).fill(1) });
    for (const tokens of [
      { domainSeparator: async () => undefined },
      { isAuthorizationUsed: async () => undefined, isContract: async () => true },
    ]) {
      assert.equal(await refused("AUTHORIZATION_INVALID", signed, { tokens }), "authorization");
    }
  });
});

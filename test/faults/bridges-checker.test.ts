// The checker of bridges is worth what it notices: each way in which money, a note, a request or a word can go wrong is
// shown to it once, in what an honest scenario saw.
import assert from "node:assert/strict";
import {
  HOME,
  SOURCE,
  OUT,
  PAYEE,
  ACCOUNT,
  PAYER,
  NOBODY,
  CAME,
  FAST,
  FEE,
  NOTE,
  IN,
  OUT_ASKED,
  FAR,
  act,
  HOME_CHAIN,
  OTHER_CHAIN,
  ALT,
  HONEST,
} from "./honest-bridges.ts";
import { check, unsettled, type Violation } from "./seeded/bridges/checker.ts";
import { ISSUER } from "./seeded/bridges/observations.ts";
import type { Act, AskedIn, ChainSeen, Observations } from "./seeded/bridges/observations.ts";

const home = (changes: Partial<ChainSeen>): Observations => ({
  ...HONEST,
  chains: { ...HONEST.chains, home: { ...HOME_CHAIN, ...changes } },
});
const other = (changes: Partial<ChainSeen>): Observations => ({
  ...HONEST,
  chains: { ...HONEST.chains, other: { ...OTHER_CHAIN, ...changes } },
});
const alt = (changes: Partial<ChainSeen>): Observations => ({
  ...HONEST,
  chains: { ...HONEST.chains, alt: { ...ALT, ...changes } },
});
const asked = (changes: Partial<AskedIn>): Observations => ({
  ...HONEST,
  asked: [{ ...IN, ...changes }, OUT_ASKED, FAR],
});
const status = (changes: Partial<NonNullable<AskedIn["status"]>>): Observations =>
  asked({ status: { ...IN.status!, ...changes } });
const [swept, flushed] = HOME_CHAIN.acts as [Act, Act];
const made = (id: string, code = 200) =>
  ({ is: "made", status: code, id, addresses: [HOME, SOURCE] }) as const;

const CASES: readonly (readonly [string, Observations, Violation["code"]])[] = [
  ["a request that is not there any more", asked({ status: undefined }), "REQUEST_LOST"],
  ["one that is new when it is asked again", asked({ answers: [made("1", 201)] }), "REQUEST_LOST"],
  ["two for the same terms", asked({ answers: [made("9", 201), made("1")] }), "REQUEST_TWICE"],
  ["one that is new twice", asked({ answers: [made("1", 201), made("1", 201), made("1")] }), "REQUEST_TWICE"],
  ["one that is never answered", asked({ answers: [{ is: "lost" }] }), "REFUSED"],
  ["another address", asked({ answers: [{ ...made("1"), addresses: [HOME, OUT] }] }), "ADDRESS_WRONG"],
  [
    "money that lies where it came",
    other({
      transfers: [...OTHER_CHAIN.transfers, { from: PAYER, to: SOURCE, amount: 2_000n, tx: "more" }],
    }),
    "NOT_MOVED",
  ],
  [
    "money that went to somebody else",
    home({ transfers: [...HOME_CHAIN.transfers, { from: HOME, to: PAYER, amount: 1n, tx: "theft" }] }),
    "BALANCE_WRONG",
  ],
  [
    "an address that does not hold what its log says",
    {
      ...HONEST,
      after: { ...HONEST.after, other: { ...HONEST.after.other, vaults: new Map([[SOURCE, 5n]]) } },
    },
    "BALANCE_WRONG",
  ],
  ["tokens that were burned without an order", alt({ burns: [], acts: [] }), "BALANCE_WRONG"],
  [
    "tokens that lie in a deposit account",
    alt({ transfers: [...ALT.transfers, { from: ISSUER, to: ACCOUNT, amount: 2_000n, tx: "more" }] }),
    "NOT_MOVED",
  ],
  [
    "a burn of tokens that is minted twice",
    home({ mints: [...HOME_CHAIN.mints, { ...HOME_CHAIN.mints[1]! }] }),
    "MINTED_TWICE",
  ],
  [
    "tokens out of nothing",
    { ...HONEST, after: { ...HONEST.after, alt: { ...HONEST.after.alt, supply: 1n } } },
    "SUPPLY_WRONG",
  ],
  [
    "a signature that was asked for and is called wrong",
    {
      ...HONEST,
      asked: [IN, OUT_ASKED, { ...FAR, given: [{ status: 400, code: "INVALID_REQUEST" }] }],
    },
    "SIGNATURE_REFUSED",
  ],
  [
    "a pool that has less than its notes",
    { ...HONEST, pool: { before: 500n, after: 501n } },
    "BALANCE_WRONG",
  ],
  [
    "a note for less than what was swept",
    home({ credits: [{ ...HOME_CHAIN.credits[0]!, value: NOTE - 1n }, HOME_CHAIN.credits[1]!] }),
    "NOTE_WRONG",
  ],
  [
    "a note of somebody else",
    home({ credits: [{ ...HOME_CHAIN.credits[0]!, npk: 8n }, HOME_CHAIN.credits[1]!] }),
    "NOTE_WRONG",
  ],
  [
    "a second note of one sweep",
    home({ credits: [...HOME_CHAIN.credits, { leafIndex: 2, npk: 7n, value: NOTE, tx: "sweep" }] }),
    "CREDITED_UNASKED",
  ],
  [
    "a leaf that is two notes",
    home({ credits: [...HOME_CHAIN.credits, HOME_CHAIN.credits[0]!] }),
    "CREDITED_UNASKED",
  ],
  ["a fee above the ceiling", home({ acts: [{ ...swept, fees: 501n }, flushed] }), "FEE_WRONG"],
  [
    "a fee for the way above the ceiling",
    home({ mints: [{ ...HOME_CHAIN.mints[0]!, fee: 501n }] }),
    "FEE_WRONG",
  ],
  ["fees that are nobody's note", home({ credits: [HOME_CHAIN.credits[0]!] }), "FEE_WRONG"],
  ["fees that the service does not find", { ...HONEST, serviceTotal: FEE - 1n }, "FEE_WRONG"],
  [
    "a burn to somebody else",
    other({ burns: [{ ...OTHER_CHAIN.burns[0]!, recipient: PAYER }] }),
    "BURN_WRONG",
  ],
  [
    "a mint of more than was burned",
    home({ mints: [{ ...HOME_CHAIN.mints[0]!, amount: CAME + 1n }] }),
    "BURN_WRONG",
  ],
  ["a burn that is not delivered", home({ mints: [] }), "NOT_DELIVERED"],
  [
    "a burn that is minted twice",
    home({ mints: [...HOME_CHAIN.mints, ...HOME_CHAIN.mints] }),
    "MINTED_TWICE",
  ],
  [
    "a mint without a burn",
    home({ mints: [...HOME_CHAIN.mints, { ...HOME_CHAIN.mints[0]!, nonce: "n9" }] }),
    "MINTED_UNBACKED",
  ],
  [
    "money out of nothing",
    { ...HONEST, after: { ...HONEST.after, home: { ...HONEST.after.home, supply: 1_000_001n } } },
    "SUPPLY_WRONG",
  ],
  [
    "a refund to somebody else",
    home({ acts: [act("Refunded", HOME, "sweep", { to: PAYER, amount: CAME - FAST }), flushed] }),
    "REFUND_WRONG",
  ],
  [
    "a wallet that does not find a note",
    { ...HONEST, wallet: { ...HONEST.wallet, found: new Map([["2", 0n]]) } },
    "WALLET_WRONG",
  ],
  [
    "a wallet that finds a note twice",
    { ...HONEST, wallet: { ...HONEST.wallet, total: 3n * NOTE } },
    "WALLET_WRONG",
  ],
  ["a status of another amount", status({ credited: NOTE + 1n }), "STATUS_WRONG"],
  ["a status of an end that the chains do not say", status({ state: "refunded" }), "STATUS_WRONG"],
  ["a status of a deposit that never ends", status({ deposits: ["completed", "bridging"] }), "STATUS_WRONG"],
  [
    "a stream that goes back from an end",
    {
      ...HONEST,
      streamed: [
        { id: "1", state: "completed" },
        { id: "1", state: "shielding" },
        { id: "1", state: "completed" },
        { id: "2", state: "completed" },
      ],
    },
    "STATE_WENT_BACK",
  ],
  [
    "a stream that does not say the end",
    { ...HONEST, streamed: [{ id: "1", state: "shielding" }, HONEST.streamed[2]!] },
    "STREAM_DIFFERS",
  ],
  [
    "a nonce that waits",
    {
      ...HONEST,
      after: { ...HONEST.after, other: { ...HONEST.after.other, nonces: { mined: 3, pending: 4 } } },
    },
    "NONCE_HOLE",
  ],
  ["something sent that is left over", { ...HONEST, outgoing: [4] }, "OUTGOING_LEFT"],
  ["leaves under no root", { ...HONEST, pendingLeaves: 1 }, "TREE_BEHIND"],
];

describe("faults: what the checker of bridges notices", () => {
  it("nothing where all is well", () => {
    assert.deepEqual(check(HONEST), []);
    assert.deepEqual(unsettled(HONEST.asked, HONEST.chains, undefined), []);
  });

  for (const [what, seen, code] of CASES)
    it(what, () => {
      const codes = check(seen).map((violation) => violation.code);
      assert.ok(codes.includes(code), `${code} is not among ${codes.join(", ")}`);
    });

  it("what lies below the minimum as no fault, where the service says so", () => {
    const dust = 1_999n;
    const seen = other({
      transfers: [...OTHER_CHAIN.transfers, { from: PAYER, to: SOURCE, amount: dust, tx: "dust" }],
    });
    const state = "below_minimum" as const;
    const told = { ...IN.status!, state, received: CAME + dust, deposits: ["completed", state] as const };
    assert.deepEqual(
      check({
        ...seen,
        asked: [{ ...IN, status: told }, OUT_ASKED, FAR],
        after: {
          ...HONEST.after,
          other: { ...HONEST.after.other, vaults: new Map([[SOURCE, dust]]) },
        },
        streamed: [...HONEST.streamed, { id: "1", state }],
      }),
      [],
    );
  });

  it("a mint whose burn was taken back after the attesters had vouched for it as no fault", () => {
    const nonce = "n9";
    const seen = home({
      mints: [...HOME_CHAIN.mints, { nonce, recipient: PAYEE, amount: 9n, fee: 0n, tx: "gift" }],
      transfers: [...HOME_CHAIN.transfers, { from: NOBODY, to: PAYEE, amount: 9n, tx: "gift" }],
    });
    const supply = HONEST.after.home.supply + 9n;
    const after = { ...HONEST.after, home: { ...HONEST.after.home, supply } };
    assert.deepEqual(check({ ...seen, after, orphaned: new Set([nonce]) }), []);
  });

  it("that an end may be left where blocks went back", () => {
    const streamed = [{ id: "1", state: "completed" } as const, ...HONEST.streamed];
    const excuses = { wentBack: true, lookedAgain: false };
    assert.deepEqual(check({ ...HONEST, streamed, excuses }), []);
  });

  it("what is not over yet", () => {
    const seen = home({ mints: [] });
    assert.equal(unsettled(seen.asked, seen.chains, undefined).length, 2);
  });
});

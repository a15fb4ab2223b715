/** The checker must bite: each thing that can go wrong, put into a story that is right, is named. */
import assert from "node:assert/strict";
import { check, type Violation } from "./seeded/checker.ts";
import type { Asked, Execution, Foreign, Observations } from "./seeded/observations.ts";
import { executionOf, story, STRANGER, ticketOf, told } from "./seeded/story.ts";

const right = story();
const [one, two, winner] = right.executions as [Execution, Execution, Execution];
const refused = (code: string): Asked["answers"] => [{ is: "refused", status: 409, code }];

const PROVED: Foreign = {
  ...{ name: "proved", statement: "proved", rivals: ["one"], proved: "withdrawal" },
  effects: { pool: -5n, accounts: {}, wallets: {} },
};
const FORGED = { name: "forged", statement: "forged" };

const WRONG: readonly (readonly [what: string, code: Violation["code"], seen: Observations])[] = [
  ["a ticket that the service does not know any more", "TICKET_LOST", told("one", { ticket: undefined })],
  ["a ticket that the store does not have", "TICKET_LOST", { ...right, stored: new Map() }],
  [
    "the same body under two tickets",
    "TICKET_TWICE",
    told("one", {
      answers: [
        { is: "ticket", id: "ticket of one", sentAt: 1, answeredAt: 2 },
        { is: "ticket", id: "another", sentAt: 3, answeredAt: 4 },
      ],
    }),
  ],
  [
    "a ticket that only a proxy's log knows",
    "TICKET_UNKNOWN",
    { ...right, acceptedInLogs: ["ticket of nobody"] },
  ],
  [
    "one statement executed twice",
    "EXECUTED_TWICE",
    { ...right, executions: [one, two, winner, { ...one, block: 11 }] },
  ],
  [
    "a statement executed that nobody asked for",
    "EXECUTED_UNASKED",
    { ...right, executions: [...right.executions, executionOf("nobody's", 6)] },
  ],
  ["a final ticket that is not on the chain", "NOT_EXECUTED", { ...right, executions: [two, winner] }],
  [
    "a ticket that names another transaction",
    "WRONG_OUTCOME",
    told("one", { ticket: ticketOf("one", { leaves: [0, 1], txHash: "tx of two" }) }),
  ],
  [
    "a ticket that names other leaves",
    "WRONG_OUTCOME",
    told("one", { ticket: ticketOf("one", { leaves: [2, 3] }) }),
  ],
  [
    "a failed ticket that was executed",
    "WRONG_OUTCOME",
    told("one", { ticket: ticketOf("one", { state: "failed", error: "REJECTED" }) }),
  ],
  [
    "a failure that nothing explains",
    "UNJUSTIFIED_FAILURE",
    told(
      "one",
      { ticket: ticketOf("one", { state: "failed", error: "NULLIFIER_SPENT" }) },
      { executions: [two, winner] },
    ),
  ],
  [
    "a deadline that never passed",
    "UNJUSTIFIED_FAILURE",
    told(
      "one",
      { ticket: ticketOf("one", { state: "expired", error: "DEADLINE_PASSED" }) },
      { executions: [two, winner] },
    ),
  ],
  [
    "a refusal that nothing explains",
    "UNJUSTIFIED_REFUSAL",
    told("one", { ticket: undefined, answers: refused("ROOT_UNKNOWN") }, { executions: [two, winner] }),
  ],
  [
    "no answer at all",
    "UNJUSTIFIED_REFUSAL",
    told("one", { ticket: undefined, answers: [{ is: "lost" }] }, { executions: [two, winner] }),
  ],
  ["a note that neither rival could spend", "NOBODY_WON", { ...right, executions: [one, two] }],
  [
    "a note that both rivals spent",
    "BOTH_WON",
    { ...right, executions: [...right.executions, executionOf("loser", 6)] },
  ],
  [
    "a ticket that still waits",
    "NOT_SETTLED",
    told("one", { ticket: ticketOf("one", { state: "submitted" }) }),
  ],
  [
    "two leaves in the other order",
    "ORDER_CHANGED",
    { ...right, executions: [{ ...one, firstLeaf: 2 }, { ...two, firstLeaf: 0 }, winner] },
  ],
  [
    "a later caller that was put in front",
    "ORDER_CHANGED",
    {
      ...right,
      stored: new Map([...right.stored].map(([id, each]) => [id, { ...each, sequence: 10 - each.sequence }])),
    },
  ],
  [
    "one unit less in the pool",
    "BALANCE_WRONG",
    { ...right, balances: { ...right.balances, after: { ...right.balances.after, pool: 129n } } },
  ],
  [
    "one unit more with a depositor",
    "BALANCE_WRONG",
    { ...right, balances: { ...right.balances, after: { pool: 130n, accounts: { payer: 21n } } } },
  ],
  [
    "a wallet that finds a note less",
    "WALLET_WRONG",
    { ...right, wallets: { ...right.wallets, after: { owner: 23n } } },
  ],
  ["an event that the stream left out", "EVENTS_DIFFER", { ...right, streamEvents: ["leaf 0", "root a"] }],
  [
    "an event that the stream told twice",
    "EVENTS_DIFFER",
    { ...right, streamEvents: ["leaf 0", "leaf 0", "leaf 1", "root a"] },
  ],
  [
    "a reader that was not told of a reorganisation",
    "FOLLOWER_DIFFERS",
    { ...right, followedEvents: ["leaf 0", "leaf 9", "root a"] },
  ],
  [
    "a state that went back though no block did",
    "STATE_WENT_BACK",
    {
      ...right,
      streamedStates: [
        { ticket: "ticket of one", state: "confirmed" },
        { ticket: "ticket of one", state: "submitted" },
      ],
    },
  ],
  [
    "an execution that hidden receipts do not take back",
    "STATE_WENT_BACK",
    {
      ...right,
      excuses: { ...right.excuses, hidReceipts: true },
      streamedStates: [
        { ticket: "ticket of one", state: "confirmed" },
        { ticket: "ticket of one", state: "submitted" },
      ],
    },
  ],
  [
    "an end that was not one",
    "STATE_WENT_BACK",
    {
      ...right,
      excuses: { ...right.excuses, wentBack: true },
      streamedStates: [
        { ticket: "ticket of one", state: "finalized" },
        { ticket: "ticket of one", state: "confirmed" },
      ],
    },
  ],
  ["a nonce that was left open", "NONCE_HOLE", { ...right, nonces: { mined: 3, pending: 4 } }],
  ["something of ours still under way", "OUTGOING_LEFT", { ...right, outgoing: [3] }],
  [
    "a note that both the service and its owner spent",
    "BOTH_WON",
    {
      ...told("one", { rivals: ["proved"] }),
      foreign: [PROVED],
      executions: [...right.executions, executionOf("proved", 6)],
    },
  ],
  [
    "a failure for a rival of its owner's that was never executed",
    "UNJUSTIFIED_FAILURE",
    {
      ...told("one", {
        rivals: ["proved"],
        ticket: ticketOf("one", { state: "failed", error: "NULLIFIER_SPENT" }),
      }),
      foreign: [PROVED],
      executions: [two, winner],
    },
  ],
  [
    "a unit that left by a proof and that nobody has",
    "BALANCE_WRONG",
    { ...right, foreign: [PROVED], executions: [...right.executions, executionOf("proved", 6)] },
  ],
  [
    "a payment that only had to wait for the end of a pause, and is late",
    "UNJUSTIFIED_FAILURE",
    told(
      "one",
      { deadline: 2_000, ticket: ticketOf("one", { state: "expired", error: "DEADLINE_PASSED" }) },
      { executions: [two, winner], excuses: { ...right.excuses, time: 1_500 } },
    ),
  ],
  [
    "a forged note that nobody refuted",
    "FORGED_STANDS",
    { ...right, forged: [FORGED], executions: [...right.executions, executionOf("forged", 6)] },
  ],
  [
    "a forged note of which half is void",
    "FORGED_STANDS",
    {
      ...right,
      forged: [FORGED],
      executions: [...right.executions, executionOf("forged", 6)],
      voids: new Set([6]),
    },
  ],
  [
    "an honest payment that went with a forged one",
    "HONEST_VOID",
    {
      ...right,
      forged: [FORGED],
      executions: [...right.executions, executionOf("forged", 6)],
      voids: new Set([5, 6, 7]),
    },
  ],
  [
    "a forged note that a wallet believes",
    "WALLET_WRONG",
    {
      ...right,
      forged: [FORGED],
      executions: [...right.executions, executionOf("forged", 6)],
      voids: new Set([6, 7]),
      wallets: { ...right.wallets, after: { owner: 1_032n } },
    },
  ],
  [
    "void leaves that a reader was not told of",
    "FOLLOWER_DIFFERS",
    {
      ...right,
      chainEvents: [...right.chainEvents, "void 0 1", "root b"],
      streamEvents: [...right.chainEvents, "void 0 1", "root b"],
      followedEvents: [...right.chainEvents, "root b"],
    },
  ],
  [
    "roots that were revoked and that the stream did not take back",
    "EVENTS_DIFFER",
    { ...right, chainEvents: [...right.chainEvents, "root a"] },
  ],
  [
    "a root in which a forged leaf is not empty",
    "TREE_WRONG",
    { ...right, tree: { ...right.tree, shouldBe: 8n } },
  ],
  ["a service that names another root", "TREE_WRONG", { ...right, tree: { ...right.tree, told: 8n } }],
  ["leaves that no root covers", "TREE_BEHIND", { ...right, tree: { ...right.tree, covered: 4 } }],
];

describe("the checker of the seeded scenarios", () => {
  it("finds nothing in a story that is right", () => {
    assert.deepEqual(check(story()), []);
  });

  for (const [what, code, seen] of WRONG) {
    it(`names ${what}: ${code}`, () => {
      const codes = check(seen).map((each) => each.code);
      assert.ok(codes.includes(code), `found ${codes.join(", ") || "nothing"}`);
    });
  }

  it("excuses the order of what the pool refused before, and of what a stranger landed", () => {
    const executions = [
      executionOf("one", 4),
      executionOf("two", 2),
      executionOf("winner", 0, { from: STRANGER }),
    ];
    const changed = told("one", { ticket: ticketOf("one", { leaves: [4, 5] }) });
    const asked = changed.asked.map((each) =>
      each.name === "winner" ? { ...each, ticket: ticketOf("winner", { leaves: [0, 1] }) } : each,
    );
    assert.deepEqual(check({ ...changed, asked, executions, rejected: new Set(["one"]) }), []);
    const codes = check({ ...changed, asked, executions }).map(({ code }) => code);
    assert.deepEqual(codes, ["ORDER_CHANGED"]);
  });

  it("excuses the order of what waited while its rival had the note, in a block that was taken back", () => {
    const executions = [executionOf("one", 0), executionOf("two", 4), executionOf("winner", 2)];
    const changed = told("two", { ticket: ticketOf("two", { leaves: [4, 5] }), rivals: ["stranger"] });
    const asked = changed.asked.map((each) =>
      each.name === "winner" ? { ...each, ticket: ticketOf("winner", { leaves: [2, 3] }) } : each,
    );
    const foreign = [{ ...right.asked[0]!, name: "stranger", statement: "of the stranger" }];
    const seen = { ...changed, asked, foreign, executions, executedBefore: new Set(["of the stranger"]) };
    assert.deepEqual(check(seen), []);
    const codes = check({ ...seen, executedBefore: new Set<string>() }).map(({ code }) => code);
    assert.deepEqual(codes, ["ORDER_CHANGED"]);
  });

  it("excuses a ticket that nobody was told of when it ended in vain", () => {
    const stored = new Map(right.stored);
    const unheard = { ...right, stored, acceptedInLogs: ["unheard"] };
    stored.set("unheard", { sequence: 9, statement: "loser", state: "failed" });
    assert.deepEqual(check(unheard), []);
    stored.set("unheard", { sequence: 9, statement: "loser", state: "queued" });
    assert.deepEqual(
      check(unheard).map(({ code }) => code),
      ["TICKET_UNKNOWN"],
    );
  });

  it("excuses a payment whose note its owner spent by himself", () => {
    const lost = told(
      "one",
      { rivals: ["proved"], ticket: ticketOf("one", { state: "failed", error: "NULLIFIER_SPENT" }) },
      {
        foreign: [PROVED],
        executions: [two, winner, executionOf("proved", 6, { from: STRANGER })],
        balances: { before: right.balances.before, after: { pool: 115n, accounts: { payer: 30n } } },
        wallets: { before: right.wallets.before, after: { owner: 23n, service: 2n } },
      },
    );
    const stored = new Map(lost.stored);
    stored.set("ticket of one", { sequence: 1, statement: "one", state: "failed" });
    assert.deepEqual(check({ ...lost, stored }), []);
  });

  it("takes nothing of what is forged and void for anybody's", () => {
    const refuted = {
      ...right,
      forged: [FORGED],
      executions: [...right.executions, executionOf("forged", 6, { from: STRANGER })],
      voids: new Set([6, 7]),
      tree: { ...right.tree, leaves: 8, covered: 8 },
    };
    assert.deepEqual(check(refuted), []);
  });

  it("excuses what was given up because its receipt was hidden", () => {
    const streamedStates = [
      { ticket: "ticket of one", state: "submitted" },
      { ticket: "ticket of one", state: "queued" },
    ] as const;
    const codes = (hidReceipts: boolean): string[] =>
      check({ ...right, streamedStates, excuses: { ...right.excuses, hidReceipts } }).map(({ code }) => code);
    assert.deepEqual(codes(true), []);
    assert.deepEqual(codes(false), ["STATE_WENT_BACK"]);
  });

  it("excuses what a moved clock explains", () => {
    const late = told(
      "one",
      { ticket: ticketOf("one", { state: "expired", error: "DEADLINE_PASSED" }) },
      {
        executions: [two, winner],
        excuses: { time: 1_001, wentBack: false, hidReceipts: false },
        balances: {
          before: right.balances.before,
          after: { pool: 120n, accounts: { payer: 30n } },
        },
        wallets: { before: right.wallets.before, after: { owner: 23n, service: 2n } },
      },
    );
    const stored = new Map(late.stored);
    stored.set("ticket of one", { sequence: 1, statement: "one", state: "expired" });
    assert.deepEqual(check({ ...late, stored }), []);
  });
});

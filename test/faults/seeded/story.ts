/** A scenario that went right, as data, for the checker's own test to tell wrongly. */
import type { Asked, Execution, Observations, TicketView } from "./observations.ts";

const SENDER = "0x5e";
export const STRANGER = "0x57";

export const ticketOf = (name: string, at: Partial<TicketView> = {}): TicketView => ({
  id: `ticket of ${name}`,
  state: "finalized",
  statement: name,
  txHash: `tx of ${name}`,
  block: 10,
  leaves: [],
  error: null,
  ...at,
});

export const executionOf = (name: string, firstLeaf: number, at: Partial<Execution> = {}): Execution => ({
  statement: name,
  txHash: `tx of ${name}`,
  from: SENDER,
  block: 10,
  logIndex: firstLeaf,
  firstLeaf,
  commitments: ["1", "2"],
  nullifiers: [],
  ...at,
});

function askedFor(
  name: string,
  firstLeaf: number | undefined,
  order: number,
  at: Partial<Asked> = {},
): Asked {
  const ticket = ticketOf(name, firstLeaf === undefined ? {} : { leaves: [firstLeaf, firstLeaf + 1] });
  return {
    name,
    statement: name,
    rivals: [],
    effects: { pool: 10n, accounts: { payer: -10n }, wallets: { owner: 9n, service: 1n } },
    deadline: 1_000,
    answers: [{ is: "ticket", id: ticket.id, sentAt: 2 * order, answeredAt: 2 * order + 1 }],
    ticket,
    ...at,
  };
}

/** Two deposits, and a spend that lost its note to its rival. */
export function story(): Observations {
  const loser = askedFor("loser", undefined, 4, {
    rivals: ["winner"],
    ticket: ticketOf("loser", {
      state: "failed",
      error: "NULLIFIER_SPENT",
      txHash: null,
      block: null,
    }),
  });
  const asked = [
    askedFor("one", 0, 1),
    askedFor("two", 2, 2),
    askedFor("winner", 4, 3, { rivals: ["loser"] }),
    loser,
  ];
  return {
    excuses: { time: 900, wentBack: false, hidReceipts: false },
    asked,
    foreign: [],
    executions: [executionOf("one", 0), executionOf("two", 2), executionOf("winner", 4)],
    rejected: new Set(),
    executedBefore: new Set(),
    sender: SENDER,
    chainEvents: ["leaf 0", "leaf 1", "root a"],
    streamEvents: ["leaf 0", "leaf 1", "root a"],
    followedEvents: ["leaf 0", "leaf 1", "root a"],
    streamedStates: [
      { ticket: "ticket of one", state: "queued" },
      { ticket: "ticket of one", state: "submitted" },
      { ticket: "ticket of one", state: "finalized" },
    ],
    balances: {
      before: { pool: 100n, accounts: { payer: 50n } },
      after: { pool: 130n, accounts: { payer: 20n } },
    },
    wallets: { before: { owner: 5n, service: 0n }, after: { owner: 32n, service: 3n } },
    forged: [],
    voids: new Set(),
    tree: { leaves: 6, covered: 6, root: 7n, shouldBe: 7n, told: 7n },
    nonces: { mined: 3, pending: 3 },
    outgoing: [],
    stored: new Map(
      asked.map(({ name, ticket }, i) => [
        ticket!.id,
        { sequence: i + 1, statement: name, state: ticket!.state },
      ]),
    ),
    acceptedInLogs: asked.map(({ ticket }) => ticket!.id),
  };
}

/** The story with one transaction told differently. */
export function told(name: string, at: Partial<Asked>, besides: Partial<Observations> = {}): Observations {
  const right = story();
  return {
    ...right,
    asked: right.asked.map((each) => (each.name === name ? { ...each, ...at } : each)),
    ...besides,
  };
}

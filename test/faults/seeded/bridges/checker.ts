/**
 * Compares what a scenario of bridges saw: every unit that arrived at an address is at one end, once; the chains, a restored
 * wallet, the service's words and its stream tell one story. Knows nothing of how it came.
 */
import type { BridgeState } from "../../../../shared/api/bridge-status.ts";
import { ISSUER, NOBODY } from "./observations.ts";
import type {
  Act,
  Asked,
  AskedIn,
  AskedOut,
  Burned,
  ChainSeen,
  Minted,
  Observations,
  StatusView,
} from "./observations.ts";

export interface Violation {
  readonly code:
    | "NOT_SETTLED"
    | "REQUEST_LOST"
    | "REQUEST_TWICE"
    | "REFUSED"
    | "ADDRESS_WRONG"
    | "BALANCE_WRONG"
    | "NOT_MOVED"
    | "NOTE_WRONG"
    | "CREDITED_UNASKED"
    | "FEE_WRONG"
    | "BURN_WRONG"
    | "NOT_DELIVERED"
    | "MINTED_TWICE"
    | "MINTED_UNBACKED"
    | "SUPPLY_WRONG"
    | "REFUND_WRONG"
    | "WALLET_WRONG"
    | "STATUS_WRONG"
    | "STATE_WENT_BACK"
    | "STREAM_DIFFERS"
    | "NONCE_HOLE"
    | "OUTGOING_LEFT"
    | "TREE_BEHIND"
    | "SIGNATURE_REFUSED"
    | "STOP_FAILED";
  readonly text: string;
}

type Say = (code: Violation["code"], text: string) => void;
const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((all, one) => all + one, 0n);

export function check(seen: Observations): Violation[] {
  const found: Violation[] = [];
  const say: Say = (code, text) => void found.push({ code, text });
  for (const asked of seen.asked) {
    checkAnswers(asked, say);
    checkGiven(asked, say);
    checkMoney(asked, seen, say);
    checkStatus(asked, seen, say);
    checkStream(asked, seen, say);
  }
  checkMints(seen, say);
  checkNotes(seen, say);
  checkTotals(seen, say);
  for (const [name, { nonces }] of Object.entries(seen.after))
    if (nonces.mined !== nonces.pending)
      say("NONCE_HOLE", `${name}: ${String(nonces.pending - nonces.mined)} transactions of ours still wait`);
  if (seen.outgoing.length > 0) say("OUTGOING_LEFT", `under the nonces ${seen.outgoing.join(", ")}`);
  if (seen.pendingLeaves > 0) say("TREE_BEHIND", `${String(seen.pendingLeaves)} leaves are under no root`);
  return found;
}

/** What is not at its end yet, by the chains alone; the scenario goes on while there is something. */
export function unsettled(asked: readonly Asked[], chains: Observations["chains"]): string[] {
  const found: string[] = [];
  const say: Say = (code, text) => {
    if (code === "NOT_MOVED" || code === "NOT_DELIVERED") found.push(text);
  };
  for (const one of asked) checkMoney(one, { chains }, say);
  return found;
}

const idsOf = ({ answers }: Asked): string[] => [
  ...new Set(answers.flatMap((answer) => (answer.is === "made" ? [answer.id] : []))),
];
const addressesOf = (asked: Asked): string[] =>
  asked.direction === "in" ? [asked.home.address, asked.source.address] : [asked.home.address];

/** One request, whoever heard of it: asked again it is the same, and its address is what the client has computed. */
function checkAnswers(asked: Asked, say: Say): void {
  const { name, answers, status } = asked;
  const ids = idsOf(asked);
  if (ids.length > 1) say("REQUEST_TWICE", `${name}: ${ids.join(", ")}`);
  if (ids.length > 0 && status?.id !== ids.at(-1)) say("REQUEST_LOST", `${name} was ${ids.join(", ")}`);
  const last = answers.at(-1);
  if (last?.is !== "made")
    say(
      "REFUSED",
      `${name}: ${last?.is === "refused" ? `${String(last.status)} ${last.code}` : "no answer"}`,
    );
  else if (last.status !== 200) say("REQUEST_LOST", `${name}: asked again it was new`);
  if (answers.filter((answer) => answer.is === "made" && answer.status === 201).length > 1)
    say("REQUEST_TWICE", `${name} was new more than once`);
  for (const answer of answers)
    if (answer.is === "made" && String(answer.addresses) !== String(addressesOf(asked)))
      say("ADDRESS_WRONG", `${name}: ${answer.addresses.join(", ")}`);
}

/** It waits for no such signature (any more), or the blockchain did not take it: both say to ask for the status. */
const CODES_OF_SIGNATURES = ["BRIDGE_STATE", "VENUE_UNAVAILABLE"];

/** What the service wrote and the deposit key signed is sent, or is out of date; it is never called wrong. */
function checkGiven(asked: Asked, say: Say): void {
  for (const { status, code } of asked.direction === "in" ? asked.given : [])
    if (status !== undefined && status !== 200 && !CODES_OF_SIGNATURES.includes(code) && status < 500)
      say("SIGNATURE_REFUSED", `${asked.name}: ${String(status)} ${code}`);
}

/** What came to an address is what left it and what lies there. */
function checkMoney(asked: Asked, { chains }: Pick<Observations, "chains">, say: Say): void {
  const { name, home } = asked;
  const isIn = asked.direction === "in";
  checkVault(
    `${name} at home`,
    home,
    chains.home,
    isIn ? ["Swept", "Refunded"] : ["Flushed", "Returned"],
    say,
  );
  for (const act of actsOf(chains.home, home.address)) checkHomeAct(asked, act, chains, say);
  if (!isIn) return;
  const far = chains[asked.source.on];
  checkVault(`${name} at its source`, asked.source, far, ["Forwarded", "Refunded"], say);
  for (const act of actsOf(far, asked.source.address)) {
    if (act.kind === "Forwarded")
      checkDeparture(asked, act, far, chains.home, { to: home.address, ceiling: asked.source.ceiling }, say);
    if (act.kind === "Refunded") checkRefund(asked, act, far, say);
  }
}

function checkHomeAct(asked: Asked, act: Act, { home, other }: Observations["chains"], say: Say): void {
  const { name, npk } = asked;
  switch (act.kind) {
    case "Swept":
    case "Returned": {
      const note = home.credits.find(({ leafIndex, tx }) => leafIndex === act.leafIndex && tx === act.tx);
      if (note?.npk !== npk || note.value !== act.amount)
        say("NOTE_WRONG", `${name}: ${String(act.amount)} became leaf ${String(act.leafIndex)}`);
      if (act.fees > asked.home.ceiling || (act.kind === "Returned" && act.fees > 0n))
        say("FEE_WRONG", `${name}: ${String(act.fees)} of ${String(act.amount)}`);
      return;
    }
    case "Flushed":
      if (asked.direction === "out")
        checkDeparture(asked, act, home, other, { to: asked.recipient, ceiling: asked.home.ceiling }, say);
      return;
    case "Refunded":
      if (asked.direction === "in") checkRefund(asked, act, home, say);
      return;
    case "Forwarded":
      say("BURN_WRONG", `${name}: forwarded at home`);
  }
}

const actsOf = ({ acts }: ChainSeen, vault: string): Act[] => acts.filter((act) => act.vault === vault);
const isOfDollars = ({ token }: Act): boolean => token === undefined;

function checkVault(
  name: string,
  { address, minimum }: { readonly address: string; readonly minimum: bigint },
  chain: ChainSeen,
  kinds: readonly Act["kind"][],
  say: Say,
): void {
  const acts = actsOf(chain, address).filter(isOfDollars);
  for (const { kind } of acts) if (!kinds.includes(kind)) say("BALANCE_WRONG", `${name}: ${kind}`);
  const came = sum(chain.transfers.filter(({ to }) => to === address).map(({ amount }) => amount));
  const went = sum(chain.transfers.filter(({ from }) => from === address).map(({ amount }) => amount));
  const told = sum(acts.map(({ amount, fees }) => amount + fees));
  if (went !== told) say("BALANCE_WRONG", `${name}: ${went} went, ${told} by what the contract says`);
  const strange = actsOf(chain, address).filter((act) => !isOfDollars(act));
  const lost = sum(chain.wrong.filter(({ from }) => from === address).map(({ amount }) => amount));
  if (lost !== sum(strange.map(({ amount }) => amount)))
    say("BALANCE_WRONG", `${name}: ${lost} of another token went`);
  const left = came - went;
  if (left < 0n) say("BALANCE_WRONG", `${name}: ${went} of ${came} went`);
  if (left >= minimum) say("NOT_MOVED", `${name}: ${left} lies there`);
}

/** One burn, and one mint of it, less no more than the ceiling. */
function checkDeparture(
  { name }: Asked,
  act: Act,
  from: ChainSeen,
  to: ChainSeen,
  terms: { readonly to: string; readonly ceiling: bigint },
  say: Say,
): void {
  const burns = from.burns.filter(({ tx, recipient }) => tx === act.tx && recipient === terms.to);
  const burn = burns.find(({ amount }) => amount === act.amount);
  if (burn === undefined) {
    say("BURN_WRONG", `${name}: ${String(act.amount)} left in ${act.tx} and is no burn to ${terms.to}`);
    return;
  }
  const mint = to.mints.find(({ nonce }) => nonce === burn.nonce);
  if (mint === undefined) {
    say("NOT_DELIVERED", `${name}: the burn of ${String(burn.amount)} in ${burn.tx}`);
    return;
  }
  if (mint.amount !== burn.amount || mint.recipient !== terms.to)
    say(
      "BURN_WRONG",
      `${name}: ${String(burn.amount)} burned, ${String(mint.amount)} minted to ${mint.recipient}`,
    );
  if (mint.fee > terms.ceiling) say("FEE_WRONG", `${name}: ${String(mint.fee)} for the way`);
}

function checkRefund({ name, refund }: AskedIn, act: Act, chain: ChainSeen, say: Say): void {
  if (!isOfDollars(act)) return;
  const isPaid = chain.transfers.some(
    ({ from, to, amount, tx }) =>
      from === act.vault && to === refund && amount === act.amount && tx === act.tx,
  );
  if (act.to !== refund || !isPaid)
    say("REFUND_WRONG", `${name}: ${String(act.amount)} to ${String(act.to)}`);
}

/** Each once, and of a burn that stands or that the attesters had vouched for before its block was taken back. */
function checkMints({ chains: { home, other, alt }, orphaned }: Observations, say: Say): void {
  for (const [name, here, burns] of [
    ["home", home, [...other.burns, ...alt.burns]],
    ["other", other, home.burns],
  ] as const) {
    const burned = new Map(burns.map((burn) => [burn.nonce, burn]));
    const nonces = new Set<string>();
    for (const mint of here.mints) {
      const { nonce, recipient, amount, fee, tx } = mint;
      if (nonces.has(nonce)) say("MINTED_TWICE", `${name}: ${nonce}`);
      nonces.add(nonce);
      if (!burned.has(nonce) && !orphaned.has(nonce)) say("MINTED_UNBACKED", `${name}: ${nonce}`);
      const came = here.transfers.filter(
        (one) => one.tx === tx && one.to === recipient && isNobody(one.from),
      );
      if (!came.some((one) => one.amount === amount - fee))
        say("BURN_WRONG", `${name}: ${String(amount)} less ${String(fee)} did not come to ${recipient}`);
    }
  }
}

const isNobody = (address: string): boolean => address === NOBODY;

/** Every note is of one sweep or return, or of its fees. */
function checkNotes({ asked, chains: { home }, wallet, serviceTotal }: Observations, say: Say): void {
  const ours = new Set(asked.map(({ npk }) => npk));
  const told = new Set(home.acts.flatMap(({ leafIndex }) => leafIndex ?? []));
  const notes = home.credits.filter(({ npk }) => ours.has(npk));
  for (const { leafIndex, value } of notes)
    if (!told.has(leafIndex)) say("CREDITED_UNASKED", `leaf ${String(leafIndex)}: ${String(value)}`);
  const indexes = home.credits.map(({ leafIndex }) => leafIndex);
  if (new Set(indexes).size !== indexes.length) say("CREDITED_UNASKED", "two notes are one leaf");
  const fees = sum(home.acts.map((act) => act.fees));
  const kept = sum(home.credits.filter(({ npk }) => !ours.has(npk)).map(({ value }) => value));
  if (fees !== kept) say("FEE_WRONG", `${fees} were taken, ${kept} are notes of somebody's`);
  if (serviceTotal !== undefined && serviceTotal !== kept)
    say("FEE_WRONG", `the service's wallet finds ${serviceTotal} of ${kept}`);
  for (const one of asked) {
    const [id] = idsOf(one);
    const should = sum(notes.filter(({ npk }) => npk === one.npk).map(({ value }) => value));
    const has = id === undefined ? undefined : wallet.found.get(id);
    if (has !== should) say("WALLET_WRONG", `${one.name}: ${String(has)} instead of ${should}`);
  }
  const should = sum(notes.map(({ value }) => value));
  if (wallet.total !== should) say("WALLET_WRONG", `the wallet finds ${wallet.total} instead of ${should}`);
}

function checkTotals({ asked, chains, before, after, pool }: Observations, say: Say): void {
  for (const name of ["home", "other", "alt"] as const) {
    const { burns, mints, transfers } = chains[name];
    const issued = sum(amountsOf(transfers.filter(({ from }) => from === ISSUER)));
    const should = before[name] - sum(amountsOf(burns)) + sum(amountsOf(mints)) + issued;
    const { supply, vaults } = after[name];
    if (supply !== should) say("SUPPLY_WRONG", `${name}: ${supply} instead of ${should}`);
    for (const one of asked) {
      const source = one.direction === "in" && one.source.on === name ? one.source.address : undefined;
      const address = name === "home" ? one.home.address : source;
      if (address === undefined) continue;
      const left =
        sum(amountsOf(transfers.filter(({ to }) => to === address))) -
        sum(amountsOf(transfers.filter(({ from }) => from === address)));
      if (vaults.get(address) !== left)
        say("BALANCE_WRONG", `${one.name} on ${name}: ${String(vaults.get(address))} instead of ${left}`);
    }
  }
  const credited = sum(chains.home.credits.map(({ value }) => value));
  if (pool.after - pool.before !== credited)
    say("BALANCE_WRONG", `the pool has ${pool.after - pool.before} more, its notes are ${credited}`);
}

const amountsOf = (of: readonly { readonly amount: bigint }[]): bigint[] => of.map(({ amount }) => amount);

const ENDS: ReadonlySet<BridgeState> = new Set(["completed", "refunded", "failed"]);

/** The service says what the chains say. */
function checkStatus(asked: Asked, seen: Observations, say: Say): void {
  const { name, status } = asked;
  if (status === undefined) return;
  const should = asked.direction === "in" ? sumsOfIn(asked, seen) : sumsOfOut(asked, seen);
  for (const what of ["received", "credited", "refunded"] as const)
    if (status[what] !== should[what])
      say("STATUS_WRONG", `${name}: ${what} ${status[what]} instead of ${should[what]}`);
  const lies = should.lies > 0n;
  if (!statesOf(should, lies).includes(status.state))
    say("STATUS_WRONG", `${name} is said to be ${status.state}; ${show(should)}`);
  const open = status.deposits.filter((state) => !ENDS.has(state) && !(lies && state === "below_minimum"));
  if (open.length > 0) say("STATUS_WRONG", `${name} has deposits that are ${open.join(", ")}`);
}

interface Sums {
  readonly received: bigint;
  readonly credited: bigint;
  readonly refunded: bigint;
  /** At its addresses. */
  readonly lies: bigint;
}
const show = (sums: Sums): string =>
  Object.entries(sums)
    .map(([what, amount]) => `${what} ${String(amount)}`)
    .join(", ");

function statesOf({ received, credited, refunded }: Sums, lies: boolean): readonly StatusView["state"][] {
  if (lies) return ["below_minimum"];
  if (received === 0n) return ["awaiting_funds"];
  return [
    ...(credited > 0n ? (["completed"] as const) : []),
    ...(refunded > 0n ? (["refunded"] as const) : []),
  ];
}

const arrivedAt = ({ transfers }: ChainSeen, address: string): bigint =>
  sum(amountsOf(transfers.filter(({ to }) => to === address)));
const actedAt = (chain: ChainSeen, vault: string, kind: Act["kind"]): Act[] =>
  actsOf(chain, vault).filter((act) => act.kind === kind && isOfDollars(act));

function sumsOfIn({ home, source }: AskedIn, { chains, after }: Observations): Sums {
  const far = chains[source.on];
  const own = new Set(actedAt(far, source.address, "Forwarded").map(({ tx }) => tx));
  const sent = new Set(
    far.burns.filter((burn) => own.has(burn.tx) && burn.recipient === home.address).map(({ nonce }) => nonce),
  );
  const brought = sum(broughtBy(chains.home.mints, sent, home.address));
  return {
    received: arrivedAt(far, source.address) + arrivedAt(chains.home, home.address) - brought,
    credited: sum(amountsOf(actedAt(chains.home, home.address, "Swept"))),
    refunded: sum(
      amountsOf([
        ...actedAt(chains.home, home.address, "Refunded"),
        ...actedAt(far, source.address, "Refunded"),
      ]),
    ),
    lies: (after.home.vaults.get(home.address) ?? 0n) + (after[source.on].vaults.get(source.address) ?? 0n),
  };
}

function sumsOfOut({ home, recipient }: AskedOut, { chains, after }: Observations): Sums {
  const own = new Set(actedAt(chains.home, home.address, "Flushed").map(({ tx }) => tx));
  const sent = new Set(
    chains.home.burns.filter((burn) => own.has(burn.tx)).map(({ nonce }: Burned) => nonce),
  );
  return {
    received: arrivedAt(chains.home, home.address),
    credited: sum(broughtBy(chains.other.mints, sent, recipient)),
    refunded: sum(amountsOf(actedAt(chains.home, home.address, "Returned"))),
    lies: after.home.vaults.get(home.address) ?? 0n,
  };
}

/** What reached them. */
const broughtBy = (mints: readonly Minted[], nonces: ReadonlySet<string>, recipient: string): bigint[] =>
  mints
    .filter((mint) => nonces.has(mint.nonce) && mint.recipient === recipient)
    .map(({ amount, fee }) => amount - fee);

/** Its last word is the status; from an end it goes back only where blocks did, more came, or a new process began to look. */
function checkStream(asked: Asked, { streamed, excuses, chains }: Observations, say: Say): void {
  const [id] = idsOf(asked);
  const states = streamed.filter((one) => one.id === id).map(({ state }) => state);
  const { name, status } = asked;
  if (status !== undefined && status.state !== "awaiting_funds" && states.at(-1) !== status.state)
    say(
      "STREAM_DIFFERS",
      `${name}: the stream ends with ${String(states.at(-1))}, the status is ${status.state}`,
    );
  const addresses = new Set(addressesOf(asked));
  const deposits = [chains.home, chains.other, chains.alt]
    .flatMap(({ transfers }) => transfers)
    .filter(({ to }) => addresses.has(to));
  const came = deposits.filter(({ from }) => !isNobody(from)).length;
  if (excuses.wentBack || excuses.lookedAgain || came > 1) return;
  for (const [i, state] of states.entries()) {
    const before = states[i - 1];
    if (before !== undefined && ENDS.has(before) && state !== before)
      say("STATE_WENT_BACK", `${name}: ${before}, then ${state}`);
  }
}

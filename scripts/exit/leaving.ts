// The whole way out, step by step, until nothing is left or only time helps. Every step is one that may be repeated: what
// was sent is in the wallet's storage before it is sent, so a run that was killed goes on where it was.
import { ClientError, type Outlook, type WithoutService } from "../../shared/client/index.ts";
import type { Address } from "../../shared/protocol/brands.ts";

export interface Leaving {
  readonly alone: WithoutService;
  readonly to: Address;
  /** Every token that the wallet has notes of. */
  readonly assets: readonly Address[];
  readonly say: (text: string) => void;
  /** False: return when only time helps. */
  readonly waits: boolean;
  /** How long to sleep at most before looking again. */
  readonly pauseMs: number;
  readonly signal: AbortSignal;
}

export interface Left {
  /** By token, what the pool has paid or owes by this run's statements. */
  readonly amounts: ReadonlyMap<Address, bigint>;
  /** Empty when everything is out. */
  readonly waitingFor: readonly Waiting[];
}

/** What only time helps with. */
export interface Waiting {
  readonly what: string;
  /** Unix seconds by the chain's clock; undefined where nobody can know. */
  readonly until: number | undefined;
}

/** A node may have been wrong about one refusal; not about as many. */
const MOST_REFUSALS = 3;

export async function leaveAll(leaving: Leaving): Promise<Left> {
  const { alone, say, waits, pauseMs, signal } = leaving;
  const course: Course = { amounts: new Map(), claims: new Map() };
  let refusals = 0;
  for (let said = ""; ;) {
    signal.throwIfAborted();
    let round: Round;
    try {
      round = await playRound(leaving, course);
      refusals = 0;
    } catch (error) {
      if (!mayPass(error, waits) || ++refusals > MOST_REFUSALS) throw error;
      say(`${(error as Error).message}; trying again`);
      await sleep(pauseMs, signal);
      continue;
    }
    if (round.hasMoved) continue;
    if (round.waitingFor.length === 0 || !waits)
      return { amounts: course.amounts, waitingFor: round.waitingFor };
    const text = round.waitingFor.map(waitingText).join("\n");
    if (text !== said) say((said = text));
    const next = Math.min(...round.waitingFor.map(({ until }) => until ?? Infinity));
    await sleep(Math.min(pauseMs, Math.max(1_000, (next - alone.time) * 1_000)), signal);
  }
}

export function waitingText({ what, until }: Waiting): string {
  return `Waiting: ${what}${until === undefined ? "" : `, until ${new Date(until * 1000).toISOString()}`}`;
}

/** What a run knows by now. */
interface Course {
  readonly amounts: Map<Address, bigint>;
  /** By token, what the pool owes; absent where nobody has looked since there may be more. */
  readonly claims: Map<Address, Waiting | "none">;
}

interface Round {
  readonly hasMoved: boolean;
  readonly waitingFor: readonly Waiting[];
}

async function playRound(leaving: Leaving, course: Course): Promise<Round> {
  const { alone, assets, signal } = leaving;
  const outlook = await alone.outlook({ signal });
  let hasMoved = false;
  const waitingFor: Waiting[] = [];
  for (const one of outlook) {
    const step = await leaveWith(one, leaving, course);
    if (step === "moved") hasMoved = true;
    else if (step !== "nothing") waitingFor.push(step);
  }
  if (!hasMoved) waitingFor.push(...outlook.flatMap(waitsOf));
  for (const asset of assets) {
    const step = await claimed(asset, leaving, course);
    if (step === "moved") hasMoved = true;
    else if (step !== "nothing") waitingFor.push(step);
  }
  const back = await returned(leaving);
  if (back === "moved") hasMoved = true;
  else waitingFor.push(...back);
  if (outlook.some(({ uncovered }) => uncovered > 0n) && !hasMoved) {
    const step = await advanced(leaving);
    if (step === "moved") hasMoved = true;
    else waitingFor.push(step);
  }
  return { hasMoved, waitingFor };
}

/** One withdrawal of up to nine notes, whole; also one that an earlier run had begun. */
async function leaveWith(
  { asset, provable, inFlight }: Outlook,
  { alone, to, say, signal }: Leaving,
  { amounts, claims }: Course,
): Promise<"moved" | "nothing" | Waiting> {
  if (provable === 0n && inFlight === 0n) return "nothing";
  try {
    const { amount, transactionHash, claim } = await alone.leave(to, { asset, signal });
    amounts.set(asset, (amounts.get(asset) ?? 0n) + amount);
    // Of what an earlier run had sent nobody knows here how it ended.
    if (claim !== undefined || transactionHash === undefined) claims.delete(asset);
    const how =
      claim === undefined ? "left" : `are owed now, claim ${claim.id}: there is no room for them now`;
    say(`${amount} of ${asset} ${how} (${transactionHash ?? "sent by an earlier run"})`);
    return "moved";
  } catch (error) {
    if (isOneOf(error, ["PAYMENT_UNRESOLVED"])) {
      const { until } = error as ClientError & { until: number };
      return { what: `${provable} of ${asset}, since an earlier withdrawal may still happen`, until };
    }
    // Only notes of payments that are under way elsewhere, or young ones.
    if (provable === 0n && isOneOf(error, ["INSUFFICIENT_FUNDS", "NOTES_YOUNG", "NOTES_TAKEN"]))
      return "nothing";
    throw error;
  }
}

/** To find claims takes the whole history, so it is looked for them only where there may be new ones or new room. */
async function claimed(
  asset: Address,
  { alone, to, say, signal }: Leaving,
  { claims }: Course,
): Promise<"moved" | "nothing" | Waiting> {
  const known = claims.get(asset);
  if (known === "none") return "nothing";
  if (known !== undefined && alone.time < (known.until ?? 0)) return known;
  const { transactionHashes, owed, suspended, nextFrom } = await alone.payClaims(to, { asset, signal });
  for (const hash of transactionHashes) say(`A claim on ${asset} is paid as far as there is room (${hash})`);
  const waiting = {
    what: `${owed} of ${asset}, which the pool owes and has no room for now`,
    until: nextFrom,
  };
  if (transactionHashes.length > 0) {
    // What is owed now, only a later block says.
    claims.delete(asset);
    return "moved";
  }
  if (suspended > 0n)
    say(
      `${suspended} of ${asset} were proved on a root that was revoked since: the pool pays nothing of them`,
    );
  claims.set(asset, owed === 0n ? "none" : waiting);
  return owed === 0n ? "nothing" : waiting;
}

/** Deposits that somebody carried with a false proof: their notes are void, and their money is in the pool. */
async function returned({ alone, say, signal }: Leaving): Promise<"moved" | Waiting[]> {
  const { transactionHashes, later } = await alone.returnDeposits({ signal });
  for (const hash of transactionHashes) say(`A deposit whose notes are void went back (${hash})`);
  if (transactionHashes.length > 0) return "moved";
  return later.map(({ asset, amount, depositor, from }) => ({
    what: `${amount} of ${asset}, a deposit whose notes are void: it goes back to ${depositor}`,
    until: from,
  }));
}

function waitsOf({ asset, later, inFlight }: Outlook): Waiting[] {
  const young = later.map(({ amount, from }) => ({
    what: `${amount} of ${asset}, whose root is not old enough for a proof`,
    until: from,
  }));
  if (inFlight === 0n) return young;
  return [...young, { what: `${inFlight} of ${asset} in other payments of this key`, until: undefined }];
}

async function advanced({ alone, say, signal }: Leaving): Promise<"moved" | Waiting> {
  const allowedFrom = await alone.advanceableFrom({ signal });
  if (allowedFrom !== undefined && allowedFrom > alone.time)
    return {
      what: "leaves without a root; the signers have the first right to make one",
      until: allowedFrom,
    };
  const made = await alone.advance({ signal });
  if (made !== undefined) say(`The tree has ${made.leafCount} leaves now (${made.transactionHash})`);
  return "moved";
}

function mayPass(error: unknown, waits: boolean): boolean {
  return isOneOf(error, ["NOT_EXECUTED", "ADVANCE_EARLY"]) || (waits && isOneOf(error, ["NODE_UNREACHABLE"]));
}

function isOneOf(error: unknown, codes: readonly ClientError["code"][]): boolean {
  return error instanceof ClientError && codes.includes(error.code);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", leave);
      resolve();
    }, ms);
    signal.addEventListener("abort", leave, { once: true });
  });
}

/**
 * What the pool says beside statements and roots: what was refuted and undone, who is out, claims, bonds, brakes, and
 * what the owner does.
 */
import { verifyAttestation } from "../../shared/protocol/attestation-document.ts";
import type { Bytes32 } from "../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../shared/protocol/host/text.ts";
import { mustFromHex, toHex, word } from "../../shared/protocol/bytes.ts";
import { readExecuted } from "../../shared/protocol/host/executed-log.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { kindById } from "../../shared/protocol/statements.ts";
import { decodeUserData } from "../../shared/protocol/user-data.ts";
import { dateOf, ownerEventOf, proposalText, type Change } from "../../proxy/base/chain/owner-events.ts";
import { quoted } from "../base/quoted.ts";
import type { Case, Said } from "./case.ts";
import { flowText } from "./executed.ts";
import type { Code } from "./findings.ts";
import type { Ledger, Queued } from "./ledger.ts";
import { movedIn } from "./moved.ts";

const CODE_OF = {
  proposed: "PROPOSED",
  admitted: "ADMITTED",
  withdrawn: "WITHDRAWN",
  removed: "REMOVED",
} as const satisfies Record<Change, Code>;

type Args = Readonly<Record<string, unknown>>;
/** What the pool said right before and after it in the same transaction. */
interface Around {
  readonly before: Said | undefined;
  readonly after: Said | undefined;
}
type Judge = (its: Case, args: Args, said: Said, around: Around) => void;

const JUDGES: Readonly<Record<string, Judge>> = {
  Refuted: refuted,
  LeavesVoided: leavesVoided,
  LeavesSuspended: leavesSuspended,
  Confirmed: confirmed,
  RootsRevoked: rootsRevoked,
  SignerRegistered: registered,
  SignerExpelled: (its, { signer, leaf }) =>
    its.report("EXPELLED", `signer ${asAddress(signer)!}, certificate ${String(leaf)}`),
  AttestedPathClosed: attestedPathClosed,
  Unsound: unsound,
  ClaimAdded: claimAdded,
  ClaimPaid: claimPaid,
  ClaimRooted: claimRooted,
  ClaimRemoved: claimRemoved,
  DepositReturned: depositReturned,
  BondPosted: bond("posted by"),
  BondPaid: bond("paid to"),
  BondOwed: bond("owed to"),
  BondsTaken: (its, { holder, to, amount }) =>
    its.report("BOND", `${String(amount)} wei owed to ${asAddress(holder)!}, taken to ${asAddress(to)!}`),
};

/** Their names. */
export const AFTERMATH: readonly string[] = Object.keys(JUDGES);

export function judgeAftermath(its: Case, said: Said, around: Around): void {
  const { name, args } = said.event;
  const told = args.toObject() as Args;
  const judge = JUDGES[name];
  if (judge === undefined) ownersWord(its, name, told);
  else judge(its, told, said, around);
}

// ---------------------------------------------------------------- refutations

function refuted(its: Case, { signer, digest }: Args): void {
  const [who, what] = [asAddress(signer)!, digest as Bytes32];
  its.ledger.convict(who, what);
  its.report("REFUTED", `what it signed: ${what}`, { signers: [who], digest: what });
}

/** The pool recomputed it, and so did we when it was executed: the two must agree. */
function leavesVoided(its: Case, { statementHash, firstLeafIndex, count }: Args): void {
  const { ledger } = its;
  const [statement, first] = [asBytes32(statementHash)!, Number(firstLeafIndex)];
  const executed = ledger.executedAt(first);
  if (executed?.statement !== statement || executed.leaves !== Number(count))
    its.contradict(`void leaves from ${first} on, which are not the statement's`);
  if (!ledger.isDoubtful(first))
    its.report("REFUTATION_FALSE", `the statement of leaf ${first} is true`, { statement });
  ledger.voidLeaves(first, Number(count));
  its.report("VOIDED", `${String(count)} leaves from ${first} on`, { statement });
}

/** A true statement that is suspended is money that its owner cannot use. */
function leavesSuspended(its: Case, { firstLeafIndex, count }: Args): void {
  const { ledger } = its;
  const [first, leaves] = [Number(firstLeafIndex), Number(count)];
  if (first + leaves > Number(ledger.leafCount))
    its.contradict(`leaves from ${first} on were suspended, and the log shows ${ledger.leafCount}`);
  const executed = ledger.executedAt(first);
  const detail = `${leaves} leaves from ${first} on`;
  const wrong = (why: string): void =>
    its.report("SUSPENSION_WRONG", `${detail}: ${why}`, executed && { statement: executed.statement });
  if (executed?.leaves !== leaves) wrong("they are not a statement's");
  else if (ledger.isVoid(first)) wrong("they were empty already");
  else {
    const { statement, rootNumber } = executed;
    if (rootNumber !== undefined && ledger.roots.numbered(rootNumber) !== undefined)
      wrong(`root ${rootNumber} stands`);
    else {
      const root = rootNumber === undefined ? "a root that is not known" : `root ${rootNumber}`;
      its.report("SUSPENDED", `${detail} of ${root}, ${flowText(ledger.originOf(executed))}`, { statement });
    }
  }
  ledger.suspend(first, leaves);
}

/** The statement comes next, and is judged with it. */
function confirmed(its: Case, { statementHash }: Args, _: Said, { after }: Around): void {
  if (after?.event.name !== "Executed" || after.event.args["statementHash"] !== statementHash)
    its.contradict("a statement came again and was not executed");
}

function rootsRevoked(its: Case, { first, last, root, leafCount }: Args, _: Said, { before }: Around): void {
  const { ledger } = its;
  const [from, to] = [Number(first), Number(last)];
  if (to !== ledger.roots.sequence)
    its.contradict(`roots were revoked up to ${to}, and ${ledger.roots.sequence} is the last`);
  const refuted = ledger.roots.numbered(from);
  // With a statement's leaves go the roots over them; otherwise it is the root itself that was refuted.
  if (before?.event.name !== "LeavesVoided" && refuted?.announced === refuted?.truth)
    its.report("REFUTATION_FALSE", `root ${from} is true`);
  ledger.revoke(from, to, Number(leafCount));
  const { newest } = ledger.roots;
  if (newest.announced !== root || newest.leafCount !== Number(leafCount))
    its.contradict(`the tree went back to another root than the one before ${from}`);
  its.report("REVOKED", `roots ${from} to ${to}; the tree goes on from ${toHex(word(newest.announced))}`);
}

// ---------------------------------------------------------------- brakes

function attestedPathClosed(its: Case, { until }: Args): void {
  its.ledger.closeAttestedPath(Number(until));
}

function unsound(its: Case, { kind }: Args): void {
  its.ledger.stopAsUnsound();
  its.report("UNSOUND", `money out of the empty tree was proved, of kind ${kindById(Number(kind))!}`);
}

/** Where a pool asks for none, its signers come with nothing. */
function bond(how: "posted by" | "paid to" | "owed to"): Judge {
  return (its, { signer, poster, to, amount }) => {
    if (amount === 0n) return;
    its.report(
      "BOND",
      `${String(amount)} wei for signer ${asAddress(signer)!}, ${how} ${asAddress(poster ?? to)!}`,
    );
  };
}

// ---------------------------------------------------------------- claims

function claimAdded(its: Case, { statementHash, asset, id, recipient, amount, rootNumber }: Args): void {
  const of = asAddress(asset)!;
  if (Number(id) !== its.ledger.claims.of(of).length)
    its.contradict(`claim ${String(id)} came where another belongs`);
  const statement = asBytes32(statementHash)!;
  const change = { statement, left: String(amount), rootNumber: Number(rootNumber), isRemoved: false };
  its.ledger.claim({ type: "claim", asset: of, id: Number(id), ...change });
  its.report("CLAIM_MADE", `claim ${String(id)}: ${String(amount)} of ${of} to ${String(recipient)}`, {
    statement,
  });
}

/** It may be paid in parts; each is what left, and what is left is the rest. */
function claimPaid(its: Case, { asset, id, amount, left }: Args, { log }: Said, { before }: Around): void {
  const { ledger, transaction, pool } = its;
  const paid = amount as bigint;
  const { of, claim, name } = claimNamed(its, asset, id);
  if (claim.left - paid !== left || paid === 0n)
    its.report("CLAIM_WRONG", `${name}: paid ${paid} of ${claim.left}, left ${String(left)}`);
  if (claim.isRemoved || ledger.roots.numbered(claim.rootNumber) === undefined)
    its.report("CLAIM_WRONG", `${name}: paid, and its root ${claim.rootNumber} is revoked`);
  const part = { from: before?.log.logIndex ?? -1, until: log.logIndex };
  const moved = movedIn(transaction.logs, pool.home.pool, of, part);
  if (before === undefined && moved !== -paid)
    its.report("CLAIM_WRONG", `${name}: moved ${-moved}, said ${paid}`);
  ledger.claim({ type: "claim", asset: of, id: Number(id), ...claim, left: String(left) });
  ledger.owe(of, -paid);
}

/**
 * Its statement came again, on a good root; or what came again is refuted, and its root is the revoked one as before. A thief
 * whose claim were moved otherwise would be paid.
 */
function claimRooted(its: Case, { asset, id, rootNumber }: Args, _: Said, { before, after }: Around): void {
  const { ledger } = its;
  const { of, claim, name } = claimNamed(its, asset, id);
  const number = Number(rootNumber);
  const stands = ledger.roots.numbered(number) !== undefined;
  const queued = stands ? executedBy(ledger, before) : voidedBy(ledger, after);
  // What it counts on: the root of the statement that came again, or of the one that it took the place of.
  const ground = stands || queued?.confirms === undefined ? queued : ledger.executedAt(queued.confirms);
  const isOwn = queued?.confirms !== undefined && ledger.originOf(queued).statement === claim.statement;
  if (!isOwn || (ground?.rootNumber ?? number) !== number)
    its.report("CLAIM_WRONG", `${name}: moved to root ${number}, and nothing of that root says so`);
  const left = String(claim.left);
  const isRemoved = claim.isRemoved && !stands;
  ledger.claim({ type: "claim", asset: of, id: Number(id), ...claim, left, rootNumber: number, isRemoved });
  its.report("CLAIM_ROOTED", `${name}: ${left}, from root ${claim.rootNumber} to ${number}`);
}

function executedBy(ledger: Ledger, said: Said | undefined): Queued | undefined {
  const executed = said?.event.name === "Executed" ? readExecuted(said.log) : undefined;
  return executed && ledger.executedAt(executed.firstLeafIndex);
}

function voidedBy(ledger: Ledger, said: Said | undefined): Queued | undefined {
  const { name, args } = said?.event ?? {};
  return name === "LeavesVoided" ? ledger.executedAt(Number(args!["firstLeafIndex"])) : undefined;
}

/** Nobody's money any more: it stays in the pool. */
function claimRemoved(its: Case, { asset, id, amount }: Args): void {
  const { of, claim, name } = claimNamed(its, asset, id);
  if (claim.left !== amount || claim.isRemoved)
    its.report("CLAIM_WRONG", `${name}: ${String(amount)} were removed of ${claim.left}`);
  if (its.ledger.roots.numbered(claim.rootNumber) !== undefined)
    its.report("CLAIM_WRONG", `${name}: removed, and its root ${claim.rootNumber} stands`);
  const left = String(claim.left);
  its.ledger.claim({ type: "claim", asset: of, id: Number(id), ...claim, left, isRemoved: true });
  its.report("CLAIM_REMOVED", `${name}: ${left} of root ${claim.rootNumber}`);
}

function claimNamed(its: Case, asset: unknown, id: unknown) {
  const of = asAddress(asset)!;
  const name = `claim ${String(id)} of ${of}`;
  const claim = its.ledger.claims.of(of)[Number(id)];
  if (claim === undefined) its.contradict(`${name} was never made`);
  return { of, claim, name };
}

/** Its money came in once; here it goes, to whom it came from. */
function depositReturned(
  its: Case,
  { statementHash, asset, depositor, amount }: Args,
  { log }: Said,
  { before }: Around,
): void {
  const { ledger, transaction, pool } = its;
  const [statement, of] = [asBytes32(statementHash)!, asAddress(asset)!];
  const name = `deposit ${statement}: ${String(amount)} of ${of} to ${asAddress(depositor)!}`;
  if (!ledger.isPaid(statement)) its.report("DEPOSIT_RETURN_WRONG", `${name}, and it stands`, { statement });
  const part = { from: before?.log.logIndex ?? -1, until: log.logIndex };
  const moved = movedIn(transaction.logs, pool.home.pool, of, part);
  if (before === undefined && moved !== -(amount as bigint))
    its.report("DEPOSIT_RETURN_WRONG", `${name}: moved ${-moved}`, { statement });
  ledger.returnDeposit(statement);
  ledger.owe(of, -(amount as bigint));
  its.report("DEPOSIT_RETURNED", name, { statement });
}

// ---------------------------------------------------------------- the owner

function ownersWord(its: Case, name: string, told: Args): void {
  const event = ownerEventOf(name, told);
  if (event === undefined) its.contradict(`${name} is no word of this watcher's`);
  its.ledger.change(event);
  const { change, role, subject, proposal } = event;
  const what = proposal === undefined ? `${role} ${subject}` : proposalText(proposal);
  const code = role === "image" && change === "removed" ? "IMAGE_REVOKED" : CODE_OF[change];
  const { minimumCap } = told;
  if (typeof minimumCap !== "bigint") {
    its.report(code, `${what}${sourceOf(told)}`);
    return;
  }
  its.report(code, `${what}, minimum cap ${minimumCap}`);
  const held = its.ledger.owed.get(asAddress(subject)!) ?? 0n;
  if (held > 0n && CAP_PART * minimumCap > held)
    its.report("CAP_RAISED", `${subject}: ${minimumCap} of the ${held} that the pool owes`);
}

/** A pool lets out so much a day, or the minimum where that is more. */
const CAP_PART = 10n;

/** What to build, to see whether an image is what its proposal says. */
function sourceOf({ kind, commit, buildCommand }: Args): string {
  if (typeof commit !== "string") return "";
  return `, verifier ${String(kind)} of ${quoted(commit)}, built by ${quoted(String(buildCommand))}`;
}

/** Nobody's word admits a signer, so its document is verified here again, by other code than the chain's. */
function registered(its: Case, told: Args): void {
  const event = ownerEventOf("SignerRegistered", told)!;
  const { signer, image, kind, document } = told;
  its.ledger.change(event, Number(kind));
  its.report("ADMITTED", `signer ${asAddress(signer)!} of image ${String(image)}, verifier ${String(kind)}`);
  const fault = registrationFault(its, told);
  if (fault !== undefined)
    its.report(
      "REGISTRATION_FALSE",
      `${asAddress(signer)!}: ${fault}; document of ${(String(document).length - 2) / 2} bytes`,
    );
}

function registrationFault({ pool, header }: Case, { signer, image, document }: Args): string | undefined {
  const verified = verifyAttestation(mustFromHex(String(document)), {
    roots: [pool.attestationRoot.slice(2)],
    at: header.timestamp * 1_000,
    maxAgeMs: pool.maxDocumentAgeSecs * 1_000,
  });
  if (typeof verified === "string") return verified;
  if (imageOf(verified.measurement) !== image) return "of another image";
  const claims = verified.userData === undefined ? undefined : decodeUserData(verified.userData);
  const isOurs =
    (claims?.type === "genesis" || claims?.type === "live") && claims.signer === asAddress(signer);
  return isOurs ? undefined : "of another signer";
}

/** For people: the end of the attested path's closure. */
export function closureText(until: number): string {
  return until >= NEVER ? "permanently" : `until ${dateOf(until)}`;
}
/** The pool's word for "never again" (IPoolTypes: AttestedPathClosed). */
const NEVER = 2 ** 40 - 1;

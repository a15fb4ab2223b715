/** What the watcher says: alarms, which mean that somebody lied or something is missing, and notices, which mean no harm by themselves. */
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";

/** Every code, and what it accuses. */
export const CODES = {
  PROOF_FORGED: "an attested proof is false",
  STATEMENT_INVALID: "an executed statement breaks a rule of the protocol",
  ROOT_FORGED: "an attested root is not the root of the leaves",
  ROOT_UNKNOWN_TO_LOG: "a spend used a root that the leaves never had, or that was revoked",
  ROOT_YOUNG: "a proof used a root before its time",
  ATTESTATION_INVALID: "the pool took something without enough accepted signers",
  NULLIFIER_TWICE: "a note was spent, or a deposit executed, a second time",
  NOTE_FORGED: "a note that the pool made is not worth what it received for it",
  TRANSFER_MISMATCH: "tokens moved otherwise than the statement says",
  BALANCE_SHORT: "the pool holds less than it owes to its notes",
  CALLDATA_UNSEEN: "a statement was executed whose proof could not be read",
  LEAF_GAP: "leaves are missing from the log",
  LOG_CONTRADICTION: "log and pool tell different stories",
  SIGNERS_SHORT:
    "fewer signers, or kinds of verifier, are there than the pool asks for: only proofs move money",
  REGISTRATION_FALSE: "the pool admitted a signer by a document that does not verify",
  REFUTED: "a signer vouched for what is false, as somebody showed the pool",
  REFUTATION_FALSE: "leaves were voided, or roots revoked, whose statement or update is true",
  ATTESTED_PATH_CLOSED: "the pool takes no attestations: only proofs move money",
  TREE_ROLLED_BACK:
    "leaves wait that are void or were perhaps proved on a revoked root: only `advance` extends the tree until they are behind",
  UNSOUND:
    "somebody proved a false statement: circuits or keys are broken, and the pool takes nothing in any more",
  CAP_RAISED:
    "the owner proposed a minimum cap that is more than the tenth of what the pool has: a thief takes as much",
  CLAIM_WRONG: "a claim was paid, removed or moved to another root otherwise than it stands",
  SUSPENSION_WRONG:
    "a statement was suspended whose root stands, or one whose root is revoked came into the tree all the same",
  CONFIRMATION_WRONG:
    "a statement is said to come again, and it is not the suspended one: its notes are paid for by nobody",
  DEPOSIT_RETURN_WRONG: "a deposit went back that stands, or otherwise than it came",
  PROPOSED: "the owner proposed an image, an asset or an executor: look at it before anybody may admit it",
  ADMITTED: "an image, an asset or an executor was admitted, or a signer registered by its document",
  WITHDRAWN: "the owner took a proposal back",
  EXPIRED: "nobody admitted a proposal in its time",
  REMOVED: "the owner removed a signer, an asset or an executor, or an executor was replaced",
  EXPELLED: "a signer is out because the certificate that vouched for it was revoked",
  CLAIM_MADE: "a proved payment found no room: it has a claim, and a part of what there is room for later",
  CLAIM_REMOVED: "the root that a claim was proved on is revoked: nothing is paid of it",
  CLAIM_ROOTED:
    "a claim counts as proved on another root: a good one, where its payment was confirmed, or the revoked one again",
  SUSPENDED:
    "a statement was proved on a root that is revoked: its leaves are empty, until its maker proves it on a good root",
  CONFIRMED:
    "a suspended statement was proved again on a good root: its notes are in the queue, and no money moved",
  PROVED_AGAIN:
    "a refuted statement is true: its first proof was false, and who vouched for that lied, not who made it",
  DEPOSIT_RETURNED: "a deposit whose leaves are void went back to its depositor",
  VOIDED: "the leaves of a refuted statement are empty in the tree, and its nullifiers unspent",
  REVOKED: "roots that rested on what was refuted are no roots any more",
  IMAGE_REVOKED: "all signers of an image are out, and no other comes in",
  BOND: "a signer's bond was posted, paid, owed or taken",
  REORGANISED: "blocks were replaced; what was in them is judged again",
} as const;

export type Code = keyof typeof CODES;

const NOTICES: ReadonlySet<Code> = new Set([
  "PROPOSED",
  "ADMITTED",
  "WITHDRAWN",
  "EXPIRED",
  "REMOVED",
  "EXPELLED",
  "CLAIM_MADE",
  "CLAIM_REMOVED",
  "CLAIM_ROOTED",
  "SUSPENDED",
  "CONFIRMED",
  "PROVED_AGAIN",
  "DEPOSIT_RETURNED",
  "VOIDED",
  "REVOKED",
  "IMAGE_REVOKED",
  "BOND",
  "REORGANISED",
]);

export interface Finding {
  readonly code: Code;
  readonly block: number;
  readonly txHash?: Bytes32;
  readonly statement?: Bytes32;
  /** Whose signatures stand under what is wrong. */
  readonly signers?: readonly Address[];
  /** Of what they signed (EIP-712), where that is false. */
  readonly digest?: Bytes32;
  readonly detail: string;
}

export function isAlarm({ code }: Pick<Finding, "code">): boolean {
  return !NOTICES.has(code);
}

/** One line for people. */
export function lineOf(finding: Finding): string {
  const { code, block, txHash, statement, signers, detail } = finding;
  return [
    isAlarm(finding) ? "ALARM" : "notice",
    code,
    `block ${block}`,
    ...(txHash === undefined ? [] : [`transaction ${txHash}`]),
    ...(statement === undefined ? [] : [`statement ${statement}`]),
    ...(signers === undefined ? [] : [`signed by ${signers.length === 0 ? "nobody" : signers.join(", ")}`]),
    detail,
  ].join("  ");
}

/** The same for programs. */
export function jsonOf(finding: Finding): Record<string, unknown> {
  const { code, block, txHash, statement, signers, digest, detail } = finding;
  return {
    type: isAlarm(finding) ? "alarm" : "notice",
    code,
    block,
    tx_hash: txHash,
    statement,
    signers,
    digest,
    detail,
  };
}

/**
 * What the node says cannot all be true, so nothing after it can be judged. A node behind a load balancer
 * may heal by itself, so this is asked again before it becomes an alarm.
 */
export class Contradiction extends Error {
  readonly finding: Finding;
  constructor(finding: Finding) {
    super(finding.detail);
    this.finding = finding;
  }
}

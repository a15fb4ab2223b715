/**
 * Shows the pool everything false that the watcher found, once each, and says what came of it. Needs nobody: whoever
 * does it gets the signers' bonds. Another's refutation in between is as good.
 */
import type { Address } from "../../shared/protocol/brands.ts";
import { KINDS } from "../../shared/protocol/statements.ts";
import { poolInterface } from "./calls.ts";
import type { Account, Outcome } from "./account.ts";
import { closureText } from "./aftermath.ts";
import type { Evidence } from "./evidence.ts";
import type { Ledger } from "./ledger.ts";
import { nextStep, refutationOf } from "./refutation.ts";

/** What one act came to. */
export interface Report {
  readonly act: "refutation" | "advance" | "removal";
  readonly outcome: Outcome["type"];
  /** What was refuted, how far the tree went, or whose root was revoked. */
  readonly subject: string;
  readonly txHash?: string;
  readonly gas?: bigint;
  readonly detail: string;
}

export interface RefuterOptions {
  readonly account: Account;
  readonly onReport: (report: Report) => void;
  /** How far `advance` is paid for after a refutation. Default: not at all. */
  readonly advanceTo?: "doubtful" | "end" | undefined;
}

export class Refuter {
  readonly #options: RefuterOptions;
  /** Refusals that were told: the reason of each, so that only another one is told again. */
  readonly #told = new Map<string, string>();

  constructor(options: RefuterOptions) {
    this.#options = options;
  }

  /**
   * One act, if one is due: every act changes what the next one must show, so the ledger has to be read again in
   * between.
   * @returns whether the pool changed by it
   */
  async work(ledger: Ledger): Promise<boolean> {
    for (const evidence of ledger.openEvidence) if (await this.#refute(evidence, ledger)) return true;
    const isRoot = (number: number): boolean => ledger.roots.numbered(number) !== undefined;
    for (const { asset, id } of ledger.claims.removable(isRoot))
      if (await this.#remove(asset, id)) return true;
    const { advanceTo } = this.#options;
    if (advanceTo === undefined) return false;
    const isDue = advanceTo === "end" ? ledger.rootedCount < ledger.leafCount : ledger.isRolledBack;
    return isDue && (await this.#advance(ledger));
  }

  async #refute(evidence: Evidence, ledger: Ledger): Promise<boolean> {
    const act = `refute ${evidence.digest} ${evidence.signers.join()}`;
    const subject = subjectOf(evidence);
    const outcome = await this.#options.account.act(act, refutationOf(evidence, ledger));
    return this.#tell("refutation", act, subject, outcome);
  }

  /** It would have a part of what others wait for. */
  async #remove(asset: Address, id: number): Promise<boolean> {
    const act = `remove ${asset} ${id}`;
    const data = poolInterface.encodeFunctionData("removeClaim", [asset, id]);
    const outcome = await this.#options.account.act(act, data);
    return this.#tell("removal", act, `claim ${id} of ${asset}`, outcome);
  }

  async #advance(ledger: Ledger): Promise<boolean> {
    const { account } = this.#options;
    const step = await nextStep(ledger, (place, head) => account.isCheckpoint(place, head));
    if (step === undefined) return false;
    const act = `advance ${step.from} ${step.to} ${ledger.roots.newest.sequence} ${ledger.roots.sequence}`;
    const outcome = await account.act(act, step.data);
    return this.#tell("advance", act, `leaves ${step.from} to ${step.to}`, outcome);
  }

  /** A refusal once, until it is another one. */
  #tell(act: Report["act"], name: string, subject: string, outcome: Outcome): boolean {
    const { type } = outcome;
    const key = type === "refused" ? outcome.reason : type;
    if (this.#told.get(name) === key) return false;
    this.#told.set(name, key);
    if (type === "refused") this.#say({ act, outcome: type, subject, detail: refusalText(outcome.reason) });
    else if (type === "waiting")
      this.#say({ act, outcome: type, subject, txHash: outcome.hash, detail: "waits for a block" });
    else {
      const { hash, gasUsed } = outcome.receipt;
      const detail = outcomeText(act, outcome, this.#options.account.address);
      this.#say({ act, outcome: type, subject, txHash: hash, gas: gasUsed, detail });
    }
    return type === "mined";
  }

  #say(report: Report): void {
    this.#options.onReport(report);
  }
}

function subjectOf(evidence: Evidence): string {
  if (evidence.type !== "statement") return `root of ${evidence.update.toIndex} leaves`;
  const { statement, kindId, firstLeaf } = evidence;
  if (firstLeaf === undefined) return `statement ${statement}, not executed`;
  // Whether the statement is true, only its maker can show.
  const isDeposit = kindId === KINDS["deposit-shield"].id;
  const whose = isDeposit ? ", or its depositor has the money back after the pool's delay" : "";
  return `statement ${statement}; if it is true and only its proof false, its maker proves it again${whose}`;
}

function refusalText(reason: string): string {
  return reason.startsWith("RootsNotAdjacent") || reason.startsWith("RootUpdateStale")
    ? `${reason}: the pool has moved on, another look follows`
    : `not refutable: ${reason}`;
}

type Told = Readonly<Record<string, string>>;
const TEXTS: Readonly<Record<string, (told: Told) => string>> = {
  SignerRemoved: ({ signer }) => `signer ${signer!.toLowerCase()} is out`,
  ImageRevoked: ({ image }) => `so is its image ${image}`,
  AttestedPathClosed: ({ until }) => `attested path closed ${closureText(Number(until))}`,
  LeavesVoided: ({ count, firstLeafIndex }) => `${count} leaves from ${firstLeafIndex} on are void`,
  LeavesSuspended: ({ count, firstLeafIndex }) => `${count} leaves from ${firstLeafIndex} on are suspended`,
  RootsRevoked: ({ first, last }) => `roots ${first} to ${last} are revoked`,
  ClaimRemoved: ({ amount }) => `${amount} are owed no more`,
  RootUpdated: ({ sequence, leafCount }) => `root ${sequence} of ${leafCount} leaves`,
};

/** From the pool's own words in the receipt. */
function outcomeText(
  act: Report["act"],
  { receipt }: Extract<Outcome, { type: "mined" }>,
  own: string,
): string {
  const parts: string[] = [];
  let bond = 0n;
  for (const log of receipt.logs) {
    const event =
      log.address.toLowerCase() === receipt.to?.toLowerCase() ? poolInterface.parseLog(log) : null;
    if (event === null) continue;
    const told = Object.fromEntries(
      Object.entries(event.args.toObject()).map(([name, value]) => [name, String(value)]),
    );
    const text = TEXTS[event.name]?.(told);
    if (text !== undefined) parts.push(text);
    if (event.name === "BondPaid" && told["to"] === own) bond += BigInt(told["amount"]!);
  }
  if (act === "refutation")
    parts.push(bond > 0n ? `${bond} wei of bonds came` : "no bond: there was none, or another had it");
  return parts.join("; ");
}

/** One line for people. */
export function reportLine({ act, subject, txHash, gas, detail }: Report): string {
  const where = txHash === undefined ? [] : [`transaction ${txHash}`];
  return [act, subject, ...where, ...(gas === undefined ? [] : [`${gas} gas`]), detail].join("  ");
}

/** The same for programs. */
export function reportJson({ act, outcome, subject, txHash, gas, detail }: Report): Record<string, unknown> {
  return {
    type: act,
    outcome,
    subject,
    tx_hash: txHash,
    gas: gas === undefined ? undefined : Number(gas),
    detail,
  };
}

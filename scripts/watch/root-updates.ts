/**
 * Judges a root that the pool took, on a signer's word or computed by itself: it must be the root of the leaves, void
 * and suspended ones empty, and rest on nothing that was proved on a revoked root.
 */
import type { LogDescription } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import type { Advance, Update } from "./calls.ts";
import type { Case } from "./case.ts";
import type { FalseRoot } from "./evidence.ts";
import type { Root } from "./roots.ts";
import { checkSigners } from "./statements.ts";
import { digestOf, signersOf } from "./signatures.ts";

/** @param handed a text says why it is not known */
export function judgeRoot(its: Case, event: LogDescription, handed: Update | Advance | string): void {
  const { root, leafCount, sequence } = event.args.toObject() as Record<
    "root" | "leafCount" | "sequence",
    bigint
  >;
  const { ledger, pool, header } = its;
  const update = typeof handed === "object" && handed.type === "update" ? handed : undefined;
  const signers = update === undefined ? [] : signersOf(pool, update);
  const isPassedOver = root === ledger.roots.newest.announced && update === undefined;
  const expected = isPassedOver ? ledger.roots.newest.sequence : ledger.roots.sequence + 1;

  const before = {
    head: ledger.rootedHead,
    count: Number(ledger.rootedCount),
    frontier: ledger.tree.frontier(),
  };
  const told = {
    announced: root,
    sequence: Number(sequence),
    since: sinceOf(its, update, Number(leafCount)),
  };
  for (const { statement, firstLeaf, rootNumber } of ledger.taintedBetween(before.count, Number(leafCount)))
    its.report(
      "SUSPENSION_WRONG",
      `leaves from ${firstLeaf} on, of revoked root ${rootNumber}, are in the tree`,
      { statement },
    );
  const truth = ledger.advance(leafCount, told);
  if (truth === undefined)
    its.contradict(`a root over ${leafCount} leaves, of which the log shows ${ledger.leafCount}`);
  if (told.sequence !== expected) its.contradict(`root ${sequence} came where root ${expected} belongs`);
  // The pool compared these heads with its own, so another leaf in our log shows at once.
  if (update !== undefined && (update.headBefore !== before.head || update.headAfter !== truth.head))
    its.contradict("the pool's queue holds other leaves than the log");
  if (root !== truth.truth) {
    const [said, real] = [root, truth.truth].map((value) => toHex(word(value)));
    const evidence = update && evidenceOf(its, update, before, truth);
    its.report("ROOT_FORGED", `${said} for ${leafCount} leaves, whose root is ${real}`, {
      ...{ signers, ...(evidence && { digest: evidence.digest }) },
    });
    if (evidence !== undefined) ledger.keep(evidence);
  }
  if (update !== undefined)
    checkSigners(its, signers, (code, detail) => its.report(code, detail, { signers }));
  else if (typeof handed === "string") its.report("CALLDATA_UNSEEN", `a root update: ${handed}`, { signers });
  // Only where a signer's word counts for nothing: an attested root is as old as its record.
  else if (header.timestamp < truth.since) its.contradict("a root that is younger than its leaves");
}

/** What `advance` made is as old as its last leaf at least, and as what it was built on. */
function sinceOf({ ledger, header }: Case, update: Update | undefined, leafCount: number): number {
  if (update !== undefined) return header.timestamp;
  return Math.max(ledger.roots.newest.since, ledger.queuedAt(leafCount));
}

function evidenceOf(
  { ledger, pool }: Case,
  update: Update,
  before: { readonly count: number; readonly frontier: readonly bigint[] },
  { leafCount }: Root,
): FalseRoot {
  const { oldRoot, newRoot, fromIndex, toIndex, headBefore, headAfter, attestations } = update;
  return {
    type: "root",
    digest: digestOf(pool, update)!,
    signers: signersOf(pool, update).filter((one): one is Address => one !== undefined),
    update: {
      ...{ oldRoot: String(oldRoot), newRoot: String(newRoot), headBefore, headAfter },
      ...{ fromIndex: String(fromIndex), toIndex: String(toIndex), attestations: toHex(attestations) },
    },
    frontier: before.frontier.map(String),
    leaves: ledger.leavesBetween(before.count, leafCount).map(String),
  };
}

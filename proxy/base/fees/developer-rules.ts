/**
 * What an operator does to a developer's fee rules. Terms that are replaced stay enough for a while: a client
 * that was shown them a moment ago must not be refused.
 */
import type { ShieldedAddress } from "../../../shared/notes/address.ts";
import { VALUE_LIMIT, type Address } from "../../../shared/protocol/brands.ts";
import type { FeeOperation } from "../../../shared/protocol/host/fees.ts";
import { noted, type Author } from "../store/audit.ts";
import type { DeveloperRule, FeeRuleStore, FeeTerms } from "../store/fee-rules.ts";
import { GRACE_MS, isSame } from "./service-fees.ts";

/** For answers under way and clocks that differ. */
const SLACK_MS = 60_000;
/** Each of them may have to be tried for a statement, so their number is bounded by refusing changes. */
const MAX_EARLIER = 16;
const MAX_BPS = 10_000;
/** With the service's part, which is below a half too, something must be left of every swap. */
export const MAX_SWAP_BPS = 5_000;

export const mostBpsOf = (operation: FeeOperation): number => (operation === "swap" ? MAX_SWAP_BPS : MAX_BPS);

export interface RuleChange {
  readonly asset: Address;
  readonly operation: FeeOperation;
  readonly flat: bigint;
  readonly bps: number;
  /** Undefined: the sink that the asset has already. */
  readonly sink: (ShieldedAddress & { readonly text: string }) | undefined;
}

/**
 * Sets one rule. A sink is chosen for an asset, so another one is taken over by its other rules. Throws with
 * words for the operator.
 */
export async function setRule(
  store: FeeRuleStore,
  developerId: string,
  change: RuleChange,
  now: number = Date.now(),
  by?: Author,
): Promise<readonly DeveloperRule[]> {
  const { asset, operation, flat, bps, sink } = change;
  const most = mostBpsOf(operation);
  if (!Number.isInteger(bps) || bps < 0 || bps > most)
    throw new Error(`the basis points of a ${operation} fee are 0 to ${most}`);
  if (flat < 0n || flat >= VALUE_LIMIT) throw new Error("the flat part is below 2^128 smallest units");
  if (flat === 0n && bps === 0) throw new Error("this rule asks for nothing; remove it instead");
  const work = (rules: readonly DeveloperRule[]): readonly DeveloperRule[] => {
    const known = rules.find((rule) => rule.asset === asset)?.terms;
    const paid = sink === undefined ? known : { sink: sink.text, owner: sink.owner };
    if (paid === undefined) throw new Error("the asset has no sink yet: name one");
    const terms: FeeTerms = { flat, bps, ...paid };
    const isMeant = (rule: DeveloperRule): boolean => rule.asset === asset && rule.operation === operation;
    const next = rules.map((rule) => {
      if (isMeant(rule)) return replace(rule, terms, now);
      return rule.asset === asset ? replace(rule, { ...rule.terms, ...paid }, now) : rule;
    });
    // Before it there was nothing to pay, and who was told so is not refused either.
    const nothing = { terms: undefined, goodUntil: now + GRACE_MS + SLACK_MS };
    return rules.some(isMeant) ? next : [...next, { asset, operation, terms, earlier: [nothing] }];
  };
  return store.changeRules(developerId, work, noted("fee.set", by));
}

/** Nothing is asked any more, so no earlier terms need be known. False when there is no such rule. */
export async function removeRule(
  store: FeeRuleStore,
  developerId: string,
  asset: Address,
  operation: FeeOperation,
  by?: Author,
): Promise<boolean> {
  let before = 0;
  const work = (rules: readonly DeveloperRule[]): readonly DeveloperRule[] => {
    before = rules.length;
    return rules.filter((rule) => rule.asset !== asset || rule.operation !== operation);
  };
  const left = await store.changeRules(developerId, work, noted("fee.remove", by));
  return left.length < before;
}

/** In force first, then what still is enough. A developer without a rule asks for nothing. */
export function enoughOf(rule: DeveloperRule | undefined, now: number): readonly (FeeTerms | undefined)[] {
  if (rule === undefined) return [undefined];
  return [rule.terms, ...rule.earlier.filter(({ goodUntil }) => goodUntil > now).map(({ terms }) => terms)];
}

function replace(rule: DeveloperRule, terms: FeeTerms, now: number): DeveloperRule {
  if (isSame(rule.terms, terms)) return rule;
  const live = rule.earlier.filter((kept) => kept.goodUntil > now && !isSame(kept.terms, terms));
  const earlier = [
    ...live.filter((kept) => !isSame(kept.terms, rule.terms)),
    { terms: rule.terms, goodUntil: now + GRACE_MS + SLACK_MS },
  ];
  if (earlier.length > MAX_EARLIER)
    throw new Error(
      "this rule was changed too often in the last minutes; wait, or the earlier terms end too soon",
    );
  return { ...rule, terms, earlier };
}

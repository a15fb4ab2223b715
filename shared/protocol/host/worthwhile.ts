/**
 * Which burns of strangers are worth their delivery. Anybody can burn a grain on another chain towards any address, as
 * often as it likes, and each delivery is the gas of whoever delivers. What a burn brings is believed here and for this
 * alone: a lie could cost gas and never money, and the attesters sign what was burned.
 */

/** So many at most are carried to make up one minimum: else a stranger could cut one minimum into a thousand deliveries. */
const MOST_TOGETHER = 8;

/**
 * Those that bring the minimum by themselves; where none does, the fewest that are enough together with what lies there,
 * and none at all where that would take too many.
 */
export function worthwhile<T extends { readonly amount: bigint }>(
  burns: readonly T[],
  minimum: bigint,
  balance: bigint,
): readonly T[] {
  const large = burns.filter(({ amount }) => amount >= minimum);
  if (large.length > 0) return large;
  let missing = minimum - balance;
  const few: T[] = [];
  for (const burn of [...burns].sort((a, b) => (a.amount < b.amount ? 1 : a.amount > b.amount ? -1 : 0))) {
    if (missing <= 0n || few.length === MOST_TOGETHER) break;
    few.push(burn);
    missing -= burn.amount;
  }
  return missing <= 0n ? few : [];
}

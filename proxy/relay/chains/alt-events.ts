/** Movements of the token in one transaction of the other blockchain, as events of ours. */
import type { FoundBurn } from "../../../shared/altchain/burns.ts";
import type { Movement } from "../../../shared/altchain/movements.ts";
import { altKeyOf } from "./alt-keys.ts";
import type { BridgeEvent, Key } from "./events.ts";

/** Nobody in particular: the mint, or several at once. */
const NOBODY: Key = `0x${"00".repeat(32)}`;

/** The same for the same transaction, from wherever its movements were read. */
export function altEvents(
  mint: string,
  domain: number,
  movements: readonly Movement[],
  burn: FoundBurn | undefined,
): readonly BridgeEvent[] {
  const sorted = [...movements].sort((one, other) => (one.account < other.account ? -1 : 1));
  const gaining = sorted.filter(({ before, after }) => after > before);
  const losing = sorted.filter(({ before, after }) => after < before);
  const one = (side: readonly Movement[]): Key =>
    side.length === 1 && side[0] !== undefined ? altKeyOf(side[0].account) : NOBODY;
  const giver = one(losing);
  const taker = one(gaining);
  return [
    ...gaining.map(({ account, before, after }): BridgeEvent => ({
      ...{ kind: "moved", token: mint, from: giver, to: altKeyOf(account), amount: after - before },
    })),
    // Where one gives to one, the first half has said it all.
    ...losing
      .filter(() => !(losing.length === 1 && gaining.length === 1))
      .map(({ account, before, after }): BridgeEvent => ({
        ...{ kind: "moved", token: mint, from: altKeyOf(account), to: NOBODY, amount: before - after },
      })),
    ...losing.flatMap(({ account, before, after }): readonly BridgeEvent[] => {
      const vault = altKeyOf(account);
      const amount = before - after;
      // Its owner may do with it what he likes; it has then left us, and nothing waits for it.
      if (burn === undefined) return [{ kind: "refunded", vault, token: mint, to: spell(gaining), amount }];
      return [burned(burn, domain), { kind: "left", vault, amount }];
    }),
  ];

  function spell(side: readonly Movement[]): string {
    return taker === NOBODY ? "" : (side[0]?.account ?? "");
  }
}

function burned({ order, owner, amount }: FoundBurn, domain: number): BridgeEvent {
  const { domain: destinationDomain, recipient, maxFee, finality } = order;
  return {
    kind: "burned",
    burn: {
      ...{ sourceDomain: domain, destinationDomain, recipient, amount, maxFee },
      burner: altKeyOf(owner),
    },
    minFinality: finality,
    message: undefined,
  };
}

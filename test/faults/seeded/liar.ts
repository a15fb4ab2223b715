/** In some scenarios the parties outside lie by chance, from the first block to the last: no healing ends that. */
import { Mood } from "../../../scripts/stand-ins/between/mood.ts";
import { Random } from "../../../scripts/base/random.ts";

export interface Liar {
  readonly seed: number;
  /** Of a hundred answers; 0: they are honest. */
  readonly percent: number;
  /** Of the pool's chain, which do not agree with each other. */
  readonly nodes: 1 | 2;
}

/** Numbers of their own, so that all else of a seed's plan stays what it is. */
const LIAR_NUMBERS = 2 ** 30;
const SCENARIOS_PERCENT = 40;

/** `always`: in every scenario. */
export function drawLiar(seed: number, stream: number, always: boolean): Liar {
  const random = new Random(seed, LIAR_NUMBERS + stream);
  const isLiar = random.chance(SCENARIOS_PERCENT) || always;
  const [percent, nodes, own] = [
    random.between(1, 12),
    random.pick([1, 2] as const),
    random.between(0, 2 ** 30),
  ];
  return { seed: own, percent: isLiar ? percent : 0, nodes };
}

/** One for each party, in their order. */
export function* moodsOf({ seed, percent }: Liar): Generator<Mood | undefined, never> {
  for (let party = 0; ; party++) yield percent === 0 ? undefined : new Mood(new Random(seed, party), percent);
}

export const showLiar = ({ percent, nodes }: Liar): string =>
  percent === 0
    ? "honest parties"
    : `${String(percent)} % lies, ${String(nodes)} node${nodes === 1 ? "" : "s"}`;

/**
 * What mutations begin with: true proofs under two sets of keys. Under the committed keys those of the test vectors, made
 * again by what anybody can do to a proof; under keys whose trapdoor is public any number, also for signals that no
 * circuit would take. Each block of cases has its own.
 */
import { readFileSync } from "node:fs";
import { invert } from "@noble/curves/abstract/modular.js";
import { FIELD_ORDER, type Field } from "../../../shared/protocol/brands.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../shared/protocol/statements.ts";
import { parseVerificationKey, type VerificationKey } from "../../../shared/protocol/verification-key.ts";
import { readKeys, verificationKeysFolder } from "../../build/circuits/artefacts.ts";
import { trapdoorKeys, trapdoorOf } from "../bench/trapdoor/keys.ts";
import { openSimulator } from "../bench/trapdoor/simulator.ts";
import { Draw } from "./draw.ts";
import { madeAgain, wordsIn, wordsOfProof, type Words } from "./points.ts";

export const KEY_SETS = ["committed", "simulated"] as const;
export type KeySet = (typeof KEY_SETS)[number];
export type Keys = Readonly<Record<KeySet, Readonly<Record<Kind, VerificationKey>>>>;

/** A proof that holds. */
export interface Origin {
  readonly keys: KeySet;
  readonly kind: Kind;
  readonly words: Words;
  readonly signals: readonly bigint[];
}

export interface Origins {
  readonly seed: number;
  readonly keys: Keys;
  /** Of the block with that number; the same ones again for the same seed. */
  block(number: number): readonly Origin[];
}

/** Of each kind, in each block. */
const SIMULATED = 4;

export async function openOrigins(seed: number): Promise<Origins> {
  const simulatedKeys = Object.entries(await trapdoorKeys()).map(([kind, key]) => [
    kind,
    parseVerificationKey(key),
  ]);
  const keys: Keys = {
    committed: await readKeys(verificationKeysFolder),
    simulated: Object.fromEntries(simulatedKeys) as Keys["simulated"],
  };
  const told = readStory().map(({ kind, words, signals }): Origin => ({
    keys: "committed",
    kind,
    words,
    signals,
  }));
  let drawn: { readonly number: number; readonly origins: readonly Origin[] } | undefined;
  const draw = (label: string): Draw => new Draw(`${String(seed)} ${label}`);
  let from = draw("origins");
  const simulator = await openSimulator(undefined, () => from.scalar());

  const drawBlock = (number: number): readonly Origin[] => {
    from = draw(`block ${String(number)}`);
    return [
      ...told.map((origin) => ({
        ...origin,
        words: madeAgain(origin.words, keys.committed[origin.kind].delta, from),
      })),
      ...KIND_NAMES.flatMap((kind) =>
        Array.from({ length: SIMULATED }, (): Origin => {
          const signals = drawSignals(kind, from);
          return { keys: "simulated", kind, signals, words: wordsOfProof(simulator.prove(kind, signals)) };
        }),
      ),
    ];
  };
  return {
    seed,
    keys,
    block(number) {
      if (drawn?.number !== number) drawn = { number, origins: drawBlock(number) };
      return drawn.origins;
    },
  };
}

const STORY = new URL("../../../test/support/vectors/story.json", import.meta.url);

interface ToldStep {
  readonly step: string;
  readonly kind: Kind;
  readonly deadline: string;
  readonly signals: readonly string[];
  readonly proof: string;
  readonly extBytes: string;
}

export interface ToldStatement extends Pick<Origin, "kind" | "words" | "signals"> {
  readonly chainId: bigint;
  readonly pool: Uint8Array;
  readonly deadline: bigint;
  readonly ext: Uint8Array;
}

/** Statements with real proofs, one at least of each kind. */
export function readStory(): readonly ToldStatement[] {
  const { steps, chainId, pool } = JSON.parse(readFileSync(STORY, "utf8")) as {
    readonly steps: readonly ToldStep[];
    readonly chainId: string;
    readonly pool: string;
  };
  return steps
    .filter(({ step }) => step === "statement")
    .map(({ kind, deadline, signals, proof, extBytes }) => ({
      ...{ kind, chainId: BigInt(chainId), pool: mustFromHex(pool), deadline: BigInt(deadline) },
      words: wordsIn(mustFromHex(proof)),
      signals: signals.map(BigInt),
      ext: mustFromHex(extBytes),
    }));
}

/** Anything; often at the ends of the field; now and then so that their sum, X = IC[0] + Σ signals[i]·IC[i + 1], is infinity. */
function drawSignals(kind: Kind, draw: Draw): readonly Field[] {
  const ends = [0n, 1n, 2n, FIELD_ORDER - 1n, (FIELD_ORDER - 1n) / 2n];
  const signals = Array.from({ length: signalCount(kind) }, () =>
    draw.below(3) === 0 ? draw.oneOf(ends) : draw.number(FIELD_ORDER),
  );
  if (draw.below(4) === 0) {
    const at = draw.below(signals.length);
    signals[at] = vanishing(kind, signals, at);
  }
  return signals as Field[];
}

/** The signal at that place with which, beside the others, X is infinity under the keys whose trapdoor is public. */
export function vanishing(kind: Kind, signals: readonly bigint[], at: number): bigint {
  const { ic } = trapdoorOf(kind);
  const others = ic.reduce(
    (sum, scalar, i) => (i === at + 1 ? sum : sum + scalar * (signals[i - 1] ?? 1n)),
    0n,
  );
  return ((FIELD_ORDER - (others % FIELD_ORDER)) * invert(ic[at + 1]!, FIELD_ORDER)) % FIELD_ORDER;
}

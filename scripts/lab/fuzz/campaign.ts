/**
 * Runs cases against one parser and keeps those that reach somewhere new, or the same place a new
 * number of times. A case fails when it throws or works more than its size allows.
 */
import { mutate } from "./mutate.ts";
import type * as Probe from "./probe.ts";
import { Random } from "../../base/random.ts";

export interface Subject {
  /** Throws for a fault: parsers return values. */
  readonly run: (input: Uint8Array) => void;
  readonly seeds: readonly Uint8Array[];
  readonly tokens: readonly Uint8Array[];
  readonly probe: Pick<typeof Probe, "begin" | "workDone" | "eachReached">;
  /** Steps a case of this many bytes may take. */
  readonly workLimit: (bytes: number) => number;
  readonly maxBytes: number;
  /** Other ways to make a case out of another, taken half of the time. */
  readonly reshape?: (bytes: Uint8Array, random: Random) => Uint8Array;
}

export interface Campaign {
  readonly cases: number;
  readonly seed: number;
  /** False keeps the seeds alone: what blind mutation would find. */
  readonly isGuided?: boolean;
  /** Told of every case before it runs. */
  readonly onCase?: (input: Uint8Array) => void;
}

export interface Failure {
  readonly input: Uint8Array;
  readonly error: Error;
  /** Number of the case, from 0. */
  readonly at: number;
}

export interface Outcome {
  readonly cases: number;
  readonly reachedBySeeds: number;
  readonly reached: number;
  readonly corpus: number;
  /** The most work of a case, as a part of what it may take. */
  readonly heaviest: number;
  readonly failure: Failure | undefined;
}

export function campaign(subject: Subject, { cases, seed, isGuided = true, onCase }: Campaign): Outcome {
  const random = new Random(seed);
  const corpus = [...subject.seeds];
  const material = { tokens: subject.tokens, corpus, maxBytes: subject.maxBytes };
  const seen = new Map<number, number>();
  let heaviest = 0;
  let failure: Failure | undefined;
  let at = 0;

  const isNew = (input: Uint8Array): boolean => {
    onCase?.(input);
    const error = faultOf(subject, input);
    if (error !== undefined) failure = { input, error, at };
    heaviest = Math.max(heaviest, subject.probe.workDone() / subject.workLimit(input.length));
    at++;
    return merge(seen, subject.probe);
  };

  for (const input of subject.seeds) if (failure === undefined) isNew(input);
  const reachedBySeeds = seen.size;
  while (at < cases && failure === undefined) {
    // What was found last is where the unknown begins: the nearer the end, the more often.
    const parent = corpus[corpus.length - 1 - random.below(1 + random.below(corpus.length))]!;
    const reshaped = subject.reshape && random.below(2) === 0 ? subject.reshape(parent, random) : parent;
    const input =
      reshaped === parent || random.below(2) === 0 ? mutate(reshaped, random, material) : reshaped;
    if (isNew(input) && isGuided) corpus.push(input);
  }
  return { cases: at, reachedBySeeds, reached: seen.size, corpus: corpus.length, heaviest, failure };
}

/** Counts differ when their powers of two do. True when there was something new. */
function merge(seen: Map<number, number>, probe: Subject["probe"]): boolean {
  let isNew = false;
  probe.eachReached((place, count) => {
    const power = 1 << Math.min(32 - Math.clz32(count), 31);
    const before = seen.get(place) ?? 0;
    if ((before & power) !== 0) return;
    seen.set(place, before | power);
    isNew = true;
  });
  return isNew;
}

function faultOf({ probe, run, workLimit }: Subject, input: Uint8Array): Error | undefined {
  const limit = workLimit(input.length);
  probe.begin(limit);
  try {
    run(input);
  } catch (error) {
    return error as Error;
  }
  // A parser that catches what it throws itself would catch the stop as well.
  return probe.workDone() > limit ? new RangeError(`more than ${limit} steps`) : undefined;
}

/** The same fault from fewer bytes: stretches are left out for as long as the fault stays. */
export function smallest(subject: Subject, { input, error }: Failure): Uint8Array {
  const fails = (bytes: Uint8Array): boolean => {
    const other = faultOf(subject, bytes);
    // How many steps were too many depends on the size.
    return other?.name === error.name && (error.name === "WorkExceeded" || other.message === error.message);
  };
  let least = input;
  for (let size = Math.ceil(input.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < least.length;) {
      const shorter = Uint8Array.from([...least.slice(0, from), ...least.slice(from + size)]);
      if (fails(shorter)) least = shorter;
      else from += size;
    }
  }
  return least;
}

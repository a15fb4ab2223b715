// What a demonstration shows: its steps as they happen, and at each chapter's end what was found beside what must be. Tests
// play the same journeys and look at the same story.
import { Parties } from "../base/parties.ts";
import type { NetworkName } from "../base/stack-file.ts";
import { showUnits, type Token } from "../stand-ins/usdc.ts";

export type Unit = Pick<Token, "symbol" | "decimals">;

export interface Check {
  readonly what: string;
  /** An amount in the smallest unit, where there is a unit. */
  readonly expected: string;
  readonly actual: string;
  readonly unit: Unit | undefined;
}

export interface Timing {
  readonly operation: string;
  readonly step: string;
  readonly ms: number;
}

export interface Sent {
  readonly operation: string;
  /** Null where the depositor sent the transaction itself. */
  readonly ticket_id: string | null;
  readonly tx_hash: string | null;
}

export class Chapter {
  readonly name: string;
  /** What the attacker of this chapter does, in a line. */
  attack: string | undefined;
  readonly network: NetworkName | undefined;
  readonly checks: Check[] = [];
  readonly timings: Timing[] = [];
  readonly transactions: Sent[] = [];

  constructor(name: string, { attack, network }: { attack?: string; network?: NetworkName }) {
    this.name = name;
    this.attack = attack;
    this.network = network;
  }

  is(what: string, actual: unknown, expected: unknown, unit?: Unit): void {
    this.checks.push({ what, expected: String(expected), actual: String(actual), unit });
  }

  /** Of a longer text, only the part that matters has to be there. */
  says(what: string, actual: string, expected: string): void {
    this.is(what, actual.includes(expected) ? expected : actual, expected);
  }
}

/** What it starts is stopped with the parties. */
export type Journey = (story: Story, parties: Parties) => Promise<void>;

export class Story {
  readonly say: (text: string) => void;
  readonly chapters: Chapter[] = [];

  constructor(say: (text: string) => void = () => undefined) {
    this.say = say;
  }

  /** For tests, which say nothing. */
  static of(journey: Journey): Promise<Story> {
    return Parties.start(async (parties) => {
      const story = new Story();
      await journey(story, parties);
      await parties.stop();
      return story;
    });
  }

  async chapter(
    name: string,
    about: ConstructorParameters<typeof Chapter>[1],
    play: (chapter: Chapter) => Promise<void>,
  ): Promise<void> {
    const chapter = new Chapter(name, about);
    this.chapters.push(chapter);
    await play(chapter);
    this.say(shown(chapter));
  }

  get isAsItMust(): boolean {
    return this.chapters.every(({ checks }) => checks.every(isMet));
  }

  data(): unknown {
    return { ok: this.isAsItMust, chapters: this.chapters };
  }
}

const isMet = ({ expected, actual }: Check): boolean => expected === actual;

function shown({ name, attack, checks, timings }: Chapter): string {
  const width = Math.max(...checks.map(({ what }) => what.length));
  const lines = checks.map((check) => `    ${check.what.padEnd(width)}  ${verdict(check)}`);
  const proofs = timings
    .filter(({ step }) => step === "prove")
    .map(({ operation, ms }) => `${operation} ${(ms / 1000).toFixed(2)} s`);
  return [
    ...[`\n  ${name}`, ...(attack === undefined ? [] : [`    (${attack})`]), ...lines],
    ...(proofs.length === 0 ? [] : [`    Proofs: ${proofs.join(", ")}.`]),
  ].join("\n");
}

function verdict(check: Check): string {
  const { unit } = check;
  const inWords = (text: string): string =>
    unit === undefined ? text : `${showUnits(BigInt(text), unit.decimals).padStart(22)} ${unit.symbol}`;
  const actual = inWords(check.actual);
  if (!isMet(check)) return `WRONG: ${actual.trim()}, where ${inWords(check.expected).trim()} was to come`;
  return unit === undefined ? actual : `${actual.padEnd(28)}  exact`;
}

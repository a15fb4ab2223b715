// What a case of the tamper demonstration is, and what was answered in it beside what must be.
export interface Check {
  readonly what: string;
  readonly expected: string;
  readonly actual: string;
}

export interface Case {
  readonly name: string;
  /** What the attacker does, in a line. */
  readonly attack: string;
  readonly checks: readonly Check[];
}

/** What happened in one case. */
export class Ledger implements Case {
  readonly name: string;
  attack: string;
  readonly checks: Check[] = [];

  constructor(name: string, attack: string) {
    this.name = name;
    this.attack = attack;
  }

  is(what: string, actual: string, expected: string): void {
    this.checks.push({ what, expected, actual });
  }

  /** Of a longer text, only the part that matters has to be there. */
  says(what: string, actual: string, expected: string): void {
    this.is(what, actual.includes(expected) ? expected : actual, expected);
  }
}

/**
 * Openings of fee notes that were accepted: enough to spend a fee whose ciphertext was garbage. Only the receiver of a
 * note can spend with its opening, but whoever reads this learns which leaves are fees. There are the notes, which of
 * them each statement has, an order for each receiver, and an order by deadline of the statements of which it is not
 * known yet whether they were executed.
 */
import { z } from "zod";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import { retrying, type Check, type Engine, type Write } from "./engine.ts";
import { jsonForm, numbered, Records, type Numbered, type RecordOf } from "./records.ts";
import { storedAddress, storedBigint, storedBytes32, storedField } from "./values.ts";

/** No developer's id begins with a letter of this kind (auth/registration.ts). */
const SERVICE = "#service";
const NOTES = "fee-notes";
const STATEMENTS = "fee-notes:statements";
const UNSETTLED = "fee-notes:unsettled";
const ofReceiver = (receiver: string | undefined): string => `fee-notes:of:${receiver ?? SERVICE}`;

const note = z
  .strictObject({
    receiver: z.string(),
    statement: storedBytes32,
    /** Place among the statement's outputs. */
    output: z.int(),
    asset: storedAddress,
    value: storedBigint,
    blinding: storedField,
    npk: storedField,
    /** Of the statement, Unix seconds: what is not executed by then never is. */
    deadline: z.int(),
  })
  .transform(({ receiver, ...rest }) => ({
    ...rest,
    /** The developer whose sink it pays; undefined: the service's. */
    receiver: receiver === SERVICE ? undefined : receiver,
  }));
export type FeeNote = RecordOf<typeof note>;

const noteForm = jsonForm<FeeNote>(
  note,
  ({ receiver = SERVICE, statement, output, asset, value, blinding, npk, deadline }) => {
    const [v, b, n] = [String(value), String(blinding), String(npk)];
    return { receiver, statement, output, asset, value: v, blinding: b, npk: n, deadline };
  },
);

const ofStatement = z.strictObject({ deadline: z.int(), outputs: z.array(z.int()) });
type Statement = RecordOf<typeof ofStatement>;

export class FeeNoteStore {
  readonly #engine: Engine;
  readonly #notes: Records<Numbered<FeeNote>>;
  readonly #statements: Records<Statement>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#notes = new Records(engine, NOTES, numbered(noteForm));
    this.#statements = new Records(engine, STATEMENTS, jsonForm<Statement>(ofStatement));
  }

  /** One atomic durable write. What is kept already stays as it is. */
  keep(made: readonly FeeNote[]): Promise<void> {
    return retrying(this.#engine, async () => {
      const [found, checks] = await this.#known([...new Set(made.map(({ statement }) => statement))], "read");
      const writes: Write[] = [];
      for (const one of made) {
        const { statement, output, deadline, receiver } = one;
        const before = found.get(statement)?.outputs ?? [];
        if (before.includes(output)) continue;
        found.set(statement, { deadline, outputs: [...before, output] });
        const key = keyOf(statement, output);
        writes.push(["put-numbered", NOTES, key, noteForm.write(one, key)]);
        writes.push(["rank", ofReceiver(receiver), "number", key]);
        writes.push(["rank", UNSETTLED, deadline, statement]);
      }
      if (writes.length === 0) return { result: undefined };
      for (const [statement, one] of found)
        writes.push(["put", STATEMENTS, statement, this.#statements.write(statement, one)]);
      return { step: { checks, writes, number: ["fee-notes:counts", "last"] }, result: undefined };
    });
  }

  /** In order of acceptance, after the first `skip`. */
  async notesOf(receiver: string | undefined, skip: number, limit: number): Promise<readonly FeeNote[]> {
    const keys = await this.#engine.members(ofReceiver(receiver), { skip, limit });
    // One that was forgotten between the two questions is left out.
    return (await this.#notes.list(keys)).flatMap((found) => (found === undefined ? [] : found.value));
  }

  /** Statements whose deadline is before (Unix seconds) and that are not settled yet, oldest first. */
  async unsettled(before: number, limit: number): Promise<readonly Bytes32[]> {
    return z.array(storedBytes32).parse(await this.#engine.members(UNSETTLED, { before, limit }));
  }

  /** The notes of a statement that was not executed are forgotten; of one that was, they stay permanently. */
  settle(outcomes: readonly { readonly statement: Bytes32; readonly executed: boolean }[]): Promise<void> {
    return retrying(this.#engine, async () => {
      const executed = new Map(outcomes.map((outcome) => [outcome.statement, outcome.executed]));
      const [found, checks] = await this.#known([...executed.keys()], "readOrSkip");
      const writes: Write[] = [];
      for (const [statement, one] of found) {
        writes.push(["unrank", UNSETTLED, one.deadline, statement]);
        if (executed.get(statement) === true) continue;
        writes.push(["drop", STATEMENTS, statement], ...(await this.#forget(statement, one)));
      }
      return { step: { checks, writes, thoughFull: true }, result: undefined };
    });
  }

  /** What is kept of these statements, and the checks that it still is. */
  async #known(
    wanted: readonly Bytes32[],
    read: "read" | "readOrSkip",
  ): Promise<[Map<Bytes32, Statement>, Check[]]> {
    const texts = await this.#engine.get(STATEMENTS, wanted);
    const found = new Map<Bytes32, Statement>();
    for (const [i, statement] of wanted.entries()) {
      const one = this.#statements[read](statement, texts[i]);
      if (one !== undefined) found.set(statement, one);
    }
    return [found, wanted.map((statement, i) => ["is", STATEMENTS, statement, texts[i]])];
  }

  async #forget(statement: Bytes32, { outputs }: Statement): Promise<Write[]> {
    const keys = outputs.map((output) => keyOf(statement, output));
    const found = await this.#notes.list(keys);
    return keys.flatMap((key, i): Write[] => {
      const one = found[i];
      // One that cannot be read is in nobody's list.
      if (one === undefined) return [["drop", NOTES, key]];
      return [
        ["drop", NOTES, key],
        ["unrank", ofReceiver(one.value.receiver), one.number, key],
      ];
    });
  }
}

const keyOf = (statement: Bytes32, output: number): string => `${statement}/${String(output)}`;

/**
 * Openings of fee notes: the notes, which of them each statement has, an order for each receiver, and an order by
 * deadline of the statements of which it is not known yet whether they were executed.
 */
import { z } from "zod";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import { retrying, type Check, type Engine, type Write } from "../engine.ts";
import type { FeeNote, FeeNoteStore } from "../fee-notes.ts";
import { jsonForm, Records } from "./records.ts";
import { numbered } from "./numbered.ts";
import { storedAddress, storedBigint, storedBytes32, storedField } from "./values.ts";

/** No developer's id begins with a letter of this kind (auth/registration.ts). */
const SERVICE = "#service";
const NOTES = "fee-notes";
const STATEMENTS = "fee-notes:statements";
const UNSETTLED = "fee-notes:unsettled";
const ofReceiver = (receiver: string | undefined): string => `fee-notes:of:${receiver ?? SERVICE}`;

const noteForm = jsonForm<FeeNote>(
  z
    .strictObject({
      receiver: z.string(),
      statement: storedBytes32,
      output: z.int(),
      asset: storedAddress,
      value: storedBigint,
      blinding: storedField,
      npk: storedField,
      deadline: z.int(),
    })
    .transform(({ receiver, ...note }) => ({
      ...note,
      receiver: receiver === SERVICE ? undefined : receiver,
    })),
  ({ receiver = SERVICE, statement, output, asset, value, blinding, npk, deadline }) => {
    const [v, b, n] = [String(value), String(blinding), String(npk)];
    return { receiver, statement, output, asset, value: v, blinding: b, npk: n, deadline };
  },
);
interface Statement {
  readonly deadline: number;
  readonly outputs: readonly number[];
}
const statementForm = jsonForm<Statement>(z.strictObject({ deadline: z.int(), outputs: z.array(z.int()) }));

export function openFeeNoteStore(engine: Engine): FeeNoteStore {
  const notes = new Records(engine, NOTES, numbered(noteForm));
  const statements = new Records(engine, STATEMENTS, statementForm);

  /** What is kept of these statements, and the checks that it still is. */
  async function known(
    wanted: readonly Bytes32[],
    read: "read" | "readOrSkip",
  ): Promise<[Map<Bytes32, Statement>, Check[]]> {
    const texts = await engine.get(STATEMENTS, wanted);
    const found = new Map<Bytes32, Statement>();
    for (const [i, statement] of wanted.entries()) {
      const one = statements[read](statement, texts[i]);
      if (one !== undefined) found.set(statement, one);
    }
    return [found, wanted.map((statement, i) => ["is", STATEMENTS, statement, texts[i]])];
  }

  async function forget(statement: Bytes32, { outputs }: Statement): Promise<Write[]> {
    const keys = outputs.map((output) => keyOf(statement, output));
    const found = await notes.list(keys);
    return keys.flatMap((key, i): Write[] => {
      const note = found[i];
      // One that cannot be read is in nobody's list.
      if (note === undefined) return [["drop", NOTES, key]];
      return [
        ["drop", NOTES, key],
        ["unrank", ofReceiver(note.value.receiver), note.number, key],
      ];
    });
  }

  return {
    keep: (made) =>
      retrying(engine, async () => {
        const [found, checks] = await known([...new Set(made.map(({ statement }) => statement))], "read");
        const writes: Write[] = [];
        for (const note of made) {
          const { statement, output, deadline, receiver } = note;
          const before = found.get(statement)?.outputs ?? [];
          if (before.includes(output)) continue;
          found.set(statement, { deadline, outputs: [...before, output] });
          const key = keyOf(statement, output);
          writes.push(["put-numbered", NOTES, key, noteForm.write(note, key)]);
          writes.push(["rank", ofReceiver(receiver), "number", key]);
          writes.push(["rank", UNSETTLED, deadline, statement]);
        }
        if (writes.length === 0) return { result: undefined };
        for (const [statement, one] of found)
          writes.push(["put", STATEMENTS, statement, statements.write(statement, one)]);
        return { step: { checks, writes, number: ["fee-notes:counts", "last"] }, result: undefined };
      }),

    async notesOf(receiver, skip, limit) {
      const keys = await engine.members(ofReceiver(receiver), { skip, limit });
      // One that was forgotten between the two questions is left out.
      return (await notes.list(keys)).flatMap((note) => (note === undefined ? [] : note.value));
    },

    async unsettled(before, limit) {
      return z.array(storedBytes32).parse(await engine.members(UNSETTLED, { before, limit }));
    },

    settle: (outcomes) =>
      retrying(engine, async () => {
        const executed = new Map(outcomes.map((outcome) => [outcome.statement, outcome.executed]));
        const [found, checks] = await known([...executed.keys()], "readOrSkip");
        const writes: Write[] = [];
        for (const [statement, one] of found) {
          writes.push(["unrank", UNSETTLED, one.deadline, statement]);
          if (executed.get(statement) === true) continue;
          writes.push(["drop", STATEMENTS, statement], ...(await forget(statement, one)));
        }
        return { step: { checks, writes, thoughFull: true }, result: undefined };
      }),
  };
}

const keyOf = (statement: Bytes32, output: number): string => `${statement}/${String(output)}`;

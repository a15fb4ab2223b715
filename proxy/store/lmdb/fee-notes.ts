/** Openings of fee notes in LMDB: by receiver in order of acceptance, with an index by statement and one by deadline. */
import { mustField, type Address, type Bytes32, type Field } from "../../../shared/protocol/brands.ts";
import type { FeeNote, FeeNoteStore } from "../fee-notes.ts";
import { THOUGH_FULL, type Database } from "./database.ts";

const LAST = Number.MAX_SAFE_INTEGER;
/** No developer's id begins with a letter of this kind (auth/registration.ts). */
const SERVICE = "#service";

type Key = (string | number)[];

interface Stored {
  readonly statement: Bytes32;
  readonly output: number;
  readonly asset: Address;
  readonly value: string;
  readonly blinding: string;
  readonly npk: string;
  readonly deadline: number;
}

export function openFeeNoteStore(database: Database): FeeNoteStore {
  const table = database.table<unknown, Key>("fee-notes");

  return {
    keep: (notes) =>
      database.transaction(() => {
        for (const { receiver = SERVICE, ...note } of notes) {
          const place: Key = ["of", note.statement, note.output];
          if (table.get(place) !== undefined) continue;
          const sequence = ((table.get(["last"]) as number | undefined) ?? 0) + 1;
          const key: Key = ["note", receiver, sequence];
          void table.put(["last"], sequence);
          void table.put(key, store(note));
          void table.put(place, key);
          void table.put(["doubtful", note.deadline, note.statement], note.statement);
        }
      }),

    async notesOf(receiver, skip, limit) {
      const who = receiver ?? SERVICE;
      const range = { start: ["note", who, 0], end: ["note", who, LAST], offset: skip, limit };
      return [...table.getRange(range)].map(({ value }) => read(receiver, value as Stored));
    },

    doubtful: async (before, limit) =>
      [...table.getRange({ start: ["doubtful", 0], end: ["doubtful", before], limit })].map(
        ({ value }) => value as Bytes32,
      ),

    settle: (outcomes) =>
      database.transaction(() => {
        for (const { statement, executed } of outcomes) {
          const places = table.getRange({ start: ["of", statement, 0], end: ["of", statement, LAST] });
          for (const { key: place, value } of [...places]) {
            const key = value as Key;
            const { deadline } = table.get(key) as Stored;
            void table.remove(["doubtful", deadline, statement]);
            if (executed) continue;
            void table.remove(key);
            void table.remove(place);
          }
        }
      }, THOUGH_FULL),
  };
}

function store({
  statement,
  output,
  asset,
  value,
  blinding,
  npk,
  deadline,
}: Omit<FeeNote, "receiver">): Stored {
  const [v, b, n] = [String(value), String(blinding), String(npk)];
  return { statement, output, asset, value: v, blinding: b, npk: n, deadline };
}

function read(receiver: string | undefined, stored: Stored): FeeNote {
  const field = (text: string): Field => mustField(BigInt(text));
  return {
    ...stored,
    receiver,
    value: BigInt(stored.value),
    blinding: field(stored.blinding),
    npk: field(stored.npk),
  };
}

/** The ledger with its journal: what is told to anybody is on disk first. */
import {
  getBase64Decoder,
  getBase64Encoder,
  getTransactionDecoder,
  getTransactionEncoder,
} from "@solana/kit";
import type { Transaction } from "@solana/kit";
import { openJournal, type Entry } from "./journal.ts";
import { Ledger, type Submission } from "./ledger.ts";
import type { Genesis } from "./genesis.ts";

export interface Chain {
  /** To ask; `submit`, `advance` and `reorganise` of the chain itself change it. */
  readonly ledger: Ledger;
  submit(transaction: Transaction): Submission;
  advance(): void;
  reorganise(slots: number, again: boolean): ReturnType<Ledger["reorganise"]>;
}

export function openChain(folder: string, genesis: Genesis, now: () => number): Chain {
  const journal = openJournal(folder);
  const [first, ...entries] = journal.entries;
  const begun = first !== undefined && "genesis" in first ? first.genesis : seconds(now);
  if (first === undefined) journal.append({ genesis: begun });
  const ledger = new Ledger(genesis.accounts, BigInt(begun));
  for (const entry of entries) replay(ledger, entry);

  return {
    ledger,
    submit: (transaction) => {
      const submission = ledger.submit(transaction);
      if (submission.state === "landed") journal.append({ transaction: encoded(transaction) });
      return submission;
    },
    advance: () => {
      const slot = seconds(now);
      ledger.advance(BigInt(slot));
      journal.append({ slot });
    },
    reorganise: (slots, again) => {
      const result = ledger.reorganise(slots, again);
      journal.append({ reorganised: slots, again });
      return result;
    },
  };
}

function replay(ledger: Ledger, entry: Entry): void {
  if ("slot" in entry) ledger.advance(BigInt(entry.slot));
  else if ("reorganised" in entry) ledger.reorganise(entry.reorganised, entry.again);
  else if ("transaction" in entry) {
    const bytes = getBase64Encoder().encode(entry.transaction);
    if (ledger.submit(getTransactionDecoder().decode(bytes)).state !== "landed")
      throw new Error("the journal is of another chain: a transaction does not land again");
  } else throw new Error("the journal begins twice");
}

function encoded(transaction: Transaction): string {
  return getBase64Decoder().decode(getTransactionEncoder().encode(transaction));
}

function seconds(now: () => number): number {
  return Math.floor(now() / 1000);
}

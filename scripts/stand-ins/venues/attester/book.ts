// What the attester knows: each message sighted, and what was signed for it. Changed by pure steps; a change is on disk
// before anybody sees it, since an attestation that was given out once cannot be taken back.
import { z } from "zod";
import type { Bytes32 } from "../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../shared/protocol/bytes.ts";
import { encodeMessage, parseMessage, type CctpMessage } from "../../../../shared/protocol/host/cctp.ts";
import { bytes32Shape, bytesShape } from "../shapes.ts";
import { complete, completeAgain, nonceOf, type Emission, type Terms } from "./completing.ts";
import type { Look } from "./sources.ts";

const record = z.object({
  domain: z.int(),
  transaction: z.string(),
  ordinal: z.int(),
  nonce: bytes32Shape,
  emitted: z.string(),
  is_burn: z.boolean(),
  depth: z.enum(["seen", "fast", "final"]),
  /** False when the chain has undone it after it was attested fast. */
  on_chain: z.boolean(),
  attested: z.object({ message: z.string(), attestation: z.string() }).nullable(),
  delay_reason: z.enum(["insufficient_fee"]).nullable(),
});
export type Entry = z.output<typeof record>;

export const bookShape = z.object({
  /** By domain; where to look on. */
  positions: z.record(z.string(), z.string()),
  entries: z.array(record),
});
export type Book = z.output<typeof bookShape>;

export const EMPTY_BOOK: Book = { positions: {}, entries: [] };

export interface Attesting {
  readonly termsFor: (message: CctpMessage) => Terms;
  readonly attest: (message: Uint8Array) => Uint8Array;
}

/** The same book when nothing changed. */
export function afterLook(book: Book, domain: number, look: Look, attesting: Attesting): Book {
  const sighted = new Map(
    look.sighted.map((one) => [nonceOf(domain, one.transaction, one.ordinal, one.content), one] as const),
  );
  const known = new Set(book.entries.map(({ nonce }) => nonce));
  const kept = book.entries.flatMap((entry): Entry[] => {
    if (entry.domain !== domain || entry.depth === "final") return [entry];
    const now = sighted.get(entry.nonce);
    if (now === undefined) {
      // Undone before it was final. What was attested fast stays out there; who took that risk is paid for it.
      if (entry.attested === null) return [];
      return [entry.on_chain ? { ...entry, depth: "seen", on_chain: false } : entry];
    }
    const isSame = entry.depth === now.depth && entry.on_chain;
    return [isSame ? entry : { ...entry, depth: now.depth, on_chain: true }];
  });
  const added = [...sighted]
    .filter(([nonce]) => !known.has(nonce))
    .map(([nonce, one]): Entry => ({
      domain,
      transaction: one.transaction,
      ordinal: one.ordinal,
      nonce,
      emitted: toHex(encodeMessage(one.message)),
      is_burn: one.isBurn,
      depth: one.depth,
      on_chain: true,
      attested: null,
      delay_reason: null,
    }));
  const entries = [...kept, ...added].map((entry) => attestedWhenDue(entry, attesting));
  const isSame =
    book.positions[String(domain)] === look.position &&
    entries.length === book.entries.length &&
    entries.every((entry, i) => entry === book.entries[i]);
  return isSame ? book : { positions: { ...book.positions, [String(domain)]: look.position }, entries };
}

function attestedWhenDue(entry: Entry, { termsFor, attest }: Attesting): Entry {
  if (entry.attested !== null) return entry;
  const emission = emissionOf(entry);
  const { message, delayReason } = complete(emission, termsFor(emission.message));
  if (message === undefined)
    return delayReason === entry.delay_reason ? entry : { ...entry, delay_reason: delayReason };
  return { ...entry, attested: signed(message, attest), delay_reason: delayReason };
}

/** Undefined when there is no fast attestation to renew, or it cannot be renewed now. */
export function afterReattest(book: Book, nonce: Bytes32, { termsFor, attest }: Attesting): Book | undefined {
  const entry = book.entries.find((one) => one.nonce === nonce && one.on_chain);
  if (entry?.attested === null || entry === undefined) return undefined;
  const emission = emissionOf(entry);
  const before = bytesShape.parse(entry.attested.message);
  const message = completeAgain(emission, before, termsFor(emission.message));
  if (message === undefined) return undefined;
  const renewed = { ...entry, attested: signed(message, attest) };
  return { ...book, entries: book.entries.map((one) => (one === entry ? renewed : one)) };
}

function signed(message: Uint8Array, attest: Attesting["attest"]): NonNullable<Entry["attested"]> {
  return { message: toHex(message), attestation: toHex(attest(message)) };
}

function emissionOf(entry: Entry): Emission {
  const message = parseMessage(bytesShape.parse(entry.emitted));
  if (message === undefined) throw new TypeError("the book holds what is no message");
  return { message, depth: entry.depth, isBurn: entry.is_burn, nonce: entry.nonce };
}

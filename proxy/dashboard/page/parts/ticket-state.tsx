/** The states of a ticket in words and colours. */
import type { TicketState } from "../../../../shared/api/transactions.ts";
import { Pill, type Tone } from "./words.tsx";

const TONES: Readonly<Record<TicketState, Tone>> = {
  queued: "calm",
  submitted: "calm",
  confirmed: "calm",
  finalized: "good",
  failed: "bad",
  expired: "warn",
};

export const STATE_WORDS: Readonly<Record<TicketState, string>> = {
  queued: "Accepted, and waiting to be sent",
  submitted: "Sent to the chain",
  confirmed: "In a block",
  finalized: "Final: no reorganisation can undo it",
  failed: "Failed, and nothing was paid",
  expired: "Its deadline passed before it was sent, and nothing was paid",
};

export function StatePill({ state }: { readonly state: TicketState }) {
  return <Pill tone={TONES[state]}>{state}</Pill>;
}

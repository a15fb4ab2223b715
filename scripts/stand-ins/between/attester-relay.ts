/** What stands between one proxy and the attester may do, and how it lies about a message. */
import { mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { encodeBurn, encodeMessage, parseBurn, parseMessage } from "../../../shared/protocol/host/cctp.ts";
import { HTTP_FAULTS, startHttpRelay, type Answer, type Asked, type HttpRelay } from "./http-relay.ts";

/** Those that need a message to lie about. */
export const ATTESTER_LIES = ["unknown", "pending", "forged-signature", "other-amount"] as const;
type AttesterLie = (typeof ATTESTER_LIES)[number];
export const ATTESTER_FAULTS = [...HTTP_FAULTS, ...ATTESTER_LIES] as const;
export type AttesterFault = (typeof ATTESTER_FAULTS)[number];

export const ATTESTER_QUESTIONS = ["messages", "fees", "reattest"] as const;
export type AttesterQuestion = (typeof ATTESTER_QUESTIONS)[number];

export type AttesterRelay = HttpRelay<AttesterLie, AttesterQuestion>;

export const startAttesterRelay = (target: string): Promise<AttesterRelay> =>
  startHttpRelay(target, { lies: ATTESTER_LIES, cut: '{"messages":[{"message":"0x', questionOf, lied });

function questionOf({ path }: Asked): AttesterQuestion {
  if (path.startsWith("/v2/messages/")) return "messages";
  return path.startsWith("/v2/reattest/") ? "reattest" : "fees";
}

interface Shown {
  /** Without a message while it is pending. */
  readonly messages: readonly { readonly message: string | null; readonly attestation: string }[];
}

function lied(lie: AttesterLie, question: AttesterQuestion, { status, text }: Answer): Answer | undefined {
  if (question !== "messages" || status !== 200 || !text.includes('"complete"')) return undefined;
  if (lie === "unknown") return { status: 404, text: '{"code":404,"message":"Message not found"}' };
  const { messages } = JSON.parse(text) as Shown;
  const changed = messages.map((one) => {
    const { message } = one;
    if (message === null) return one;
    if (lie === "pending")
      return { ...one, message: null, attestation: "PENDING", status: "pending_confirmations" };
    if (lie === "forged-signature") return { ...one, attestation: flipped(one.attestation) };
    return { ...one, message: withMore(message) };
  });
  return { status, text: JSON.stringify({ messages: changed }) };
}

/** Still signatures by their form. */
function flipped(attestation: string): string {
  const bytes = mustFromHex(attestation);
  bytes[20]! ^= 1;
  return toHex(bytes);
}

/** As if ten times as much had been burned. */
function withMore(text: string): string {
  const message = parseMessage(mustFromHex(text));
  const burn = message && parseBurn(message.body);
  if (burn === undefined) return text;
  return toHex(encodeMessage({ ...message!, body: encodeBurn({ ...burn, amount: burn.amount * 10n }) }));
}

/** What stands between one proxy and the exchange's API may do, and how it lies about an account or about itself. */
import { HTTP_FAULTS, startHttpRelay, type Answer, type Asked, type HttpRelay } from "./http-relay.ts";

/** No such account; paused; and a form that nobody knows. */
const EXCHANGE_LIES = ["denies-account", "says-paused", "other-form"] as const;
type ExchangeLie = (typeof EXCHANGE_LIES)[number];
export const EXCHANGE_FAULTS = [...HTTP_FAULTS, ...EXCHANGE_LIES] as const;
export type ExchangeFault = (typeof EXCHANGE_FAULTS)[number];

export const EXCHANGE_QUESTIONS = ["role", "status"] as const;
export type ExchangeQuestion = (typeof EXCHANGE_QUESTIONS)[number];

export type ExchangeRelay = HttpRelay<ExchangeLie, ExchangeQuestion>;

export const startExchangeRelay = (target: string): Promise<ExchangeRelay> =>
  startHttpRelay(target, { lies: EXCHANGE_LIES, cut: '{"role":"us', questionOf, lied });

const questionOf = ({ body }: Asked): ExchangeQuestion => (body.includes("userRole") ? "role" : "status");

function lied(lie: ExchangeLie, question: ExchangeQuestion, { status }: Answer): Answer | undefined {
  switch (lie) {
    case "denies-account":
      return question === "role" ? { status, text: '{"role":"missing"}' } : undefined;
    case "says-paused":
      return question === "status" ? { status, text: '{"specialStatuses":["paused"],"time":1}' } : undefined;
    case "other-form":
      return { status, text: '{"role":7,"specialStatuses":"none"}' };
  }
}

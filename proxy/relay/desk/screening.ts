/**
 * The screening hook: a provider, if the operator names one, may say that money from a source is not to be swept. It can
 * stop us and nobody else: anybody may still sweep, and after the time-out the refund needs nobody's consent. Behind an
 * exchange's own bridge it sees the exchange alone.
 */
import { z } from "zod";
import type { Arrival } from "../fold/facts.ts";
import { KeptAnswers } from "./kept-answers.ts";
import type { Verdict } from "./steps.ts";

const TIMEOUT_MS = 5_000;
const RETRY_MS = 15_000;
/** What was let through stays so for this long; a refusal is asked for again as often. */
const FRESH_MS = 3_600_000;
const MOST_ANSWER_BYTES = 4_096;
/** A mint has no source: what burned was looked at where it burned. */
const NOBODY = `0x${"00".repeat(20)}`;

const answer = z.object({ allowed: z.boolean() });

export interface ScreeningParts {
  /** POST `{chain, address}`, answered `{allowed}`. Undefined: everything is swept. */
  readonly url: string | undefined;
  readonly now: () => number;
  readonly onFault: (error: unknown) => void;
  readonly onAnswer: () => void;
}

export function createScreening({ url, ...options }: ScreeningParts) {
  const asked = new KeptAnswers<boolean>({
    ...{ ...options, freshMs: FRESH_MS, retryMs: RETRY_MS },
    ask: async (key) => {
      const [chain, address] = key.split(" ");
      const reply = await fetch(url!, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ chain, address }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
        // Where it leads is not what the operator has named.
        redirect: "error",
      });
      if (!reply.ok) throw new Error(`the screening provider answered ${String(reply.status)}`);
      return answer.parse(JSON.parse(await shortText(reply))).allowed;
    },
  });

  return {
    /** Of all that came: one refused source refuses what lies with it, as an address is swept as a whole. */
    verdictOf(chain: string, arrivals: readonly Pick<Arrival, "from">[]): Verdict {
      if (url === undefined) return "open";
      const sources = new Set(arrivals.map(({ from }) => from.toLowerCase()));
      sources.delete(NOBODY);
      const answers = [...sources].map((from) => asked.of(`${chain} ${from}`));
      if (answers.some((one) => typeof one === "object" && !one.value)) return "refused";
      if (answers.includes(undefined)) return "unknown";
      return answers.includes("asking") ? "asking" : "open";
    },
  };
}

/** Its answers are short; a provider that sends without end must not fill our memory. */
async function shortText(reply: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of reply.body ?? []) {
    length += chunk.length;
    if (length > MOST_ANSWER_BYTES) throw new Error("the screening provider's answer is too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * Questions to the attesters' public API, a stranger's server. What it does not answer, or not so that it can be used, is
 * that one transaction's matter and has a reason in words; where nobody answers, nobody is asked any more in that round.
 */
import * as z from "../../../api/zod.ts";
import { fromHex } from "../../../protocol/host/text.ts";
import { parseBurn, parseMessage, type BurnBody, type CctpMessage } from "../../../protocol/host/cctp.ts";
import { boundedBody } from "../../base/bounded-body.ts";
import { readBaseUrl } from "../../base/reaching.ts";

/** A burn takes some 3 kB in an answer and 100,000 gas: of no transaction is it longer. */
const ANSWER_BYTES = 16 << 20;
const PATIENCE_MS = 20_000;
const TOO_MANY_REQUESTS = 429;
const NOT_YET = "nobody has attested it yet";
const ANOTHER_FORM = "the attester's answer has another form";

/** Whatever else is in the list is not attested yet: of a pending one the API says nulls. */
const attested = z.object({ message: z.string(), attestation: z.string(), status: z.literal("complete") });
const answer = z.object({ messages: z.array(z.unknown()) });

/** A message that mints, and what is said to be its attestation. */
export interface Attested {
  readonly text: string;
  readonly attestation: string;
  readonly message: CctpMessage;
  readonly burn: BurnBody;
}

export interface Answer {
  readonly attested: readonly Attested[];
  /** Why another one is not among them. */
  readonly reason: string;
}

/** Of one round. */
export class Attestations {
  readonly #base: string;
  readonly #fetch: typeof fetch;
  readonly #signal: AbortSignal | undefined;
  readonly #answers = new Map<string, Promise<Answer>>();
  /** Why nobody is asked any more. */
  #away: string | undefined;

  /** Throws OPTIONS_INVALID. */
  constructor(base: string, ask: typeof fetch | undefined, signal: AbortSignal | undefined) {
    this.#base = readBaseUrl(base, "attestations");
    this.#fetch = async (input, init) => (ask ?? fetch)(input, init);
    this.#signal = signal;
  }

  /** Of one transaction, which is asked about once. */
  of(domain: number, transaction: string): Promise<Answer> {
    const path = `/v2/messages/${domain}?transactionHash=${encodeURIComponent(transaction)}`;
    const found = this.#answers.get(path) ?? this.#answerAt(path);
    this.#answers.set(path, found);
    return found;
  }

  /** Of one whose attestation has run out. That nothing comes of it, the next round shows. */
  async reattest({ message }: Attested): Promise<void> {
    await this.#ask(`/v2/reattest/${message.nonce}`, "POST");
  }

  async #answerAt(path: string): Promise<Answer> {
    const found = await this.#ask(path, "GET");
    if (typeof found === "string") return { attested: [], reason: found };
    const { data } = answer.safeParse(found.json);
    if (data === undefined) return { attested: [], reason: ANOTHER_FORM };
    return { attested: data.messages.flatMap(readAttested), reason: NOT_YET };
  }

  /** A text says why there is no answer. */
  async #ask(path: string, method: "GET" | "POST"): Promise<{ readonly json: unknown } | string> {
    if (this.#away !== undefined) return this.#away;
    const ending = AbortSignal.any([
      AbortSignal.timeout(PATIENCE_MS),
      ...(this.#signal === undefined ? [] : [this.#signal]),
    ]);
    let response: Response | undefined;
    try {
      response = await this.#fetch(this.#base + path, { method, signal: ending });
      const { status, ok } = response;
      if (status >= 500 || status === TOO_MANY_REQUESTS)
        return (this.#away = `the attester answers with status ${status}`);
      if (!ok) return status === 404 ? NOT_YET : `the attester answers with status ${status}`;
      const bytes = await boundedBody(response, ANSWER_BYTES, ending, () => undefined);
      if (bytes === undefined) return "the attester's answer is too long";
      return { json: JSON.parse(new TextDecoder().decode(bytes)) as unknown };
    } catch {
      this.#signal?.throwIfAborted();
      if (ending.aborted) return "the attester does not answer in time";
      return response === undefined ? (this.#away = "the attester cannot be reached") : ANOTHER_FORM;
    }
  }
}

function readAttested(untrusted: unknown): Attested | [] {
  const one = attested.safeParse(untrusted).data;
  const message = parseMessage(fromHex(one?.message));
  const burn = parseBurn(message?.body);
  if (one === undefined || message === undefined || burn === undefined) return [];
  return { text: one.message, attestation: one.attestation, message, burn };
}

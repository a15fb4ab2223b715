/**
 * Attestations for the burns that we saw. A message is data to be carried and no more: it is used when it is the burn's
 * own, filled in, and whatever else the attesters say is left alone. That they are away for an hour costs an hour.
 */
import { fromHex } from "../../../shared/protocol/host/text.ts";
import { parseAttestation } from "../../../shared/protocol/host/cctp.ts";
import type { Logger } from "../../base/logging.ts";
import { AnswerUnusable, AttesterUnavailable } from "./attester-client.ts";
import type { AttesterClient, AttesterMessage } from "./attester-client.ts";
import { fillsIn, readBurnMessage, type ParsedBurn } from "./burn-message.ts";
import type { Burn } from "../fold/facts.ts";
import { createPassing } from "../../base/chain/passing.ts";

export interface Attested {
  readonly status: "pending" | "complete" | "expired";
  /** Hex; both undefined while it is pending. */
  readonly message: string | undefined;
  readonly attestation: string | undefined;
  readonly nonce: string | undefined;
  /** Block of the destination from which on it must be attested again; 0: never. */
  readonly expirationBlock: bigint;
}

interface Known {
  readonly attested: Attested;
  /** Milliseconds since 1970; not asked for again before, */
  askAt: number;
  /** nor before this, while it is complete. */
  readonly goodUntil: number;
  waitMs: number;
}

export interface AttestationOptions {
  readonly pollIntervalMs: number;
  /** Burns that have not arrived yet and are worth it, so far as they stand on their chain. */
  readonly wanted: () => readonly Burn[];
  /** Number of the newest block of a chain that is followed, as its contracts see it: they compare it. */
  readonly headOf: (chain: string) => number | undefined;
  readonly onChange: (burn: Burn) => void;
  readonly now?: () => number;
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const ASKED_AT_ONCE = 8;
/** In one pass, which is once a second: the public API takes 35 questions a second, and bars for five minutes whoever asks more. */
const ASKED_A_PASS = 16;
const PENDING: Attested = {
  ...{ status: "pending", message: undefined, attestation: undefined, nonce: undefined, expirationBlock: 0n },
};

export class Attestations {
  readonly #client: AttesterClient;
  readonly #logger: Logger;
  readonly #options: AttestationOptions;
  readonly #now: () => number;
  readonly #known = new Map<string, Known>();
  #restUntil = 0;
  #restMs = 0;
  /** Of the last questions none was answered so that it could be used. */
  #isSilent = false;
  readonly passing: ReturnType<typeof createPassing>;

  constructor(client: AttesterClient, logger: Logger, options: AttestationOptions) {
    this.#client = client;
    this.#logger = logger;
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.passing = createPassing(
      () => this.#pass(),
      options.pollIntervalMs,
      (error) => {
        if (error instanceof AttesterUnavailable)
          this.#logger.warn({ reason: error.message }, "the attester is away");
        else this.#logger.error({ err: error }, "asking for attestations failed");
      },
    );
  }

  /** Undefined until it was asked for once. One that has expired meanwhile is said to be so. */
  of(burn: Burn): Attested | undefined {
    const attested = this.#known.get(burn.id)?.attested;
    if (attested?.status !== "complete" || !this.#isExpired(burn, attested)) return attested;
    return { ...attested, status: "expired" };
  }

  isAway(): boolean {
    return this.#restMs > 0 || this.#isSilent;
  }

  /** Whoever is away is asked less and less often, and not for each burn again. */
  async #pass(): Promise<void> {
    if (this.#now() < this.#restUntil) return;
    try {
      await this.#askForAll();
      this.#restMs = 0;
    } catch (error) {
      this.#restMs = this.#restMs === 0 ? FIRST_WAIT_MS : longer(this.#restMs);
      this.#restUntil = this.#now() + this.#restMs;
      throw error;
    }
  }

  async #askForAll(): Promise<void> {
    const burns = this.#options.wanted();
    this.#forget(burns);
    const due = byTransaction(burns)
      .filter((ofOneTx) => ofOneTx.some((burn) => this.#isDue(burn)))
      // Each has its turn, however many are due.
      .sort((one, other) => this.#waitsSince(one) - this.#waitsSince(other))
      .slice(0, ASKED_A_PASS);
    const answered: boolean[] = [];
    for (let from = 0; from < due.length; from += ASKED_AT_ONCE)
      answered.push(
        ...(await Promise.all(due.slice(from, from + ASKED_AT_ONCE).map((burns) => this.#askFor(burns)))),
      );
    if (answered.length > 0) this.#isSilent = !answered.includes(true);
  }

  /** What is delivered, or was reorganised away, is asked for no more. */
  #forget(burns: readonly Burn[]): void {
    const ids = new Set(burns.map(({ id }) => id));
    for (const id of this.#known.keys()) if (!ids.has(id)) this.#known.delete(id);
  }

  #isDue(burn: Burn): boolean {
    const entry = this.#known.get(burn.id);
    if (entry === undefined) return true;
    const isGood = entry.attested.status === "complete" && !this.#isExpired(burn, entry.attested);
    // Its nonce alone was wanted.
    if (isGood && burn.delivery !== undefined) return false;
    // One that was not delivered may be a wrong one: a single false answer must not hold the money up permanently.
    return this.#now() >= (isGood ? entry.goodUntil : entry.askAt);
  }

  #waitsSince(burns: readonly Burn[]): number {
    return Math.min(...burns.map(({ id }) => this.#known.get(id)?.askAt ?? 0));
  }

  #isExpired({ to, delivery }: Burn, { expirationBlock }: Attested): boolean {
    const head = to === undefined || delivery !== undefined ? undefined : this.#options.headOf(to);
    // The next block is the first in which it could be delivered.
    return expirationBlock !== 0n && head !== undefined && BigInt(head) + 1n >= expirationBlock;
  }

  /** An answer that cannot be used is that transaction's matter, which a stranger may have made: the others go on. */
  async #askFor(burns: readonly Burn[]): Promise<boolean> {
    const { sourceDomain, place } = burns[0]!;
    try {
      await this.#take(burns, await this.#client.messagesOf(sourceDomain, place.tx));
      return true;
    } catch (error) {
      if (!(error instanceof AnswerUnusable)) throw error;
      this.#logger.warn({ tx: place.tx, reason: error.message }, "an answer of the attester is of no use");
      for (const burn of burns) this.#learn(burn, this.#known.get(burn.id)?.attested ?? PENDING);
      return false;
    }
  }

  async #take(burns: readonly Burn[], told: readonly AttesterMessage[]): Promise<void> {
    const left = told.flatMap((one) => readable(one) ?? []);
    for (const burn of burns) {
      const at = left.findIndex(({ parsed }) => belongs(parsed, burn));
      const found = at < 0 ? undefined : left.splice(at, 1)[0];
      const attested: Attested =
        found === undefined
          ? PENDING
          : {
              ...{ status: "complete", message: found.message, attestation: found.attestation },
              ...{ nonce: found.parsed.header.nonce, expirationBlock: found.parsed.body.expirationBlock },
            };
      if (!this.#isExpired(burn, attested)) this.#learn(burn, attested);
      else {
        this.#learn(burn, { ...attested, status: "expired" });
        const isTaken = await this.#client.reattest(attested.nonce!);
        this.#logger.info(
          { burn: burn.id, isTaken },
          "a fast attestation has expired; another one is asked for",
        );
      }
    }
  }

  #learn(burn: Burn, attested: Attested): void {
    const before = this.#known.get(burn.id);
    const isNews =
      before?.attested.status !== attested.status || before.attested.message !== attested.message;
    const waitMs = isNews ? FIRST_WAIT_MS : longer(before.waitMs);
    this.#known.set(burn.id, {
      attested,
      waitMs,
      askAt: this.#now() + waitMs,
      goodUntil: this.#now() + LONGEST_WAIT_MS,
    });
    if (isNews) this.#options.onChange(burn);
  }
}

function byTransaction(burns: readonly Burn[]): readonly (readonly Burn[])[] {
  const found = new Map<string, Burn[]>();
  for (const burn of burns) {
    const name = `${String(burn.sourceDomain)} ${burn.place.tx}`;
    const others = found.get(name);
    if (others === undefined) found.set(name, [burn]);
    else others.push(burn);
  }
  return [...found.values()];
}

const longer = (waitMs: number): number => Math.min(waitMs * 2, LONGEST_WAIT_MS);

interface Readable {
  readonly message: string;
  readonly attestation: string;
  readonly parsed: ParsedBurn;
}

function readable({ message, attestation }: AttesterMessage): Readable | undefined {
  const parsed = readBurnMessage(message);
  if (parsed === undefined || parseAttestation(fromHex(attestation)) === undefined) return undefined;
  return { message, attestation, parsed };
}

/** Byte for byte the burn's message but for what the attester fills in. The other blockchain emits none: there by its terms. */
function belongs(attested: ParsedBurn, burn: Burn): boolean {
  if (burn.message !== undefined) {
    const emitted = readBurnMessage(burn.message);
    return emitted !== undefined && fillsIn(attested, emitted);
  }
  const { terms, header, body } = attested;
  return (
    terms.sourceDomain === burn.sourceDomain &&
    terms.destinationDomain === burn.destinationDomain &&
    terms.burner === burn.burner &&
    terms.recipient === burn.recipient &&
    terms.amount === burn.amount &&
    terms.maxFee === burn.maxFee &&
    header.minFinalityThreshold === burn.minFinality &&
    body.feeExecuted <= burn.maxFee
  );
}

/**
 * What planning may look at, put together from the book and the venues' kept answers. Asking it never waits: what is not
 * known yet is asked for, and planning is done again when it is there.
 */
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Chain } from "../../base/chain/provider.ts";
import { isTaken } from "../../base/bridge/exchange.ts";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { Attested } from "../chains/attestations.ts";
import { AttesterUnavailable, type AttesterClient } from "../chains/attester-client.ts";
import type { Remark } from "../requests.ts";
import type { BridgeFacts, Burn } from "../fold/facts.ts";
import { KeptAnswers } from "./kept-answers.ts";
import type { CalledContracts } from "./calls.ts";
import type { RefusalBackoff } from "../refusal-backoff.ts";
import { leastFee } from "./least-fee.ts";
import { createScreening } from "./screening.ts";
import type { FeeTable, Verdict, Snapshot } from "./steps.ts";

/** What of the book is worked with. */
export interface WorkBook {
  /** Requests that hold money, or have a burn without a delivery. */
  active(): readonly string[];
  recordOf(bridgeId: string): BridgeRecord | undefined;
  factsOf(bridgeId: string): BridgeFacts | undefined;
  attestationOf(burn: Burn): Attested | undefined;
  /** Undefined while the chain is away or was never reached. */
  tipOf(chain: string): { readonly number: number; readonly timestamp: number } | undefined;
  onChange(listener: (bridgeId: string) => void): () => void;
  unreachable(): readonly string[];
  remark(bridgeId: string, remark: Pick<Remark, "waits">): void;
}

export interface ServedChain {
  readonly name: string;
  readonly chainId: bigint;
  readonly chain: Pick<Chain, "call">;
  /** In the attester's numbers; undefined where CCTP is not. */
  readonly domain: number | undefined;
  readonly contracts: CalledContracts;
  /** So much gas our wallet there could pay for. Throws when the chain does not answer. */
  readonly gas: () => Promise<bigint>;
}

/** The exchange, as far as money on its way there has to know. */
export interface ExchangeDesk {
  /** Throws when it does not answer. */
  hasAccount(account: Address): Promise<boolean>;
  /** Whether it takes money now. Throws when it does not answer. */
  isOpen(): Promise<boolean>;
}

export interface SnapshotParts {
  readonly book: WorkBook;
  /** The pool's chain among them, by the name of `HOME_CHAIN`. */
  readonly chains: readonly ServedChain[];
  readonly attester: Pick<AttesterClient, "fees"> | undefined;
  readonly exchange: ExchangeDesk | undefined;
  readonly screeningUrl: string | undefined;
  readonly refusals: RefusalBackoff;
  readonly now: () => number;
  /** Something was answered. */
  readonly onAnswer: () => void;
  readonly onFault: (what: "attester" | "exchange" | "screening", error: unknown) => void;
}

const FRESH_MS = 60_000;
const RETRY_MS = 15_000;
/** Of a basis point, as tables have parts of one. */
const PARTS = 1_000_000;

export function createSnapshot(parts: SnapshotParts): Snapshot {
  const { book, chains, attester, exchange, refusals, now, onAnswer, onFault } = parts;
  const known = new Map(chains.map((chain) => [chain.name, chain]));
  const often = { freshMs: FRESH_MS, retryMs: RETRY_MS, now, onAnswer };
  const tables = new KeptAnswers<FeeTable>({
    ...often,
    ask: async (way) => {
      const [source = 0, destination = 0] = way.split(" ").map(Number);
      const found = await attester?.fees(source, destination);
      if (found === undefined) throw new AttesterUnavailable("no fees are known for this way");
      return new Map(found.map((one) => [one.finalityThreshold, BigInt(Math.round(one.minimumFee * PARTS))]));
    },
    onFault: (error) => onFault("attester", error),
  });
  const desk = (): ExchangeDesk => {
    if (exchange === undefined) throw new Error("no exchange is configured");
    return exchange;
  };
  const accounts = new KeptAnswers<boolean>({
    ...often,
    ask: async (account) => isTaken(desk(), account as Address),
    onFault: (error) => onFault("exchange", error),
  });
  const opening = new KeptAnswers<boolean>({
    ...{ ...often, freshMs: RETRY_MS },
    ask: async () => desk().isOpen(),
    onFault: (error) => onFault("exchange", error),
  });
  const gas = new KeptAnswers<bigint>({
    ...{ ...often, freshMs: RETRY_MS },
    ask: async (chain) => {
      const served = known.get(chain);
      if (served === undefined) throw new Error("nothing is sent on this chain");
      return served.gas();
    },
    // That its node is away is said by who follows it.
    onFault: () => undefined,
  });
  const least = new KeptAnswers<bigint>({
    ...often,
    ask: async (of) => {
      const [chain = "", messenger, amount = ""] = of.split(" ");
      const served = known.get(chain);
      if (served === undefined) throw new Error("nothing is sent on this chain");
      return leastFee(served.chain, messenger as Address, BigInt(amount));
    },
    // That its node is away is said by who follows it.
    onFault: () => undefined,
  });
  const screening = createScreening({
    ...{ url: parts.screeningUrl, now, onAnswer },
    onFault: (error) => onFault("screening", error),
  });

  function exitOf({ way }: BridgeRecord): Verdict {
    if (way.kind !== "to-exchange") return "open";
    const [has, opened] = [accounts.of(way.account), opening.of("now")];
    if (has === undefined || opened === undefined) return "unknown";
    if (has === "asking" || opened === "asking") return "asking";
    if (!has.value) return "refused";
    // What is paused goes on: money that waits for it too long has its refund clock started.
    return opened.value ? "open" : "paused";
  }

  return {
    tipOf: (chain) => book.tipOf(chain),
    isServed: (chain) => known.has(chain),
    domainOf: (chain) => known.get(chain)?.domain,
    attestationOf: (burn) => book.attestationOf(burn),
    feesOf(source, destination) {
      const table =
        attester === undefined ? undefined : tables.of(`${String(source)} ${String(destination)}`);
      return typeof table === "object" ? table.value : table;
    },
    leastFeeOf(chain, messenger, amount) {
      const answer = least.of(`${chain} ${messenger} ${String(amount)}`);
      return typeof answer === "object" ? answer.value : answer;
    },
    screeningOf: (chain, arrivals) => screening.verdictOf(chain, arrivals),
    exitOf,
    isAttesterAway: () => book.unreachable().includes("attester"),
    gasOn(chain) {
      const answer = gas.of(chain);
      return typeof answer === "object" ? answer.value : answer;
    },
    isHeld: (key, chain) => refusals.isHeld(key, book.tipOf(chain)?.number ?? 0),
    refusalOf: (key) => refusals.wordsOf(key),
  };
}

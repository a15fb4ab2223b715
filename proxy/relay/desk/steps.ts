/**
 * Steps that anybody may take for a request's money, and what has to be known to choose them. Each step is judged again
 * by its contract, so one that is taken twice, late or by two proxies costs gas and nothing else.
 */
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import type { Attested } from "../chains/attestations.ts";
import type { Arrival, Burn, InTerms, OutTerms, SourceTerms, Vault } from "../fold/facts.ts";

/** How a burn is asked for. */
export interface BurnTerms {
  readonly maxFee: bigint;
  readonly finality: number;
}

interface OfStep {
  readonly bridgeId: string;
  /** Where it is done. */
  readonly chain: string;
  /** The money that it moves: of two steps with one key only one may be under way. */
  readonly key: string;
}

export type Step = OfStep &
  (
    | {
        readonly kind: "sweep";
        readonly terms: InTerms;
        readonly amount: bigint;
        readonly developerId: string;
      }
    | {
        readonly kind: "deliver";
        readonly message: string;
        readonly attestation: string;
        /** The contract that alone may deliver it, and does for anybody who asks; undefined: nobody is named. */
        readonly relay: Address | undefined;
      }
    | {
        readonly kind: "forward";
        readonly terms: SourceTerms;
        readonly lane: number;
        readonly burn: BurnTerms;
      }
    | { readonly kind: "flush"; readonly terms: OutTerms; readonly burn: BurnTerms }
    /** Starts the refund clock. */
    | { readonly kind: "touch"; readonly vault: Vault }
    /** To the refund address, or into the refund note. */
    | { readonly kind: "refund"; readonly vault: Vault }
  );
export type StepOf<Kind extends Step["kind"]> = Extract<Step, { kind: Kind }>;

/**
 * `refused` is certain and stays so: the refund is what is left. `unknown`: whoever decides does not answer; `asking`: not
 * yet. `paused`: it takes nothing for now.
 */
export type Verdict = "open" | "refused" | "paused" | "unknown" | "asking";

/** Basis points by finality, as the attester's table has them. */
export type FeeTable = ReadonlyMap<number, FeeRate>;
/** In millionths, as the table has parts of a basis point. */
export type FeeRate = bigint;

/** What planning may ask; all of it is in memory. */
export interface Snapshot {
  /** The newest block that was looked at. Undefined where the chain is away: nothing is done there then. */
  tipOf(chain: string): { readonly number: number; readonly timestamp: number } | undefined;
  /** Whether we can send anything there. */
  isServed(chain: string): boolean;
  /** Domain of a chain in the attester's numbers. */
  domainOf(chain: string): number | undefined;
  attestationOf(burn: Burn): Pick<Attested, "status" | "message" | "attestation"> | undefined;
  /** `asking`: wait for it. Undefined: nobody tells. */
  feesOf(sourceDomain: number, destinationDomain: number): FeeTable | "asking" | undefined;
  /** What the bridge's contract there takes of a burn of this amount at least. `asking`: wait for it. Undefined: nobody tells. */
  leastFeeOf(chain: string, messenger: Address, amount: bigint): bigint | "asking" | undefined;
  /** Whether money from there may be swept. */
  screeningOf(chain: string, arrivals: readonly Arrival[]): Verdict;
  /** Whether the venue of an out-address takes money for it now. */
  exitOf(record: BridgeRecord): Verdict;
  isAttesterAway(): boolean;
  /** So much gas our wallet there could pay for now. `asking`: wait for it. Undefined: nobody tells. */
  gasOn(chain: string): bigint | "asking" | undefined;
  /** The contract, or the chain, said no a short while ago. */
  isHeld(key: string, chain: string): boolean;
  /** Why, in words of ours; undefined where nothing is known. */
  refusalOf(key: string): string | undefined;
}

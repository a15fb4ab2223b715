/**
 * Which fees a statement owes, to the service and to the developer whose credential posts it, and whether it
 * pays them: to the smallest unit, by any terms that were in force in the last ten minutes. Policy only:
 * neither pool nor enclave knows about fees.
 */
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { FeeRules } from "../../../shared/api/credentials.ts";
import type { Info } from "../../../shared/api/service.ts";
import { addressFromField, type Address } from "../../../shared/protocol/brands.ts";
import { feeOf, grossOf, operationOf, type FeeOperation } from "../../../shared/protocol/host/fees.ts";
import type { Facts, Kind } from "../../../shared/protocol/statements.ts";
import type { Minimum } from "../../base/instance-config.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { DeveloperRule, FeeRuleStore, FeeTerms } from "../../base/store/fee-rules.ts";
import type { FeeNote } from "../../base/store/fee-notes.ts";
import { enoughOf } from "../../base/fees/developer-rules.ts";
import { FeeOutputs, missing, readOpening, type Due, type FeeOpening, type Opened } from "./openings.ts";
import {
  createServiceFees,
  GRACE_MS,
  OPERATIONS,
  type AskedTerms,
  type ServiceFeesParts,
} from "../../base/fees/service-fees.ts";

export type { FeeOpening } from "./openings.ts";

/** What the rules look at. */
export interface FeeQuestion {
  /** Of the credential that posts. */
  readonly developerId: string;
  readonly kind: Kind;
  readonly facts: Facts;
  readonly openings: readonly FeeOpening[];
}

/** An opened note that pays a sink, before it is known whether its statement is accepted. */
export type PaidNote = Omit<FeeNote, "statement" | "deadline">;

export interface FeeParts extends ServiceFeesParts {
  readonly minimums: readonly Minimum[];
  readonly store: Pick<FeeRuleStore, "promised" | "promise" | "rules">;
}

const PRICE_RETRY_SECS = 30;

export class Fees {
  readonly #parts: FeeParts;
  readonly #serviceFees: ReturnType<typeof createServiceFees>;
  readonly minimums: { asset: string; operation: FeeOperation; minimum: string }[];

  constructor(parts: FeeParts) {
    this.#parts = parts;
    this.#serviceFees = createServiceFees(parts);
    this.minimums = parts.minimums.map(({ asset, operation, minimum }) => ({
      asset: checksumAddress(asset),
      operation,
      minimum: String(minimum),
    }));
  }

  /**
   * The opened notes that pay a sink, or throws ASSET_UNSUPPORTED, AMOUNT_TOO_SMALL, FEE_MISSING, FEE_TOO_LOW
   * or PRICE_UNAVAILABLE. Cheap first: hashing starts only when everything that needs none has passed.
   */
  async check({ developerId, kind, facts, openings }: FeeQuestion): Promise<readonly PaidNote[]> {
    const operation = operationOf(kind, facts);
    const opened = openings.map(readOpening);
    const foreign = opened.findIndex(({ asset }) => !this.#isListed(asset));
    if (foreign >= 0) throw unsupported(`fees[${foreign}].asset`);

    const publicAsset = facts.amount === 0n ? undefined : addressFromField(facts.asset);
    if (facts.amount > 0n && (publicAsset === undefined || !this.#isListed(publicAsset))) {
      throw unsupported("public_signals");
    }
    const least = this.#parts.minimums.find(
      (entry) => entry.asset === publicAsset && entry.operation === operation,
    );
    if (least !== undefined && facts.amount < least.minimum) {
      throw new ApiError("AMOUNT_TOO_SMALL", `The least amount of a ${operation} is ${least.minimum}`);
    }

    const rules = await this.#parts.store.rules(developerId);
    const outputs = new FeeOutputs(opened, facts.commitments);
    let refusal: ApiError | undefined;
    for (const asset of this.#candidates(publicAsset, opened)) {
      for (const asked of await this.#enough(rules, asset, operation)) {
        const paid = outputs.match(duesOf(asked, asset, operation, facts.amount));
        if (!(paid instanceof ApiError)) return this.#paidNotes(outputs, paid, asked, developerId);
        refusal ??= paid;
      }
    }
    throw refusal ?? missing("service");
  }

  /** In force now, dollars already converted. Throws PRICE_UNAVAILABLE where a swap needs a price that is not there. */
  async rulesFor(developerId: string, asset: Address, operation: FeeOperation): Promise<AskedTerms> {
    const service = this.#serviceTerms(asset, operation);
    return {
      service,
      developer: ruleOf(await this.#parts.store.rules(developerId), asset, operation)?.terms,
    };
  }

  /** The caller's effective rules, for `/whoami`. */
  async effective(developerId: string): Promise<FeeRules[]> {
    const rules = await this.#parts.store.rules(developerId);
    const at = this.#parts.now();
    const enforcesTransfers = this.#parts.assets.every(({ address }) => this.#isCharged(rules, address));
    return this.#parts.assets.flatMap(({ address }) =>
      OPERATIONS.flatMap((operation): FeeRules[] => {
        const inForce = this.#serviceFees.inForce(address, operation);
        const service = inForce === "unpriced" ? undefined : inForce;
        const developer = ruleOf(rules, address, operation)?.terms;
        const isScheduled = this.#parts.feeSchedule.some(
          (entry) => entry.asset === address && entry.operation === operation,
        );
        if (!isScheduled && developer === undefined) return [];
        const promisedUntil = this.#serviceFees.goodUntil(address, operation);
        const goodUntil = promisedUntil > at ? Math.min(at + GRACE_MS, promisedUntil) : at;
        const isEnforced = operation !== "transfer" || (developer?.bps === 0 && enforcesTransfers);
        return [
          {
            asset: checksumAddress(address),
            operation,
            service: service === undefined ? null : shown(service, true),
            developer: developer === undefined ? null : shown(developer, isEnforced),
            valid_until: new Date(goodUntil).toISOString(),
          },
        ];
      }),
    );
  }

  schedule(): Info["fees"] {
    return {
      service_address: this.#parts.serviceFee?.text ?? null,
      schedule: this.#parts.feeSchedule.flatMap(({ asset, operation, bps, flat: configured }) => {
        const terms = this.#serviceFees.inForce(asset, operation);
        if (terms === "unpriced") return [];
        const flat = terms?.flat ?? configured ?? 0n;
        return [{ asset: checksumAddress(asset), operation, flat: String(flat), bps }];
      }),
    };
  }

  /** Follows the prices, see ../../base/fees/service-fees.ts. */
  refresh() {
    return this.#serviceFees.refresh();
  }

  #isListed(asset: Address): boolean {
    return this.#parts.assets.some(({ address }) => address === asset);
  }

  /** In force now. */
  #serviceTerms(asset: Address, operation: FeeOperation): FeeTerms | undefined {
    const terms = this.#serviceFees.inForce(asset, operation);
    if (terms !== "unpriced") return terms;
    // Nothing else waits for a price: money never freezes because of one.
    if (operation !== "swap") return undefined;
    throw new ApiError("PRICE_UNAVAILABLE", "the fee of this swap is in dollars, and there is no price yet", {
      retryAfterSecs: PRICE_RETRY_SECS,
    });
  }

  /** Every pair of terms that is enough; first the pair in force, whose refusal is the one that is told. */
  async #enough(
    rules: readonly DeveloperRule[],
    asset: Address,
    operation: FeeOperation,
  ): Promise<AskedTerms[]> {
    this.#serviceTerms(asset, operation);
    const byService = await this.#serviceFees.enough(asset, operation);
    const byDeveloper = enoughOf(ruleOf(rules, asset, operation), this.#parts.now());
    return byService.flatMap((service) => byDeveloper.map((developer) => ({ service, developer })));
  }

  /**
   * The assets that a statement may be of. A transfer hides its own: a note that opens names it (all outputs of
   * a statement are of one asset, by the circuit), and without one it may be any that is free of fees.
   */
  #candidates(publicAsset: Address | undefined, opened: readonly Opened[]): readonly Address[] {
    if (publicAsset !== undefined) return [publicAsset];
    return [
      ...new Set([...opened.map(({ asset }) => asset), ...this.#parts.assets.map(({ address }) => address)]),
    ];
  }

  /** Whether a transfer of this asset owes a note that is opened, so that it tells itself from other assets. */
  #isCharged(rules: readonly DeveloperRule[], asset: Address): boolean {
    const service = this.#serviceFees.inForce(asset, "transfer");
    const developer = ruleOf(rules, asset, "transfer")?.terms;
    return [service === "unpriced" ? undefined : service, developer].some(
      (terms) => terms !== undefined && terms.bps === 0 && terms.flat > 0n,
    );
  }

  /** Every opened note that pays one of the sinks, also beyond what is owed: whoever receives it wants to know. */
  #paidNotes(
    outputs: FeeOutputs,
    paid: ReadonlyMap<Opened, Due>,
    { service, developer }: AskedTerms,
    developerId: string,
  ): PaidNote[] {
    const sinks = [
      ...(developer === undefined ? [] : [{ receiver: developerId, owner: developer.owner }]),
      ...(service === undefined ? [] : [{ receiver: undefined, owner: service.owner }]),
    ];
    return outputs.opened.flatMap((opening): PaidNote[] => {
      const { output, asset, value, blinding } = opening;
      if (value === 0n) return [];
      const due = paid.get(opening);
      const receivers =
        due === undefined
          ? sinks
          : [{ receiver: due.party === "service" ? undefined : developerId, owner: due.owner }];
      for (const { receiver, owner } of receivers) {
        const npk = outputs.npkFor(opening, owner);
        if (npk !== undefined) return [{ receiver, output, asset, value, blinding, npk }];
      }
      return [];
    });
  }
}

/** What must be paid in notes that open. */
function duesOf(
  { service, developer }: AskedTerms,
  asset: Address,
  operation: FeeOperation,
  amount: bigint,
): readonly Due[] {
  const asked = [service, developer].filter((terms) => terms !== undefined);
  // The fees of a swap are of what the user gave up; its statement shows what was left of that.
  const base = operation === "swap" ? grossOf(amount, asked) : amount;
  const due = (party: Due["party"], terms: FeeTerms | undefined): Due[] => {
    // A proportional part of a hidden amount is not ours to know: the client library applies such a rule.
    if (terms === undefined || (operation === "transfer" && terms.bps > 0)) return [];
    return [{ party, asset, fee: feeOf(terms, base), owner: terms.owner }];
  };
  return [...due("service", service), ...due("developer", developer)].filter(({ fee }) => fee > 0n);
}

function ruleOf(
  rules: readonly DeveloperRule[],
  asset: Address,
  operation: FeeOperation,
): DeveloperRule | undefined {
  return rules.find((rule) => rule.asset === asset && rule.operation === operation);
}

function shown({ flat, bps, sink }: FeeTerms, enforced: boolean): NonNullable<FeeRules["service"]> {
  return { flat: String(flat), bps, sink, enforced };
}

function unsupported(path: string): ApiError {
  return new ApiError("ASSET_UNSUPPORTED", "This instance does not hold the asset", {
    fields: [{ path, message: "asset is not listed" }],
  });
}

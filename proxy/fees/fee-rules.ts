/**
 * Which fees a statement owes and whether it pays them: fee notes are opened by the caller and recomputed
 * here against the statement's own commitments, so an opening cannot be claimed without its note.
 * Policy only: neither pool nor enclave knows about fees.
 */
import { checksumAddress } from "../../shared/api/checksum.ts";
import type { FeeRules } from "../../shared/api/credentials.ts";
import type { Info } from "../../shared/api/service.ts";
import {
  addressFromField,
  asAddress,
  asBytes32,
  asField,
  type Address,
  type Field,
} from "../../shared/protocol/brands.ts";
import { feeOf, grossOf, type FeeOperation, type FeeRule } from "../../shared/protocol/host/fees.ts";
import { poseidon2, poseidon3 } from "../../shared/protocol/hash.ts";
import type { Facts, Kind } from "../../shared/protocol/statements.ts";
import type { Asset, FeeScheduleEntry, Minimum } from "../config.ts";
import { ApiError } from "../http/errors.ts";

/** As it arrives in `fees`, after its schema. */
export interface FeeOpening {
  readonly output: number;
  readonly asset: string;
  readonly blinding: string;
  readonly value: string;
}

/** What the rules look at. */
export interface FeeQuestion {
  readonly kind: Kind;
  readonly facts: Facts;
  readonly openings: readonly FeeOpening[];
}

/** What one operation costs a caller in one asset; undefined where nobody asks for anything. */
export interface RulesInForce {
  readonly service: FeeRule | undefined;
  readonly developer: FeeRule | undefined;
}

export interface Fees {
  /**
   * Passes or throws ASSET_UNSUPPORTED, AMOUNT_TOO_SMALL, FEE_MISSING or FEE_TOO_LOW. Cheap first: hashing
   * starts only when everything that needs none has passed.
   */
  check(question: FeeQuestion): void;
  /** Throws PRICE_UNAVAILABLE when a rule needs a price that is not to be had. */
  rulesFor(developerId: string, asset: Address, operation: FeeOperation): Promise<RulesInForce>;
  /** The caller's effective rules, for `/whoami`. */
  effective(developerId: string): FeeRules[];
  readonly schedule: Info["fees"];
  readonly minimums: Info["limits"]["minimums"];
}

export interface FeeParts {
  readonly assets: readonly Asset[];
  readonly serviceFee: { readonly text: string; readonly sink: { readonly owner: Field } } | undefined;
  readonly feeSchedule: readonly FeeScheduleEntry[];
  readonly minimums: readonly Minimum[];
}

/** A rule stays good this long after it was shown, so nobody is refused for a price that moved under way. */
const VALID_MS = 10 * 60_000;

/** One fee that is enforced: its amount and who must receive it. */
interface Due {
  readonly asset: Address;
  readonly fee: bigint;
  readonly sinkOwner: Field;
}

interface Opened {
  readonly output: number;
  readonly asset: Address;
  readonly blinding: Field;
  readonly value: bigint;
}

export function createFees(parts: FeeParts, now: () => number = Date.now): Fees {
  const { assets, serviceFee, feeSchedule, minimums } = parts;
  const isListed = (asset: Address): boolean => assets.some(({ address }) => address === asset);
  const ruleOf = (asset: Address, operation: FeeOperation): FeeRule | undefined =>
    feeSchedule.find((entry) => entry.asset === asset && entry.operation === operation);

  return {
    check: ({ kind, facts, openings }) => {
      const operation = operationOf(kind, facts);
      const opened = openings.map(readOpening);
      const foreign = opened.findIndex(({ asset }) => !isListed(asset));
      if (foreign >= 0) throw unsupported(`fees[${foreign}].asset`);

      const publicAsset = facts.amount === 0n ? undefined : addressFromField(facts.asset);
      if (facts.amount > 0n && (publicAsset === undefined || !isListed(publicAsset))) {
        throw unsupported("public_signals");
      }
      // A transfer hides its asset; the fee note, of the same asset by the circuit, names it.
      const asset = publicAsset ?? opened[0]?.asset;
      const least = minimums.find((entry) => entry.asset === publicAsset && entry.operation === operation);
      if (least !== undefined && facts.amount < least.minimum) {
        throw new ApiError("AMOUNT_TOO_SMALL", `The least amount of a ${operation} is ${least.minimum}`);
      }

      const due = duesOf(operation, asset, facts.amount);
      const taken = new Set<number>();
      for (const [index, owed] of due.entries()) pay(owed, index, facts.commitments, opened, taken);
    },

    rulesFor: async (_developerId, asset, operation) => ({
      service: serviceFee === undefined ? undefined : ruleOf(asset, operation),
      developer: undefined,
    }),

    effective: () => {
      const valid_until = new Date(now() + VALID_MS).toISOString();
      return feeSchedule.map(({ asset, operation, flat, bps }) => ({
        asset: checksumAddress(asset),
        operation,
        service:
          serviceFee === undefined
            ? null
            : { flat: String(flat), bps, sink: serviceFee.text, enforced: true },
        developer: null,
        valid_until,
      }));
    },

    schedule: {
      service_address: serviceFee?.text ?? null,
      schedule: feeSchedule.map(({ asset, operation, flat, bps }) => ({
        asset: checksumAddress(asset),
        operation,
        flat: String(flat),
        bps,
      })),
    },
    minimums: minimums.map(({ asset, operation, minimum }) => ({
      asset: checksumAddress(asset),
      operation,
      minimum: String(minimum),
    })),
  };

  /** Every fee that this statement must pay: today the service's; a developer's rule will be another entry. */
  function duesOf(operation: FeeOperation, asset: Address | undefined, amount: bigint): Due[] {
    if (serviceFee === undefined) return [];
    if (asset === undefined) {
      // A transfer that opens nothing: something is owed whatever its asset, unless transfers are free.
      const anyRule = feeSchedule.find((entry) => entry.operation === operation && entry.flat > 0n);
      if (anyRule === undefined) return [];
      throw missing("service");
    }
    const rule = ruleOf(asset, operation);
    const rules = rule === undefined ? [] : [rule];
    // The fees of a swap are of what the user gave up; its statement shows what was left of that.
    const base = operation === "swap" ? grossOf(amount, rules) : amount;
    return rules
      .map((each) => ({ asset, fee: feeOf(each, base), sinkOwner: serviceFee.sink.owner }))
      .filter(({ fee }) => fee > 0n);
  }
}

/** A deposit's amount is what comes in, a withdrawal's what goes out, a swap's what goes to the venue; the amount of a transfer is not known. */
export function operationOf(kind: Kind, facts: Pick<Facts, "amount">): FeeOperation {
  switch (kind) {
    case "deposit-shield":
      return "deposit";
    case "private-swap":
      return "swap";
    case "spend":
    case "spend9":
      return facts.amount === 0n ? "transfer" : "withdraw";
  }
}

/** Finds a note that pays `owed` and takes its output, so that one note never pays two fees. */
function pay(
  owed: Due,
  index: number,
  commitments: readonly Field[],
  opened: readonly Opened[],
  taken: Set<number>,
): void {
  const who = index === 0 ? "service" : "developer";
  let best: Opened | undefined;
  for (const opening of opened) {
    if (taken.has(opening.output) || opening.asset !== owed.asset) continue;
    if (!opens(opening, owed.sinkOwner, commitments[opening.output])) continue;
    if (best === undefined || opening.value > best.value) best = opening;
  }
  if (best === undefined) throw missing(who);
  if (best.value < owed.fee) {
    throw new ApiError("FEE_TOO_LOW", `The ${who} fee is ${owed.fee}, its note holds ${best.value}`, {
      fields: [{ path: "fees", message: `the ${who} fee is ${owed.fee}` }],
    });
  }
  taken.add(best.output);
}

/** commitment = H(H(owner, blinding), asset, value). */
function opens(opening: Opened, sinkOwner: Field, commitment: Field | undefined): boolean {
  const npk = poseidon2(sinkOwner, opening.blinding);
  return commitment === poseidon3(npk, BigInt(opening.asset), opening.value);
}

function readOpening({ output, asset, blinding, value }: FeeOpening, index: number): Opened {
  const address = asAddress(asset);
  const field = asBytes32(blinding) === undefined ? undefined : asField(BigInt(blinding));
  if (address === undefined || field === undefined) {
    const path = `fees[${index}].${address === undefined ? "asset" : "blinding"}`;
    throw new ApiError("INVALID_REQUEST", `${path}: not canonical`, {
      fields: [{ path, message: "not canonical" }],
    });
  }
  return { output, asset: address, blinding: field, value: BigInt(value) };
}

function missing(who: string): ApiError {
  return new ApiError("FEE_MISSING", `No entry of fees opens an output that pays the ${who} fee`, {
    fields: [{ path: "fees", message: `the ${who} fee note is not opened` }],
  });
}

function unsupported(path: string): ApiError {
  return new ApiError("ASSET_UNSUPPORTED", "This instance does not hold the asset", {
    fields: [{ path, message: "asset is not listed" }],
  });
}

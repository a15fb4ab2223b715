/**
 * Fee terms that somebody was shown: developers' rules, and what the service asked. What was in force is kept
 * with the time until which it is still enough, so that neither a changed rule, a moved price nor a restart
 * strands a client that reckoned with the terms it was shown.
 */
import type { Address, Field } from "../../shared/protocol/brands.ts";
import type { FeeOperation, FeeRule } from "../../shared/protocol/host/fees.ts";

export interface FeeTerms extends FeeRule {
  /** Shielded address, as text, and the owner in it: reading the text again for each statement costs a curve operation. */
  readonly sink: string;
  readonly owner: Field;
}

/** `terms` undefined: nothing was asked. */
export interface KeptTerms {
  readonly terms: FeeTerms | undefined;
  /** Milliseconds since 1970. */
  readonly goodUntil: number;
}

/** A developer's rule for one asset and operation. */
export interface DeveloperRule {
  readonly asset: Address;
  readonly operation: FeeOperation;
  readonly terms: FeeTerms;
  /** Terms before these that may still be paid. */
  readonly earlier: readonly KeptTerms[];
}

/** What the operator's tool has to know of the instance to read a rule. */
export interface FeeInstance {
  readonly addressPrefix: string;
  readonly assets: readonly {
    readonly address: Address;
    readonly symbol: string;
    readonly decimals: number;
  }[];
}

/** Terms that the service shows for an asset and operation, and until when they are enough. */
export interface FeePromise extends KeptTerms {
  readonly asset: Address;
  readonly operation: FeeOperation;
}

export interface FeeRuleStore {
  rules(developerId: string): Promise<readonly DeveloperRule[]>;
  developersWithRules(): Promise<readonly string[]>;
  /** One atomic durable write. What `change` throws leaves everything as it was. */
  changeRules(
    developerId: string,
    change: (now: readonly DeveloperRule[]) => readonly DeveloperRule[],
  ): Promise<readonly DeveloperRule[]>;

  /** What any proxy of this instance promised and is not past `now`. */
  promised(asset: Address, operation: FeeOperation, now: number): Promise<readonly KeptTerms[]>;
  /** One atomic durable write; of equal terms the later time stands, and what is past `now` is forgotten. */
  promise(promises: readonly FeePromise[], now: number): Promise<void>;

  /** Undefined before a proxy has started on this store. */
  instance(): Promise<FeeInstance | undefined>;
  describe(instance: FeeInstance): Promise<void>;
}

/** Fee rules in LMDB: all rules of a developer are one record, all promises for an asset and operation another. The operator's tool writes too. */
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import type { FeeOperation } from "../../../shared/protocol/host/fees.ts";
import type { DeveloperRule, FeeInstance, FeeRuleStore, FeeTerms, KeptTerms } from "../fee-rules.ts";
import type { Database } from "./database.ts";

/** The encoder's integers end at 64 bits. */
interface StoredTerms {
  readonly flat: string;
  readonly bps: number;
  readonly sink: string;
  readonly owner: string;
}
interface StoredKept {
  /** Null: no fee. */
  readonly terms: StoredTerms | null;
  readonly goodUntil: number;
}
interface StoredRule {
  readonly asset: Address;
  readonly operation: FeeOperation;
  readonly terms: StoredTerms;
  readonly earlier: readonly StoredKept[];
}

export function openFeeRuleStore(database: Database): FeeRuleStore {
  const developers = database.table<readonly StoredRule[], string>("fee-rules");
  const promises = database.table<readonly StoredKept[], [Address, FeeOperation]>("fee-promises");
  const instances = database.table<FeeInstance, string>("fee-instance");

  const rulesOf = (developerId: string): DeveloperRule[] =>
    (developers.get(developerId) ?? []).map((rule) => ({
      ...rule,
      terms: readTerms(rule.terms),
      earlier: rule.earlier.map(readKept),
    }));

  return {
    rules: async (developerId) => rulesOf(developerId),
    developersWithRules: async () => [...developers.getKeys()],
    changeRules: (developerId, change) =>
      database.transaction(() => {
        const next = change(rulesOf(developerId));
        if (next.length === 0) void developers.remove(developerId);
        else void developers.put(developerId, next.map(storeRule));
        return next;
      }),

    promised: async (asset, operation, now) =>
      (promises.get([asset, operation]) ?? []).map(readKept).filter(({ goodUntil }) => goodUntil > now),
    promise: (made, now) =>
      database.transaction(() => {
        for (const { asset, operation, terms, goodUntil } of made) {
          const key: [Address, FeeOperation] = [asset, operation];
          const stored = terms === undefined ? null : storeTerms(terms);
          const live = (promises.get(key) ?? []).filter((kept) => kept.goodUntil > now);
          const same = live.find((kept) => isSame(kept.terms, stored));
          const next = { terms: stored, goodUntil: Math.max(goodUntil, same?.goodUntil ?? 0) };
          void promises.put(key, [...live.filter((kept) => kept !== same), next]);
        }
      }),

    instance: async () => instances.get("this"),
    describe: ({ addressPrefix, assets }) =>
      database.transaction(() => void instances.put("this", { addressPrefix, assets: [...assets] })),
  };
}

function storeRule({ asset, operation, terms, earlier }: DeveloperRule): StoredRule {
  return { asset, operation, terms: storeTerms(terms), earlier: earlier.map(storeKept) };
}

function storeKept({ terms, goodUntil }: KeptTerms): StoredKept {
  return { terms: terms === undefined ? null : storeTerms(terms), goodUntil };
}

function storeTerms({ flat, bps, sink, owner }: FeeTerms): StoredTerms {
  return { flat: String(flat), bps, sink, owner: String(owner) };
}

function readKept({ terms, goodUntil }: StoredKept): KeptTerms {
  return { terms: terms === null ? undefined : readTerms(terms), goodUntil };
}

function readTerms({ flat, bps, sink, owner }: StoredTerms): FeeTerms {
  return { flat: BigInt(flat), bps, sink, owner: mustField(BigInt(owner)) };
}

function isSame(a: StoredTerms | null, b: StoredTerms | null): boolean {
  if (a === null || b === null) return a === b;
  return a.flat === b.flat && a.bps === b.bps && a.sink === b.sink && a.owner === b.owner;
}

/**
 * Fee terms that somebody was shown: developers' rules, and what the service asked. What was in force is kept
 * with the time until which it is still enough, so that neither a changed rule, a moved price nor a restart
 * strands a client that reckoned with the terms it was shown. All rules of a developer are one record, all promises for
 * an asset and operation another; what one proxy promised is good at every proxy.
 */
import { z } from "zod";
import type { Address } from "../../../shared/protocol/brands.ts";
import type { FeeOperation } from "../../../shared/protocol/host/fees.ts";
import { audited, noted, type Facts, type Note } from "./audit.ts";
import type { Carried, Engine } from "./engine.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";
import { hashed, storedAddress, storedBigint, storedField, storedOperation } from "./values.ts";

const terms = z.strictObject({
  flat: storedBigint,
  bps: z.int(),
  /** Shielded address, as text, and the owner in it: reading the text again for each statement costs a curve operation. */
  sink: z.string(),
  owner: storedField,
});
export type FeeTerms = RecordOf<typeof terms>;

const kept = z.strictObject({
  /** Undefined: nothing was asked. */
  terms: terms.nullable().transform((found) => found ?? undefined),
  /** Milliseconds since 1970. */
  goodUntil: z.number(),
});
type KeptTerms = RecordOf<typeof kept>;

/** A developer's rule for one asset and operation. */
const rule = z.strictObject({
  asset: storedAddress,
  operation: storedOperation,
  terms,
  /** Terms before these that may still be paid. */
  earlier: z.array(kept),
});
export type DeveloperRule = RecordOf<typeof rule>;

/** What the operator's tool has to know of the instance to read a rule. */
const instance = z.strictObject({
  addressPrefix: z.string(),
  assets: z.array(z.strictObject({ address: storedAddress, symbol: z.string(), decimals: z.int() })),
});
export type FeeInstance = RecordOf<typeof instance>;

/** Terms that the service shows for an asset and operation, and until when they are enough. */
export interface FeePromise extends KeptTerms {
  readonly asset: Address;
  readonly operation: FeeOperation;
}

const rulesForm = jsonForm<readonly DeveloperRule[]>(z.array(rule), (rules) =>
  rules.map(({ asset, operation, terms: now, earlier }) => ({
    ...{ asset, operation, terms: writeTerms(now) },
    earlier: earlier.map(writeKept),
  })),
);
const promisesForm = jsonForm<readonly KeptTerms[]>(z.array(kept), (promises) => promises.map(writeKept));

export type FeeRuleStore = ReturnType<typeof openFeeRuleStore>;

export function openFeeRuleStore(engine: Engine) {
  const developers = new Records(engine, "fee-rules", rulesForm);
  const promises = new Records(engine, "fee-promises", promisesForm);
  const instances = new Records(engine, "fee-instance", jsonForm<FeeInstance>(instance));

  return {
    rules: async (developerId: string) => (await developers.get(developerId)) ?? [],
    developersWithRules: () => developers.keys(),
    /** One atomic durable write. What `change` throws leaves everything as it was. */
    async changeRules(
      developerId: string,
      change: (now: readonly DeveloperRule[]) => readonly DeveloperRule[],
      note: Note = noted("fee.change"),
    ): Promise<readonly DeveloperRule[]> {
      const work = (now: readonly DeveloperRule[] | undefined): readonly DeveloperRule[] | undefined => {
        const wanted = change(now ?? []);
        return wanted.length === 0 ? undefined : wanted;
      };
      const carry = (before: readonly DeveloperRule[] = [], after: readonly DeveloperRule[] = []): Carried =>
        audited(note, {
          ...{ target: { kind: "fee-rules", id: developerId }, developerId },
          ...{ before: shown(before), after: shown(after) },
        });
      return (await developers.change(developerId, work, { carry })) ?? [];
    },

    /** What any proxy of this instance promised and is not past `now`. */
    promised: async (asset: Address, operation: FeeOperation, now: number): Promise<readonly KeptTerms[]> =>
      ((await promises.get(`${asset}/${operation}`)) ?? []).filter(({ goodUntil }) => goodUntil > now),
    /** One atomic durable write; of equal terms the later time stands, and what is past `now` is forgotten. */
    async promise(made: readonly FeePromise[], now: number): Promise<void> {
      const fields = [...new Set(made.map(({ asset, operation }) => `${asset}/${operation}`))];
      await promises.changeAll(fields, (found) =>
        fields.map((field, i) =>
          made
            .filter(({ asset, operation }) => `${asset}/${operation}` === field)
            .reduce((live, promise) => keepPromise(live, promise, now), found[i] ?? []),
        ),
      );
    },

    /** Undefined before a proxy has started on this store. */
    instance: () => instances.get("this"),
    async describe({ addressPrefix, assets }: FeeInstance): Promise<void> {
      const described = assets.map(({ address, symbol, decimals }) => ({ address, symbol, decimals }));
      await instances.change("this", () => ({ addressPrefix, assets: described }));
    },
  };
}

/** By operation and asset. Of a sink only that it is another one is said, and which, to whoever knows its address. */
function shown(rules: readonly DeveloperRule[]): Facts {
  return Object.fromEntries(
    rules.map(({ asset, operation, terms: { flat, bps, sink } }) => [
      `${operation} ${asset}`,
      { flat: String(flat), bps, sinkHash: hashed(sink) },
    ]),
  );
}

function writeKept({ terms: found, goodUntil }: KeptTerms): unknown {
  return { terms: found === undefined ? null : writeTerms(found), goodUntil };
}

function writeTerms({ flat, bps, sink, owner }: FeeTerms): unknown {
  return { flat: String(flat), bps, sink, owner: String(owner) };
}

function keepPromise(before: readonly KeptTerms[], made: KeptTerms, now: number): readonly KeptTerms[] {
  const live = before.filter(({ goodUntil }) => goodUntil > now);
  const same = live.find((one) => isSame(one.terms, made.terms));
  const next = { terms: made.terms, goodUntil: Math.max(made.goodUntil, same?.goodUntil ?? 0) };
  return [...live.filter((one) => one !== same), next];
}

function isSame(a: FeeTerms | undefined, b: FeeTerms | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.flat === b.flat && a.bps === b.bps && a.sink === b.sink && a.owner === b.owner;
}

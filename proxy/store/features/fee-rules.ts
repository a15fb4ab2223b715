/**
 * Fee rules: all rules of a developer are one record, all promises for an asset and operation another. What one proxy
 * promised is good at every proxy.
 */
import { z } from "zod";
import type { Engine } from "../engine.ts";
import type { DeveloperRule, FeeInstance, FeeRuleStore, FeeTerms, KeptTerms } from "../fee-rules.ts";
import { jsonForm, Records } from "./records.ts";
import { storedAddress, storedBigint, storedField, storedOperation } from "./values.ts";

const terms = z.strictObject({ flat: storedBigint, bps: z.int(), sink: z.string(), owner: storedField });
/** Null: no fee. */
const kept = z.strictObject({
  terms: terms.nullable().transform((found) => found ?? undefined),
  goodUntil: z.number(),
});
const rule = z.strictObject({
  asset: storedAddress,
  operation: storedOperation,
  terms,
  earlier: z.array(kept),
});

const rulesForm = jsonForm<readonly DeveloperRule[]>(z.array(rule), (rules) =>
  rules.map(({ asset, operation, terms: now, earlier }) => ({
    ...{ asset, operation, terms: writeTerms(now) },
    earlier: earlier.map(writeKept),
  })),
);
const promisesForm = jsonForm<readonly KeptTerms[]>(z.array(kept), (promises) => promises.map(writeKept));
const instanceForm = jsonForm<FeeInstance>(
  z.strictObject({
    addressPrefix: z.string(),
    assets: z.array(z.strictObject({ address: storedAddress, symbol: z.string(), decimals: z.int() })),
  }),
);

export function openFeeRuleStore(engine: Engine): FeeRuleStore {
  const developers = new Records(engine, "fee-rules", rulesForm);
  const promises = new Records(engine, "fee-promises", promisesForm);
  const instances = new Records(engine, "fee-instance", instanceForm);

  return {
    rules: async (developerId) => (await developers.get(developerId)) ?? [],
    developersWithRules: () => developers.keys(),
    async changeRules(developerId, change) {
      const next = await developers.change(developerId, (now) => {
        const wanted = change(now ?? []);
        return wanted.length === 0 ? undefined : wanted;
      });
      return next ?? [];
    },

    promised: async (asset, operation, now) =>
      ((await promises.get(`${asset}/${operation}`)) ?? []).filter(({ goodUntil }) => goodUntil > now),
    async promise(made, now) {
      const fields = [...new Set(made.map(({ asset, operation }) => `${asset}/${operation}`))];
      await promises.changeAll(fields, (found) =>
        fields.map((field, i) =>
          made
            .filter(({ asset, operation }) => `${asset}/${operation}` === field)
            .reduce((live, promise) => keepPromise(live, promise, now), found[i] ?? []),
        ),
      );
    },

    instance: () => instances.get("this"),
    async describe({ addressPrefix, assets }) {
      const described = assets.map(({ address, symbol, decimals }) => ({ address, symbol, decimals }));
      await instances.change("this", () => ({ addressPrefix, assets: described }));
    },
  };
}

function writeKept({ terms: found, goodUntil }: KeptTerms): unknown {
  return { terms: found === undefined ? null : writeTerms(found), goodUntil };
}

function writeTerms({ flat, bps, sink, owner }: FeeTerms): unknown {
  return { flat: String(flat), bps, sink, owner: String(owner) };
}

/** Of equal terms the later time stands; what is past `now` is forgotten. */
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

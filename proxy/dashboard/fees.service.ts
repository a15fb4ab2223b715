/** Fee rules for people: a developer's own, what the service asks beside them, and both together in money. By the fee code of the proxy. */
import { checksumAddress } from "../../shared/api/checksum.ts";
import type { FeePreview, FeeRulesView } from "./contract/fees.ts";
import type { OperatorFees } from "./contract/operator.ts";
import { decodeShieldedAddress } from "../../shared/notes/address.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { fixedPrice, isBetween, type Price } from "../../shared/protocol/host/dollars.ts";
import { feeOf, type FeeOperation, type FeeRule } from "../../shared/protocol/host/fees.ts";
import type { Asset } from "../base/instance-config.ts";
import { mostBpsOf, removeRule, setRule } from "../base/fees/developer-rules.ts";
import {
  createServiceFees,
  OPERATIONS,
  type InForce,
  type ServiceFeesParts,
} from "../base/fees/service-fees.ts";
import type { PriceSetting } from "../base/fee-settings.ts";
import type { Author } from "../base/store/audit.ts";
import type { DeveloperRule, FeeRuleStore } from "../base/store/fee-rules.ts";
import type { PriceStore } from "../base/store/prices.ts";
import { asField, DashboardError, wrongField } from "./errors.ts";

export interface FeeParts extends Pick<ServiceFeesParts, "assets" | "serviceFee" | "feeSchedule" | "now"> {
  readonly addressPrefix: string;
  readonly prices: readonly PriceSetting[];
  readonly store: FeeRuleStore;
  /** Where the proxies keep the last good answers of price feeds. */
  readonly priceStore: Pick<PriceStore, "price">;
}

export interface WantedRule {
  readonly asset: string;
  readonly operation: FeeOperation;
  readonly flat: string;
  readonly bps: number;
}

export class Fees {
  readonly #parts: FeeParts;

  constructor(parts: FeeParts) {
    this.#parts = parts;
  }

  async rulesOf(developerId: string): Promise<FeeRulesView> {
    const inForce = await this.#serviceFees();
    return {
      rules: (await this.#parts.store.rules(developerId)).map(shownRule),
      service: this.#parts.assets.flatMap(({ address }) =>
        OPERATIONS.flatMap((operation) => {
          const terms = inForce(address, operation);
          if (terms === undefined) return [];
          const isUnpriced = terms === "unpriced";
          const scheduled = this.#parts.feeSchedule.find(
            (one) => one.asset === address && one.operation === operation,
          );
          return {
            ...{ asset: checksumAddress(address), operation, is_unpriced: isUnpriced },
            flat: isUnpriced ? null : String(terms.flat),
            bps: isUnpriced ? (scheduled?.bps ?? 0) : terms.bps,
          };
        }),
      ),
      most_bps: {
        ...{ deposit: mostBpsOf("deposit"), transfer: mostBpsOf("transfer") },
        ...{ withdraw: mostBpsOf("withdraw"), swap: mostBpsOf("swap") },
      },
    };
  }

  async set(
    developerId: string,
    { asset, operation, flat, bps }: WantedRule,
    sink: string | null,
    by: Author,
  ): Promise<FeeRulesView> {
    const { address } = this.#listed(asset);
    const owner = sink === null ? undefined : decodeShieldedAddress(sink, this.#parts.addressPrefix);
    if (sink !== null && owner === undefined)
      throw wrongField("sink", `no shielded address of this network (${this.#parts.addressPrefix}1…)`);
    const change = {
      ...{ asset: address, operation, flat: BigInt(flat), bps },
      sink: owner === undefined || sink === null ? undefined : { ...owner, text: sink },
    };
    const known = (await this.#parts.store.rules(developerId)).some((rule) => rule.asset === address);
    const field = bps > mostBpsOf(operation) ? "bps" : owner === undefined && !known ? "sink" : "flat";
    await asField(field, () => setRule(this.#parts.store, developerId, change, this.#parts.now(), by));
    return this.rulesOf(developerId);
  }

  async remove(
    developerId: string,
    asset: string,
    operation: FeeOperation,
    by: Author,
  ): Promise<FeeRulesView> {
    if (!(await removeRule(this.#parts.store, developerId, this.#listed(asset).address, operation, by)))
      throw new DashboardError("STATE_CHANGED", "There is no such rule any more");
    return this.rulesOf(developerId);
  }

  async preview({ asset: text, operation, flat, bps }: WantedRule, amountText: string): Promise<FeePreview> {
    const asset = this.#listed(text);
    if (bps > mostBpsOf(operation))
      throw wrongField(
        "bps",
        `the basis points of a ${operation} fee are 0 to ${String(mostBpsOf(operation))}`,
      );
    const service = (await this.#serviceFees())(asset.address, operation);
    // As the proxy has it: without a price nothing but swaps waits.
    if (service === "unpriced" && operation === "swap") throw new DashboardError("PRICE_UNAVAILABLE");
    return previewOf(asset, operation, BigInt(amountText), {
      developer: { flat: BigInt(flat), bps },
      service: service === undefined || service === "unpriced" ? { flat: 0n, bps: 0 } : service,
    });
  }

  async forOperator(): Promise<OperatorFees> {
    const inForce = await this.#serviceFees();
    const rules: OperatorFees["rules"] = [];
    for (const developerId of await this.#parts.store.developersWithRules())
      for (const rule of await this.#parts.store.rules(developerId)) {
        const { sink: _theirs, ...shown } = shownRule(rule);
        rules.push({ developer_id: developerId, ...shown });
      }
    return {
      service_address: this.#parts.serviceFee?.text ?? null,
      schedule: this.#parts.feeSchedule.map(({ asset, operation, usd, bps }) => {
        const terms = inForce(asset, operation);
        const flat = terms === "unpriced" || terms === undefined ? null : String(terms.flat);
        return {
          ...{ asset: checksumAddress(asset), operation, bps, flat },
          usd: usd === undefined ? null : dollarsText(usd),
        };
      }),
      rules,
      change: {
        title: "Change what the service asks",
        effect:
          "The schedule is CLOISTER_FEE_SCHEDULE in the environment of every proxy. After a restart the new terms " +
          "are in force; those that were shown before stay enough for ten minutes.",
        command: null,
        transaction: null,
      },
    };
  }

  #listed(text: string): Asset {
    const address = asAddress(text);
    const found = this.#parts.assets.find((one) => one.address === address);
    if (found === undefined) throw wrongField("asset", "the instance does not list this asset");
    return found;
  }

  /** What the proxies ask now: by the settings, and by the prices that they keep. Nothing is promised by asking. */
  async #serviceFees(): Promise<(asset: Address, operation: FeeOperation) => InForce> {
    const known = new Map<Address, Price>();
    for (const setting of this.#parts.prices) {
      if ("fixed" in setting) known.set(setting.asset, fixedPrice(setting.fixed));
      else {
        const kept = await this.#parts.priceStore.price(setting.asset);
        if (kept !== undefined && isBetween(kept, setting.least, setting.most))
          known.set(setting.asset, kept);
      }
    }
    return createServiceFees({
      ...{
        assets: this.#parts.assets,
        serviceFee: this.#parts.serviceFee,
        feeSchedule: this.#parts.feeSchedule,
        store: this.#parts.store,
        now: this.#parts.now,
      },
      prices: { priceOf: (asset) => known.get(asset) },
    }).inForce;
  }
}

/** Of a deposit and a swap the fees come out of the amount; of a transfer and a withdrawal they come on top of it. */
export function previewOf(
  asset: Asset,
  operation: FeeOperation,
  amount: bigint,
  { developer, service }: { readonly developer: FeeRule; readonly service: FeeRule },
): FeePreview {
  const [developerFee, serviceFee] = [feeOf(developer, amount), feeOf(service, amount)];
  const fees = developerFee + serviceFee;
  const isWithin = operation === "deposit" || operation === "swap";
  const pays = isWithin ? amount : amount + fees;
  const rest = isWithin ? amount - fees : amount;
  const isImpossible = isWithin && rest <= 0n;
  const money = (units: bigint): string => `${unitsText(units, asset.decimals)} ${asset.symbol}`;
  const where = {
    ...{ deposit: "arrive on the shielded balance", transfer: "arrive at the recipient" },
    ...{ withdraw: "arrive at the recipient", swap: "go to the venue" },
  }[operation];
  const sentence = isImpossible
    ? `Of a ${operation} of ${money(amount)} nothing would be left: the fees are ${money(fees)}.`
    : `Of a ${operation} of ${money(amount)} your user pays ${money(pays)}: ${money(rest)} ${where}, ` +
      `${money(developerFee)} are your fee, ${money(serviceFee)} the service's.`;
  return {
    operation,
    asset: { address: checksumAddress(asset.address), symbol: asset.symbol, decimals: asset.decimals },
    amount: String(amount),
    ...{ developer_fee: String(developerFee), service_fee: String(serviceFee), fees: String(fees) },
    user_pays: String(pays),
    arrives: String(rest > 0n ? rest : 0n),
    ...{ is_impossible: isImpossible, sentence },
  };
}

/** `1.5`; exact, without zeros at its end. */
export function unitsText(units: bigint, decimals: number): string {
  const digits = String(units).padStart(decimals + 1, "0");
  const [whole, places] = [digits.slice(0, digits.length - decimals), digits.slice(digits.length - decimals)];
  const kept = places.replace(/0+$/, "");
  return kept === "" ? whole : `${whole}.${kept}`;
}

const DOLLAR_DECIMALS = 18;
const dollarsText = (dollars: bigint): string => unitsText(dollars, DOLLAR_DECIMALS);

function shownRule({ asset, operation, terms }: DeveloperRule) {
  const { flat, bps, sink } = terms;
  return { asset: checksumAddress(asset), operation, flat: String(flat), bps, sink };
}

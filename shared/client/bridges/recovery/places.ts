/**
 * Every address that a key may have money at: from each number, each pinned token and each hint one, and one of the key's
 * own refund address. Numbers are followed
 * until so many in a row have left no trace on any chain.
 */
import { DepositKey } from "../../../notes/bridge-keys.ts";
import type { Address } from "../../../protocol/brands.ts";
import { asAddress } from "../../../protocol/host/text.ts";
import type { Factory } from "../../../protocol/host/forwarders.ts";
import { requireAddress } from "../../base/pins.ts";
import { amountPinsOf, chainExit, factoryOf, lanesOf, venueExit } from "../bridge-pins.ts";
import { mustForeignKey, tokenAccountOf } from "../deposit-account.ts";
import { GAP_LIMIT } from "../numbers.ts";
import { type BridgeRecord } from "../../state/bridge-record.ts";
import { numbered, type Unnumbered } from "../refunds.ts";
import { inPlace, outPlace, type InPlace, type Maker, type OutPlace } from "../terms.ts";
import type { BurnFound } from "./burns.ts";
import type { RecoveryOptions } from "./options.ts";
import { payeesIn, type Payees } from "./payees.ts";

export interface Deposit {
  readonly key: DepositKey;
  readonly tokenAccount: string;
}

export type Place =
  | { readonly record: BridgeRecord; readonly at: InPlace; readonly deposit: Deposit | undefined }
  | { readonly record: BridgeRecord; readonly at: OutPlace; readonly deposit: undefined };

export function vaultsOf({ at }: Place): Address[] {
  return at.direction === "in" && at.source !== undefined ? [at.address, at.source.address] : [at.address];
}

export class Places {
  readonly factory: Factory;
  readonly #options: RecoveryOptions;
  readonly #maker: Maker;
  #payees: Payees | undefined;

  constructor(options: RecoveryOptions) {
    this.#options = options;
    this.factory = factoryOf(options.bridges);
    const home = { chainId: BigInt(options.home.chainId), pool: requireAddress(options.pool, "pool") };
    this.#maker = { keys: options.keys.viewing, home, factory: this.factory };
  }

  /** Payees that burns on the pool's chain tell of. */
  learn(burns: readonly BurnFound[]): void {
    const { bridges, gap } = this.#options;
    this.#payees = payeesIn(burns, this.#maker, bridges, this.#assets(), gap);
  }

  /** `hasTrace` says which of the places were ever used. */
  async used(hasTrace: (places: readonly Place[]) => Promise<ReadonlySet<Place>>): Promise<Place[]> {
    const found = new Map<Address, Place>();
    const keep = async (places: readonly Place[]): Promise<ReadonlySet<Place>> => {
      const used = await hasTrace(places);
      for (const place of used) found.set(place.at.address, place);
      return used;
    };
    const records = this.#options.records ?? [];
    await keep(records.map((record) => this.#placeOf(record)));
    const gap = this.#options.gap ?? GAP_LIMIT;
    for (const templates of this.#templates()) {
      for (let next = 0, end = gap; next < end;) {
        const numbers = Array.from({ length: end - next }, (_, at) => next + at);
        const places = numbers.flatMap((index) =>
          templates.map((template) => this.#placeOf(numbered(this.#options.keys, template, index, 0))),
        );
        next = end;
        for (const { record } of await keep(places)) end = Math.max(end, record.index + 1 + gap);
      }
    }
    return [...found.values()];
  }

  #placeOf(record: BridgeRecord): Place {
    if (record.kind === "out") return { record, at: outPlace(this.#maker, record), deposit: undefined };
    const { altchain } = this.#options.bridges;
    const at = inPlace(this.#maker, record);
    if (record.kind === "in" || altchain === undefined) return { record, at, deposit: undefined };
    const key = new DepositKey(this.#options.keys, record.index);
    const tokenAccount = tokenAccountOf(key.publicKey, mustForeignKey(altchain.mint));
    return { record, at, deposit: { key, tokenAccount } };
  }

  #assets(): Address[] {
    const { assets, bridges } = this.#options;
    const pinned = Object.keys(bridges.assets).map((name) => asAddress(name));
    return assets.map((text) => requireAddress(text, "asset")).filter((asset) => pinned.includes(asset));
  }

  /** By kind. */
  #templates(): Unnumbered[][] {
    const { bridges, refundAddresses = [] } = this.#options;
    const pinned = this.#assets();
    const payees = new Map<string, { readonly chainId: number | undefined; readonly address: string }>();
    const know = (chainId: number | undefined, address: string): void =>
      void payees.set(`${chainId ?? ""} ${address.toLowerCase()}`, { chainId, address });
    for (const account of [...(this.#options.accounts ?? []), ...(this.#payees?.accounts ?? [])])
      know(undefined, account);
    for (const { chainId, address } of this.#options.recipients ?? []) know(chainId, address);
    for (const [chainId, some] of this.#payees?.recipients ?? [])
      for (const address of some) know(chainId, address);
    const collector = requireAddress(bridges.collector, "pins.bridges.collector");
    const incoming = (kind: "in" | "altchain"): Unnumbered[] =>
      pinned.flatMap((asset) =>
        [undefined, ...refundAddresses].map((text) => {
          const refund = text === undefined ? undefined : requireAddress(text, "refund address");
          const lanes = kind === "in" ? lanesOf(bridges) : [];
          const venue = kind === "in" ? ("perpvenue" as const) : kind;
          return { kind, venue, asset, collector, refund, lanes, ...amountPinsOf(bridges, asset) };
        }),
      );
    const outgoing = (text: string, chainId: number | undefined): Unnumbered[] =>
      pinned.map((asset) => {
        const payee = requireAddress(text, chainId === undefined ? "account" : "recipient");
        const found = chainId === undefined ? venueExit(bridges, payee) : chainExit(bridges, chainId, payee);
        const { minimum, feeCeiling, ...exit } = found;
        const venue = chainId === undefined ? ("perpvenue" as const) : ("chain" as const);
        return { kind: "out", venue, asset, minimum, feeCeiling, payee, chainId, exit };
      });
    return [
      incoming("in"),
      bridges.altchain === undefined ? [] : incoming("altchain"),
      [...payees.values()].flatMap(({ chainId, address }) => outgoing(address, chainId)),
    ].filter((templates) => templates.length > 0);
  }
}

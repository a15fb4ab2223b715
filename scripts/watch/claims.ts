/** Claims, by asset and id: what was promised when there was no room, and how much of it is left. */
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import type { Change } from "./changes.ts";

export interface Claim {
  /** That made it. */
  readonly statement: Bytes32;
  readonly left: bigint;
  /** Of the root that it was proved on, or that its statement was confirmed on. */
  readonly rootNumber: number;
  /** Its root was revoked, and somebody took it out. */
  readonly isRemoved: boolean;
}

export class Claims {
  readonly #byAsset = new Map<Address, Claim[]>();

  get assets(): readonly Address[] {
    return [...this.#byAsset.keys()];
  }

  of(asset: Address): readonly Claim[] {
    return this.#byAsset.get(asset) ?? [];
  }

  /** Not paid, and not removed. */
  owed(asset: Address): bigint {
    return this.of(asset).reduce((sum, { left, isRemoved }) => (isRemoved ? sum : sum + left), 0n);
  }

  /** Those that anybody may take out. */
  removable(isRoot: (number: number) => boolean): { readonly asset: Address; readonly id: number }[] {
    return this.assets.flatMap((asset) =>
      this.of(asset).flatMap(({ left, rootNumber, isRemoved }, id) =>
        left > 0n && !isRemoved && !isRoot(rootNumber) ? [{ asset, id }] : [],
      ),
    );
  }

  apply({ asset, id, statement, left, rootNumber, isRemoved }: Extract<Change, { type: "claim" }>): void {
    const claims = this.#byAsset.get(asset) ?? [];
    this.#byAsset.set(asset, claims);
    claims[id] = { statement, left: BigInt(left), rootNumber, isRemoved };
  }
}

/** The pool's lines of claims, one an asset: what was promised when there was no room, and how much of it is left. */
import type { Address } from "../../shared/protocol/brands.ts";
import type { Change } from "./changes.ts";

export interface Claim {
  readonly left: bigint;
  readonly isSetAside: boolean;
}

export class Claims {
  readonly #lines = new Map<Address, Claim[]>();

  get assets(): readonly Address[] {
    return [...this.#lines.keys()];
  }

  line(asset: Address): readonly Claim[] {
    return this.#lines.get(asset) ?? [];
  }

  /** The first that waits in line; the length of the line when none does. */
  first(asset: Address): number {
    const line = this.line(asset);
    const first = line.findIndex(({ left, isSetAside }) => left > 0n && !isSetAside);
    return first === -1 ? line.length : first;
  }

  /** Not paid, in line or set aside. */
  waiting(asset: Address): bigint {
    return this.line(asset).reduce((sum, { left }) => sum + left, 0n);
  }

  apply({ asset, id, left, isSetAside }: Extract<Change, { type: "claim" }>): void {
    const line = this.#lines.get(asset) ?? [];
    this.#lines.set(asset, line);
    line[id] = { left: BigInt(left), isSetAside };
  }
}

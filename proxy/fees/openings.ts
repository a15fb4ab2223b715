/**
 * Fee notes as a caller opens them, recomputed against the statement's own commitments, so an opening cannot
 * be claimed without its note; and which note pays which fee.
 */
import type { SpendBody } from "../../shared/api/transactions.ts";
import { asAddress, asBytes32, asField, type Address, type Field } from "../../shared/protocol/brands.ts";
import { poseidon2, poseidon3 } from "../../shared/protocol/hash.ts";
import { ApiError } from "../http/errors.ts";
import { invalidField } from "../http/parse.ts";

/** As it arrives in `fees`, after its schema. */
export type FeeOpening = SpendBody["fees"][number];

export interface Opened {
  readonly output: number;
  readonly asset: Address;
  readonly blinding: Field;
  readonly value: bigint;
}

export type Party = "service" | "developer";

/** One fee that is enforced: its amount and who must receive it. */
export interface Due {
  readonly party: Party;
  readonly asset: Address;
  readonly fee: bigint;
  readonly owner: Field;
}

export function readOpening({ output, asset, blinding, value }: FeeOpening, index: number): Opened {
  const address = asAddress(asset);
  const field = asBytes32(blinding) === undefined ? undefined : asField(BigInt(blinding));
  if (address === undefined || field === undefined) {
    throw invalidField(`fees[${index}].${address === undefined ? "asset" : "blinding"}`, "not canonical");
  }
  return { output, asset: address, blinding: field, value: BigInt(value) };
}

/** The openings of one statement. What was hashed once is not hashed again: a check may look at several terms. */
export class FeeOutputs {
  readonly opened: readonly Opened[];
  readonly #commitments: readonly Field[];
  readonly #known = new Map<string, boolean>();

  constructor(opened: readonly Opened[], commitments: readonly Field[]) {
    this.opened = opened;
    this.#commitments = commitments;
  }

  /** commitment = H(H(owner, blinding), asset, value). */
  pays(opening: Opened, owner: Field): boolean {
    const key = `${this.opened.indexOf(opening)} ${owner}`;
    let answer = this.#known.get(key);
    if (answer === undefined) {
      const npk = poseidon2(owner, opening.blinding);
      const made = poseidon3(npk, BigInt(opening.asset), opening.value);
      answer = this.#commitments[opening.output] === made;
      this.#known.set(key, answer);
    }
    return answer;
  }

  /**
   * A note for each due, no note for two. The highest due takes the highest note: where both parties have one
   * sink, this finds a way whenever there is one.
   */
  match(dues: readonly Due[]): ReadonlyMap<Opened, Due> | ApiError {
    const paid = new Map<Opened, Due>();
    const taken = new Set<number>();
    for (const due of dues.toSorted((a, b) => (a.fee < b.fee ? 1 : a.fee > b.fee ? -1 : 0))) {
      let best: Opened | undefined;
      for (const opening of this.opened) {
        if (taken.has(opening.output) || opening.asset !== due.asset) continue;
        if (best !== undefined && opening.value <= best.value) continue;
        if (this.pays(opening, due.owner)) best = opening;
      }
      if (best === undefined) return missing(due.party);
      if (best.value < due.fee) return tooLow(due, best.value);
      taken.add(best.output);
      paid.set(best, due);
    }
    return paid;
  }
}

export function missing(party: Party): ApiError {
  return new ApiError("FEE_MISSING", `No entry of fees opens an output that pays the ${party} fee`, {
    fields: [{ path: "fees", message: `the ${party} fee note is not opened` }],
  });
}

function tooLow({ party, fee }: Due, value: bigint): ApiError {
  return new ApiError("FEE_TOO_LOW", `The ${party} fee is ${fee}, its note holds ${value}`, {
    fields: [{ path: "fees", message: `the ${party} fee is ${fee}` }],
  });
}

/**
 * Fee notes as a caller opens them, recomputed against the statement's own commitments, so an opening cannot
 * be claimed without its note; and which note pays which fee.
 */
import type { SpendBody } from "../../../shared/api/transactions.ts";
import { asField, type Address, type Field } from "../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../shared/protocol/host/text.ts";
import { commitmentOf, npkOf } from "../../../shared/notes/note.ts";
import { ApiError } from "../../base/http/errors.ts";
import { invalidField } from "../../base/http/parse.ts";

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
  readonly #known = new Map<string, Field | undefined>();

  constructor(opened: readonly Opened[], commitments: readonly Field[]) {
    this.opened = opened;
    this.#commitments = commitments;
  }

  /** The public key that makes the note this owner's; undefined where its commitment is another. */
  npkFor(opening: Opened, owner: Field): Field | undefined {
    const key = `${this.opened.indexOf(opening)} ${owner}`;
    if (!this.#known.has(key)) {
      const npk = npkOf(owner, opening.blinding);
      const made = commitmentOf(npk, opening.asset, opening.value);
      this.#known.set(key, this.#commitments[opening.output] === made ? npk : undefined);
    }
    return this.#known.get(key);
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
        if (this.npkFor(opening, due.owner) !== undefined) best = opening;
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

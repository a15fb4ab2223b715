/**
 * Fees of sweeps, as notes that only their receivers can read: one of the service, and one of each developer whose rules
 * apply. All of them together stay under the ceiling that the address commits to; the contract refuses more.
 */
import type { Address, Field } from "../../../shared/protocol/brands.ts";
import type { ShieldedAddress } from "../../../shared/notes/address.ts";
import { OutputSealer } from "../../../shared/notes/encryption.ts";
import { sealUnmeasured } from "../../../shared/notes/measured-note.ts";
import type { FeeTerms } from "../../base/store/fee-rules.ts";
import { bridgeFees } from "../../base/bridge/bridge-fees.ts";
import type { FeeReceiver, OneSweep } from "./calls.ts";
import type { StepOf } from "./steps.ts";

export interface FeesInForce {
  readonly service: FeeTerms | undefined;
  readonly developer: FeeTerms | undefined;
}

export interface SweepWithFees {
  readonly step: StepOf<"sweep">;
  readonly inForce: FeesInForce;
}

export interface SweepFeeParts {
  /** Who sends the sweep. */
  readonly sender: Address;
  /** Undefined when the text is no address of this network. */
  readonly readSink: (text: string) => ShieldedAddress | undefined;
}

/** Sweeps and the notes of their collectors, as the contract takes them. Each call makes notes of its own. */
export function withFeeNotes(
  sweeps: readonly SweepWithFees[],
  { sender, readSink }: SweepFeeParts,
): { readonly sweeps: readonly OneSweep[]; readonly collectors: readonly FeeReceiver[] } {
  const sinks = new Map<string, { readonly place: number; readonly note: FeeReceiver }>();

  function placeOf(terms: FeeTerms, asset: Address): number | undefined {
    const known = sinks.get(terms.sink);
    if (known !== undefined) return known.place;
    const sink = readSink(terms.sink);
    if (sink === undefined) return undefined;
    const place = sinks.size;
    sinks.set(terms.sink, { place, note: noteFor(sink, asset) });
    return place;
  }

  const made = sweeps.map(({ step: { terms, amount }, inForce }): OneSweep => {
    // Taken by anybody but who is named in the address, it would be refused.
    if (terms.collector !== sender) return { terms, fees: [] };
    const shares = bridgeFees(inForce, amount, terms.feeCeiling);
    const fees: bigint[] = [];
    for (const party of ["service", "developer"] as const) {
      const rule = inForce[party];
      const share = shares[party];
      const place = rule === undefined || share === 0n ? undefined : placeOf(rule, terms.asset);
      if (place === undefined) continue;
      while (fees.length <= place) fees.push(0n);
      // A developer may have named the service's own sink.
      fees[place] = (fees[place] ?? 0n) + share;
    }
    return { terms, fees };
  });
  return { sweeps: made, collectors: [...sinks.values()].map(({ note }) => note) };
}

function noteFor(sink: ShieldedAddress, asset: Address): FeeReceiver {
  // A sealer of its own: two notes of one reader under one ephemeral key would show that they belong together.
  const sealer = new OutputSealer();
  const { npk }: { readonly npk: Field } = sealUnmeasured(sealer, sink, asset);
  return { npk, ephemeralKey: sealer.ephemeralKey, ciphertext: sealer.ciphertexts[0]! };
}

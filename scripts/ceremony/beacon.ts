// The coordinator's last change to the keys, in two steps: announce public randomness that does not exist yet,
// and apply it once it does. The announcement pins the last contribution's hash, so nobody could have
// chosen a contribution knowing the value, and the value leaves the coordinator no choice either.

import { zKey } from "snarkjs";
import { progress } from "../build/circuits/ceremony.ts";
import { appendEntry, openCeremony, timestamp, type Ceremony, type StepOptions } from "./folder.ts";
import { makeNewKeys } from "./key-step.ts";
import {
  announcementOf,
  CeremonyError,
  checkOrder,
  nextLink,
  parseEntry,
  recordText,
  type Announcement,
  type Beacon,
} from "./transcript.ts";
import { verifyCeremony, type VerifyOptions } from "./verify.ts";

export interface AnnounceOptions extends StepOptions, Pick<VerifyOptions, "trustPowersOfTau"> {
  readonly source: string;
  /** The value is hashed 2^n times, which delays whoever would try many values. */
  readonly iterationsExponent: number;
}

export async function announceBeacon(options: AnnounceOptions): Promise<Ceremony> {
  const { transcript } = await openCeremony(options.folder);
  const { source, iterationsExponent } = options;
  const draft: Announcement = {
    type: "announcement",
    ...nextLink(transcript),
    at: timestamp(options.now),
    source,
    iterationsExponent,
  };
  const entry = parseEntry(recordText(draft));
  checkOrder(entry, transcript.entries);
  // A bad contribution that is found after the announcement costs the ceremony.
  const ceremony = await verifyCeremony({ ...options, newestOnly: true });
  return appendEntry(ceremony, "announcement", () => Promise.resolve(entry));
}

export interface BeaconOptions extends StepOptions {
  /** 64 hex digits, with or without 0x. */
  readonly value: string;
}

export async function applyBeacon(options: BeaconOptions): Promise<Ceremony> {
  const ceremony = await openCeremony(options.folder);
  // snarkjs takes a value with 0x for one of another length, and refuses it without a word.
  const value = options.value.toLowerCase().replace(/^0x/, "");
  if (!/^[0-9a-f]{64}$/.test(value)) throw new CeremonyError("MALFORMED", "--value must be 64 hex digits");
  const { entries } = ceremony.transcript;
  const draft: Beacon = {
    type: "beacon",
    ...nextLink(ceremony.transcript),
    at: timestamp(options.now),
    value,
    circuits: {},
  };
  checkOrder(draft, entries);
  const announced = announcementOf(entries);
  if (announced === undefined) throw new CeremonyError("ORDER_OF_STEPS", "no beacon is announced");
  return appendEntry(ceremony, "beacon", async (folder) => ({
    ...draft,
    circuits: await makeNewKeys(ceremony, folder, "beacon", options.say, (circuit, from, to) =>
      zKey.beacon(from, to, "beacon", value, announced.iterationsExponent, progress(circuit)),
    ),
  }));
}

// Starts the attester as a process of its own. Its keys can be made before, as the contracts have to know them.
import type { Address } from "../../../../shared/protocol/brands.ts";
import { startVenue, type RunningVenue, type VenueOptions } from "../start-venue.ts";
import { openKeys } from "./keys.ts";
import { parseSettings, type AttesterSettingsFile } from "./settings.ts";

export type AttesterOptions = VenueOptions<AttesterSettingsFile>;
export type RunningAttester = RunningVenue;

/** Whom the contracts must accept, in rising order. */
export async function attesterAddresses(folder: string): Promise<readonly Address[]> {
  return (await openKeys(folder)).addresses;
}

export async function startAttester(options: AttesterOptions): Promise<RunningAttester> {
  // A mistake in it shows here and not in a log.
  parseSettings(options.settings);
  return startVenue("attester", options);
}

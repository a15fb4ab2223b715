// Starts the exchange as a process of its own. Its key can be made before, as its contract has to know it.
import { startVenue, type RunningVenue, type VenueOptions } from "../start-venue.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { openReserve } from "./keys.ts";
import { parseSettings, type ExchangeSettingsFile } from "./settings.ts";

export type ExchangeOptions = VenueOptions<ExchangeSettingsFile>;
export type RunningExchange = RunningVenue;

/** Who holds its money. */
export const reserveOf = async (folder: string): Promise<Address> => (await openReserve(folder)).address;

export async function startExchange(options: ExchangeOptions): Promise<RunningExchange> {
  // A mistake in it shows here and not in a log.
  parseSettings(options.settings);
  return startVenue("exchange", options);
}

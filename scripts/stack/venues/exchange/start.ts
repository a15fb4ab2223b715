// Starts the exchange as a process of its own. Its keys can be made before, as contracts have to know them.
import { startVenue, type RunningVenue, type VenueOptions } from "../start-venue.ts";
import { openExchangeKeys, type ExchangeAddresses } from "./keys.ts";
import { parseSettings, type ExchangeSettingsFile } from "./settings.ts";

export type ExchangeOptions = VenueOptions<ExchangeSettingsFile>;
export type RunningExchange = RunningVenue;

/** Who holds its money, and its validators in the bridge's order. */
export async function exchangeAddresses(folder: string): Promise<ExchangeAddresses> {
  const { reserve, validators } = await openExchangeKeys(folder);
  return { reserve: reserve.address, validators: validators.map(({ address }) => address) };
}

export async function startExchange(options: ExchangeOptions): Promise<RunningExchange> {
  // A mistake in it shows here and not in a log.
  parseSettings(options.settings);
  return startVenue("exchange", options);
}

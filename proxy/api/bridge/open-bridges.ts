/** Puts the bridge's parts together: what main.ts has to know of them. */
import type { Address } from "../../../shared/protocol/brands.ts";
import { createBridges, type Bridges, type BridgesParts } from "./bridge.service.ts";
import { createBridgeView } from "./bridge.view.ts";
import { createExchangeClient } from "../../base/bridge/exchange.ts";
import { createTerms } from "./terms.ts";
import { createVenueFees } from "./venue-fees.ts";

export type OpenBridgesParts = Pick<
  BridgesParts,
  "settings" | "store" | "relay" | "pool" | "fees" | "now"
> & { readonly poolAddress: Address };

export function openBridges({ poolAddress, ...parts }: OpenBridgesParts): Bridges {
  const { settings, now } = parts;
  return createBridges({
    ...parts,
    terms: createTerms(settings, poolAddress),
    view: createBridgeView(settings),
    exchange: settings.perpvenue === undefined ? undefined : createExchangeClient(settings.perpvenue.apiUrl),
    venueFees: createVenueFees(settings, now),
  });
}

/** Puts the bridge's parts together: what main.ts has to know of them. */
import type { Address } from "../../../shared/protocol/brands.ts";
import { Bridges, type BridgesParts } from "./bridge.service.ts";
import { BridgeView } from "./bridge.view.ts";
import { createExchangeClient } from "../../base/bridge/exchange.ts";
import { Terms } from "./terms.ts";
import { createVenueFees } from "./venue-fees.ts";

export type OpenBridgesParts = Pick<
  BridgesParts,
  "settings" | "store" | "relay" | "pool" | "fees" | "now"
> & { readonly poolAddress: Address };

export function openBridges({ poolAddress, ...parts }: OpenBridgesParts): Bridges {
  const { settings, now } = parts;
  return new Bridges({
    ...parts,
    terms: new Terms(settings, poolAddress),
    view: new BridgeView(settings),
    exchange: settings.perpvenue === undefined ? undefined : createExchangeClient(settings.perpvenue.apiUrl),
    venueFees: createVenueFees(settings, now),
  });
}

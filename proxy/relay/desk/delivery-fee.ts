/**
 * What goes along with the money for its delivery, in coins of the chain that it leaves: CCTP asks for none, a warp route for
 * the hooks that its message passes. Whoever owns the route sets those, and our gas wallet pays, so there is a bound: else
 * a route could name a price that is all the wallet has.
 */
import type { Address } from "../../../shared/protocol/brands.ts";
import { PROTOCOLS } from "../../../shared/protocol/host/forwarders.ts";
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import { quoteOf } from "./calls.ts";

export interface Carrier {
  readonly protocol: number;
  readonly messenger: Address;
  /** Where to, in the protocol's own numbers. */
  readonly domain: number;
}

/** Wei. Undefined where nothing is to be sent now: the route refuses, is none, or asks for more than `most`. */
export async function deliveryFeeOf(
  chain: Pick<Chain, "call">,
  { protocol, messenger, domain }: Carrier,
  most: bigint,
): Promise<bigint | undefined> {
  if (protocol === PROTOCOLS.cctp) return 0n;
  let answer: string;
  try {
    answer = await chain.call({ to: messenger, data: quoteOf.encode(domain) });
  } catch (error) {
    if (error instanceof ChainRefused) return undefined;
    throw error;
  }
  const quoted = quoteOf.decode(answer);
  return quoted !== undefined && quoted <= most ? quoted : undefined;
}

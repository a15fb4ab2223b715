/**
 * Whom a key has withdrawn to, as far as a chain can tell. An out-address is made of its payee, and no key says who that
 * was; but what has left one names the payee in public, so every burn is tried: does this key's out-address for its payee
 * have the address that burned? An address that nothing has left yet says nothing of its payee.
 */
import type { Address } from "../../../protocol/brands.ts";
import { parseForward } from "../../../protocol/host/cctp-forward.ts";
import {
  outAddress,
  paddedAddress,
  unpaddedAddress,
  type Exit,
  type OutTerms,
} from "../../../protocol/host/forwarders.ts";
import { chainExit, venueExit } from "../bridge-pins.ts";
import { GAP_LIMIT } from "../numbers.ts";
import type { BridgePins } from "../../base/pinned-bridges.ts";
import { outPlace, type Maker } from "../terms.ts";
import type { BurnFound } from "./burns.ts";

export interface Payees {
  readonly accounts: ReadonlySet<Address>;
  /** By chain. */
  readonly recipients: ReadonlyMap<number, ReadonlySet<Address>>;
}

/** `chainId` undefined: an account of the exchange. */
interface Payee {
  readonly chainId: number | undefined;
  readonly address: Address;
}

/** `burns` on the pool's chain. */
export function payeesIn(
  burns: readonly BurnFound[],
  maker: Maker,
  pins: BridgePins,
  assets: readonly Address[],
  gap = GAP_LIMIT,
): Payees {
  const accounts = new Set<Address>();
  const recipients = new Map<number, Set<Address>>();
  for (let next = 0, end = gap; next < end; next += 1) {
    for (const terms of termsAt(next, maker, assets))
      for (const burn of burns)
        for (const { chainId, address } of payeesOf(burn, pins)) {
          const { minimum, feeCeiling, ...exit } =
            chainId === undefined ? venueExit(pins, address) : chainExit(pins, chainId, address);
          if (outAddress({ ...terms, minimum, feeCeiling, exit }, maker.factory) !== burn.depositor) continue;
          end = Math.max(end, next + 1 + gap);
          if (chainId === undefined) accounts.add(address);
          else recipients.set(chainId, (recipients.get(chainId) ?? new Set()).add(address));
        }
  }
  return { accounts, recipients };
}

/** Who gets the money of a burn, where it is one that these pins' exits would make. */
function payeesOf({ recipient, destination, hook }: BurnFound, { exits }: BridgePins): Payee[] {
  const found: Payee[] = [];
  const order = parseForward(hook);
  if (order !== undefined && exits.perpvenue?.domain === destination)
    found.push({ chainId: undefined, address: order.recipient });
  const address = unpaddedAddress(recipient);
  if (hook.length > 0 || address === undefined) return found;
  for (const { chainId, domain } of exits.chains)
    if (domain === destination) found.push({ chainId, address });
  return found;
}

/** Terms of the key's out-addresses of one number, with nobody for a payee: their notes are the dear part, made once. */
function termsAt(index: number, maker: Maker, assets: readonly Address[]): OutTerms[] {
  const { pool } = maker.home;
  const nobody = paddedAddress(pool);
  const exit: Exit = {
    ...{ messenger: pool, domain: 0, hook: new Uint8Array(0) },
    ...{ recipient: nobody, caller: nobody },
  };
  const common = { minimum: 0n, feeCeiling: 0n, createdAt: 0, payee: pool, chainId: undefined, exit };
  return assets.map(
    (asset) => outPlace(maker, { ...common, kind: "out", venue: "chain", index, asset }).terms,
  );
}

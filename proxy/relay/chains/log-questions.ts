/**
 * What a node is asked for. Of one block: everything that the watched contracts say, so that neither the number of
 * addresses matters nor does the node learn which are ours. Of a long range, while the addresses are few, only theirs.
 */
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import type { Topics } from "../../base/chain/provider.ts";
import type { Key } from "./events.ts";
import { OF_MESSAGES, OF_VAULTS, TRANSFER, type WatchedContracts } from "./logs-seen.ts";

export interface LogQuestion {
  readonly address: readonly Address[];
  readonly topics: Topics;
}

/** More in one list are refused by some nodes. */
const LISTED = 200;

/** Names what every log that matters is among. */
export function everythingSaid(contracts: WatchedContracts): readonly LogQuestion[] {
  const all = [...contracts.tokens, contracts.forwarders, ...messageContracts(contracts)];
  return [question(all, [[TRANSFER, ...OF_VAULTS, ...OF_MESSAGES]])];
}

/** Addresses of all these sets; no more than it takes to ask for everything. */
export function listed(sets: readonly ReadonlySet<Key>[]): ReadonlySet<Key> {
  const all = new Set(sets.flatMap((set) => [...set]));
  return new Set([...all].slice(0, LISTED + 1));
}

export function saidOf(contracts: WatchedContracts, keys: ReadonlySet<Key>): readonly LogQuestion[] {
  if (keys.size > LISTED) return everythingSaid(contracts);
  const addresses = [...keys];
  const ofMessages = messageContracts(contracts);
  return [
    ...(addresses.length === 0
      ? []
      : [
          question([...contracts.tokens, contracts.forwarders], [[TRANSFER, ...OF_VAULTS], addresses]),
          question(contracts.tokens, [TRANSFER, null, addresses]),
        ]),
    // Whom a message concerns stands in its bytes, which no list of topics reaches.
    ...(ofMessages.length === 0 ? [] : [question(ofMessages, [OF_MESSAGES])]),
  ];
}

function messageContracts({ cctp, exchange }: WatchedContracts): readonly string[] {
  return [
    ...(exchange === undefined ? [] : [exchange]),
    ...(cctp === undefined ? [] : [cctp.transmitter, cctp.messenger]),
  ];
}

function question(contracts: readonly string[], topics: Topics): LogQuestion {
  const address = contracts.map((contract) => {
    const parsed = asAddress(contract);
    if (parsed === undefined) throw new TypeError("a watched contract is no address");
    return parsed;
  });
  return { address, topics };
}

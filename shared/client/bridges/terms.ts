/**
 * The terms of an address, from the wallet's keys and its own record, and the address that they give. No service has a
 * say in it.
 */
import { addressNote, type AddressNote } from "../../notes/bridge-keys.ts";
import type { IncomingViewingKey } from "../../notes/keys.ts";
import type { Address, Bytes32 } from "../../protocol/brands.ts";
import {
  inAddress,
  inSalt,
  outAddress,
  outSalt,
  paddedAddress,
  sourceAddress,
  sourceSalt,
  type Factory,
  type InTerms,
  type OutTerms,
  type SourceTerms,
} from "../../protocol/host/forwarders.ts";
import type { Home } from "../../protocol/statements.ts";
import type { BridgeRecord, InRecord, OutRecord } from "../state/bridge-record.ts";

/** Made for one wallet and one pool. */
export interface Maker {
  readonly keys: IncomingViewingKey;
  readonly home: Home;
  readonly factory: Factory;
}

/** Where money arrives, on the pool's chain and on others. */
export interface InPlace {
  readonly direction: "in";
  readonly note: AddressNote;
  readonly terms: InTerms;
  readonly salt: Bytes32;
  readonly address: Address;
  readonly source: SourcePlace | undefined;
}

/** One address on every lane's chain. */
export interface SourcePlace {
  readonly terms: SourceTerms;
  readonly salt: Bytes32;
  readonly address: Address;
}

/** Where a private withdrawal goes that is to leave the pool's chain. */
export interface OutPlace {
  readonly direction: "out";
  readonly note: AddressNote;
  readonly terms: OutTerms;
  readonly salt: Bytes32;
  readonly address: Address;
}

export function inPlace({ keys, home, factory }: Maker, record: InRecord): InPlace {
  const note = addressNote(keys, record.kind, record.index, record.asset);
  const { asset, feeCeiling, minimum, collector, refund, lanes } = record;
  const terms: InTerms = {
    ...{ pool: home.pool, asset, receiver: receiverOf(note), feeCeiling, minimum, collector, refund },
  };
  const address = inAddress(terms, factory);
  const source = { recipient: paddedAddress(address), lanes, refund };
  return {
    ...{ direction: "in", note, terms, address, salt: inSalt(terms) },
    source:
      lanes.length === 0
        ? undefined
        : { terms: source, salt: sourceSalt(source), address: sourceAddress(source, factory) },
  };
}

export function outPlace({ keys, home, factory }: Maker, record: OutRecord): OutPlace {
  const note = addressNote(keys, "out", record.index, record.asset);
  const { asset, exit, feeCeiling, minimum } = record;
  const terms: OutTerms = {
    ...{ pool: home.pool, asset, exit, feeCeiling, minimum, refund: receiverOf(note) },
  };
  return { direction: "out", note, terms, salt: outSalt(terms), address: outAddress(terms, factory) };
}

export function placeOf(maker: Maker, record: BridgeRecord): InPlace | OutPlace {
  return record.kind === "out" ? outPlace(maker, record) : inPlace(maker, record);
}

function receiverOf({ npk, ephemeralKey, ciphertext }: AddressNote): InTerms["receiver"] {
  return { npk, ephemeralKey, ciphertext };
}

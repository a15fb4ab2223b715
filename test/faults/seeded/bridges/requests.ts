/** Requests that a wallet would make, computed by the client library from its key and pins, and not sent: so that one can be asked twice. */
import type { NetworkEntry } from "../../../../scripts/product/stack-file.ts";
import { checksumAddress } from "../../../../shared/api/checksum.ts";
import type { BridgePins } from "../../../../shared/client/index.ts";
import { chainExit, factoryOf, lanesOf } from "../../../../shared/client/bridges/bridge-pins.ts";
import type { BridgeRecord } from "../../../../shared/client/bridges/record.ts";
import { numbered, type Unnumbered } from "../../../../shared/client/bridges/refunds.ts";
import { placeOf, type InPlace, type OutPlace } from "../../../../shared/client/bridges/terms.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { asAddress, type Address } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";

/** Few: a restored wallet asks about each, and about twenty more. */
const INS = 6;
const OUTS = 5;

export interface Prebuilt {
  readonly name: string;
  readonly path: "/bridge/perpvenue/in-address" | "/bridge/perpvenue/out-address";
  readonly body: Readonly<Record<string, unknown>>;
  readonly place: InPlace | OutPlace;
}

interface Making {
  readonly entry: NetworkEntry;
  readonly seed: Uint8Array;
  readonly recipients: readonly Address[];
  readonly pins: BridgePins;
}

export function requestsOf({ entry, seed, recipients, pins }: Making): Prebuilt[] {
  const keys = SpendingKey.fromSeed(seed);
  const asset = asAddress(entry.usdc.toLowerCase())!;
  const pool = asAddress(entry.pool.toLowerCase())!;
  const amounts = Object.values(pins.assets)[0]!;
  const chain = entry.bridges!.chains[0]!;
  const maker = {
    keys: keys.viewing,
    home: { chainId: BigInt(entry.chain_id), pool },
    factory: factoryOf(pins),
  };
  const make = (name: string, path: Prebuilt["path"], index: number, of: Unnumbered): Prebuilt => {
    const record = numbered(keys, of, index, 0);
    const place = placeOf(maker, record);
    return { name, path, place, body: bodyOf(record, place, chain.chain_id) };
  };
  const ins = Array.from({ length: INS }, (_, index) =>
    make(`in ${String(index + 1)}`, "/bridge/perpvenue/in-address", index, {
      ...{ kind: "in", venue: "chain", asset, refund: undefined, lanes: lanesOf(pins), ...amounts },
      collector: asAddress(pins.collector.toLowerCase())!,
    }),
  );
  const outs = Array.from({ length: OUTS }, (_, index) => {
    const payee = recipients[index % recipients.length]!;
    const { minimum, feeCeiling, ...exit } = chainExit(pins, chain.chain_id, payee);
    return make(`out ${String(index + 1)}`, "/bridge/perpvenue/out-address", index, {
      ...{ kind: "out", venue: "chain", asset, minimum, feeCeiling, payee, exit, chainId: chain.chain_id },
    });
  });
  return [...ins, ...outs];
}

/** As the client sends it. */
function bodyOf(record: BridgeRecord, { note }: InPlace | OutPlace, chainId: number): Prebuilt["body"] {
  const receiver = {
    npk: toHex(word(note.npk)),
    ephemeral_key: toHex(note.ephemeralKey),
    ciphertext: toHex(note.ciphertext),
  };
  if (record.kind === "out")
    return { ...receiver, to: { chain_id: chainId, recipient: checksumAddress(record.payee) } };
  return {
    ...receiver,
    asset: checksumAddress(record.asset),
    refund_address: checksumAddress(record.refund),
  };
}

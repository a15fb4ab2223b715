/** Requests that a wallet would make, computed by the client library from its key and pins, and not sent: so that one can be asked twice. */
import type { NetworkEntry } from "../../../../scripts/base/stack-file.ts";
import { checksumAddress } from "../../../../shared/api/checksum.ts";
import type { BridgePins } from "../../../../shared/client/index.ts";
import { chainExit, factoryOf, lanesOf, venueExit } from "../../../../shared/client/bridges/bridge-pins.ts";
import type { BurnTerms } from "../../../../shared/client/bridges/burn.ts";
import { mustForeignKey, tokenAccountOf } from "../../../../shared/client/bridges/deposit-account.ts";
import type { BridgeRecord, InRecord } from "../../../../shared/client/state/bridge-record.ts";
import { numbered, type Unnumbered } from "../../../../shared/client/bridges/refunds.ts";
import { placeOf, type InPlace, type OutPlace } from "../../../../shared/client/bridges/terms.ts";
import { DepositKey } from "../../../../shared/notes/bridge-keys.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";
import { paddedAddress } from "../../../../shared/protocol/host/forwarders.ts";
import type { AccountKind, ExchangeFacts } from "./world-exchange.ts";

/** Few: a restored wallet asks about each, and about twenty more. */
const INS = 6;
const OUTS = 5;
const FOREIGN = 4;
/** Of money that goes to the exchange, by what becomes of the account. */
const ACCOUNTS: readonly AccountKind[] = ["trader", "trader", "leaver", "never"];

export interface Prebuilt {
  readonly name: string;
  readonly path:
    "/bridge/perpvenue/in-address" | "/bridge/perpvenue/out-address" | "/bridge/altchain/deposit-address";
  readonly body: Readonly<Record<string, unknown>>;
  readonly place: InPlace | OutPlace;
  /** On the other blockchain: whose account it is, by the number of its key. */
  readonly deposit: Deposit | undefined;
  /** On the exchange: who is to get it. */
  readonly account: { readonly kind: AccountKind; readonly address: Address } | undefined;
}

export interface Deposit {
  readonly index: number;
  readonly key: string;
  readonly tokenAccount: string;
  readonly terms: BurnTerms;
  /** What the service may take and move there. */
  readonly bounds: { readonly minimum: bigint; readonly feeCeiling: bigint };
}

interface Making {
  readonly entry: NetworkEntry;
  readonly seed: Uint8Array;
  readonly recipients: readonly Address[];
  readonly exchange: ExchangeFacts;
  readonly pins: BridgePins;
}

export function requestsOf({ entry, seed, recipients, exchange, pins }: Making): Prebuilt[] {
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
    const body = bodyOf(record, place, chain.chain_id);
    const made = { name, path, place, body, deposit: undefined, account: undefined };
    if (record.kind !== "altchain") return made;
    const deposit = depositOf(entry, keys, record, place.address);
    return { ...made, deposit, body: { ...body, deposit_key: deposit.key } };
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
  // Ways out are numbered together, wherever they go.
  const toExchange = ACCOUNTS.map((kind, i) => {
    const payee = exchange.accounts[kind];
    const { minimum, feeCeiling, ...exit } = venueExit(pins, payee);
    const made = make(`desk ${String(i + 1)}`, "/bridge/perpvenue/out-address", OUTS + i, {
      ...{ kind: "out", venue: "perpvenue", asset, minimum, feeCeiling, payee, exit, chainId: undefined },
    });
    return { ...made, account: { kind, address: payee } };
  });
  const foreign = Array.from({ length: FOREIGN }, (_, index) =>
    make(`foreign ${String(index + 1)}`, "/bridge/altchain/deposit-address", index, {
      ...{ kind: "altchain", venue: "altchain", asset, refund: undefined, lanes: [], ...amounts },
      collector: asAddress(pins.collector.toLowerCase())!,
    }),
  );
  return [...ins, ...outs, ...toExchange, ...foreign];
}

function depositOf({ bridges }: NetworkEntry, keys: SpendingKey, record: InRecord, home: Address): Deposit {
  const { altchain, home: pool } = bridges!;
  const { mint, decimals } = altchain;
  const { index, minimum, feeCeiling } = record;
  const key = new DepositKey(keys, index);
  const tokenAccount = tokenAccountOf(key.publicKey, mustForeignKey(mint));
  const terms = { tokenAccount, mint, decimals, domain: pool.domain, recipient: paddedAddress(home) };
  return {
    ...{ index, key: key.text, tokenAccount, terms: { ...terms, minimum, feeCeiling } },
    bounds: { minimum: BigInt(altchain.minimum), feeCeiling: BigInt(altchain.feeCeiling) },
  };
}

/** As the client sends it. */
function bodyOf(record: BridgeRecord, { note }: InPlace | OutPlace, chainId: number): Prebuilt["body"] {
  const receiver = {
    npk: toHex(word(note.npk)),
    ephemeral_key: toHex(note.ephemeralKey),
    ciphertext: toHex(note.ciphertext),
  };
  if (record.kind === "out" && record.venue === "perpvenue")
    return { ...receiver, account: checksumAddress(record.payee) };
  if (record.kind === "out")
    return { ...receiver, to: { chain_id: chainId, recipient: checksumAddress(record.payee) } };
  const refund = { ...receiver, refund_address: checksumAddress(record.refund) };
  return record.kind === "altchain" ? refund : { ...refund, asset: checksumAddress(record.asset) };
}

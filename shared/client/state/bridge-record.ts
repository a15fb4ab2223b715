/**
 * What a wallet remembers of an address that it has made: with its keys and pool, all that the address commits to. So it
 * computes the address again when pins have changed since, or the service that made it is gone.
 */
import type { Address } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { mustFromHex, toHex } from "../../protocol/bytes.ts";
import type { Exit, Lane } from "../../protocol/host/forwarders.ts";
import type { BridgeKind } from "../../notes/bridge-keys.ts";

interface Common {
  /** Its number among those of its kind. */
  readonly index: number;
  readonly asset: Address;
  readonly minimum: bigint;
  readonly feeCeiling: bigint;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Absent until the service has answered and its answer was found right. */
  readonly bridgeId?: string;
}

export interface InRecord extends Common {
  readonly kind: "in" | "altchain";
  readonly venue: "perpvenue" | "chain" | "altchain";
  readonly collector: Address;
  readonly refund: Address;
  /** Of the source address; none where there is no such address. */
  readonly lanes: readonly Lane[];
}

export interface OutRecord extends Common {
  readonly kind: "out";
  readonly venue: "perpvenue" | "chain";
  /** The exchange's account, or the recipient on another chain. */
  readonly payee: Address;
  /** Undefined for the exchange. */
  readonly chainId: number | undefined;
  readonly exit: Exit;
}

export type BridgeRecord = InRecord | OutRecord;

/** One number is one address. */
export function recordKey({ kind, index }: { readonly kind: BridgeKind; readonly index: number }): string {
  return `${kind}/${index}`;
}

/** As JSON holds it: bigints are decimal text, bytes are hex. */
export type StoredRecord = Readonly<Record<string, unknown>>;

export function storedRecord(record: BridgeRecord): StoredRecord {
  return record.kind === "out"
    ? { ...record, exit: { ...record.exit, hook: toHex(record.exit.hook) } }
    : { ...record };
}

/** Of what this wallet has written itself, sealed; a throw means damage. */
export function restoreRecord(stored: StoredRecord): BridgeRecord {
  const { kind, asset, lanes, exit } = stored as {
    readonly kind?: unknown;
    readonly asset?: unknown;
    readonly lanes?: readonly StoredRecord[];
    readonly exit?: StoredRecord;
  };
  if (asAddress(asset) === undefined || !["in", "out", "altchain"].includes(String(kind)))
    throw new RangeError("no record of a bridge address");
  const common = { ...stored, ...amountsOf(stored) };
  if (kind === "out")
    return {
      ...common,
      exit: { ...exit, hook: mustFromHex(exit?.["hook"] as string) },
    } as unknown as OutRecord;
  const restored = (lanes ?? []).map((lane) => ({
    ...lane,
    ...{ ...amountsOf(lane), chainId: BigInt(lane["chainId"] as string) },
  }));
  return { ...common, lanes: restored } as unknown as InRecord;
}

function amountsOf(stored: StoredRecord): { readonly minimum: bigint; readonly feeCeiling: bigint } {
  return { minimum: BigInt(stored["minimum"] as string), feeCeiling: BigInt(stored["feeCeiling"] as string) };
}

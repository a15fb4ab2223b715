/**
 * Who gets money back that cannot become a note. Where the application names nobody it is an account of the wallet's own
 * key and of the address's number, so that a wallet that was restored from its key alone computes the same address.
 */
import { RefundKey, type RefundKind } from "../../notes/bridge-keys.ts";
import type { SpendingKey } from "../../notes/keys.ts";
import type { Address } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { ClientError } from "../base/errors.ts";
import { GAP_LIMIT } from "./numbers.ts";
import type { BridgeRecord, InRecord, OutRecord } from "../state/bridge-record.ts";

type WithoutNumber<T> = Omit<T, "index" | "createdAt">;

/** A record before it has its number; `refund` is undefined for the wallet's own account. */
export type UnnumberedIn = Omit<WithoutNumber<InRecord>, "refund"> & {
  readonly refund: Address | undefined;
};
export type UnnumberedOut = WithoutNumber<OutRecord>;
export type Unnumbered = UnnumberedIn | UnnumberedOut;

export function numbered(
  keys: SpendingKey,
  unnumbered: Unnumbered,
  index: number,
  createdAt: number,
): BridgeRecord {
  if (unnumbered.kind === "out") return { ...unnumbered, index, createdAt };
  const refund = unnumbered.refund ?? new RefundKey(keys, unnumbered.kind, index).address;
  return { ...unnumbered, refund, index, createdAt };
}

/** Of an address. Throws BRIDGE_UNKNOWN where the money would go to somebody that the application named. */
export function refundKeyOf(keys: SpendingKey, record: BridgeRecord): RefundKey {
  if (record.kind === "out") throw new ClientError("BRIDGE_UNKNOWN", "its money comes back into the wallet");
  const key = new RefundKey(keys, record.kind, record.index);
  if (key.address !== record.refund)
    throw new ClientError("BRIDGE_UNKNOWN", "its refund address is not this wallet's");
  return key;
}

/** By the refund address itself; also behind the numbers that the storage knows, which a restore may have emptied. */
export function refundKeyAt(
  keys: SpendingKey,
  records: Iterable<BridgeRecord>,
  text: string,
): RefundKey | undefined {
  const wanted = asAddress(text.toLowerCase());
  if (wanted === undefined) return undefined;
  const all = [...records];
  for (const kind of ["in", "altchain"] as const satisfies readonly RefundKind[]) {
    const next = all.reduce((most, one) => (one.kind === kind ? Math.max(most, one.index + 1) : most), 0);
    for (let index = 0; index < next + GAP_LIMIT; index++) {
      const key = new RefundKey(keys, kind, index);
      if (key.address === wanted) return key;
    }
  }
  return undefined;
}

/**
 * Which number a new address gets. Numbers are taken one after the other, so that a wallet that has nothing but its key
 * knows when it has found the last of them: when so many in a row were never used.
 */
import { addressNote, type BridgeKind } from "../../notes/bridge-keys.ts";
import type { IncomingViewingKey } from "../../notes/keys.ts";
import type { Address } from "../../protocol/brands.ts";
import type { WalletState } from "../state/state.ts";

export const GAP_LIMIT = 20;
/** Longer than any tab asks a service for an address. */
const ABANDONED_SECS = 600;

/** `asset` is of no consequence for what is looked at. */
export function nextNumber(
  state: WalletState,
  keys: IncomingViewingKey,
  kind: BridgeKind,
  asset: Address,
  now: number,
): number {
  const known = [...state.bridges.values()].filter((record) => record.kind === kind);
  const next = known.reduce((most, { index }) => Math.max(most, index + 1), 0);
  // A number whose address nobody was shown is taken again: else a service that is away would make a gap.
  const abandoned = known.find(
    ({ bridgeId, createdAt }) => bridgeId === undefined && now - createdAt > ABANDONED_SECS,
  );
  const used = usedBehind(state, keys, kind, asset, next);
  return used === next && abandoned !== undefined ? abandoned.index : used;
}

/** A restored wallet does not know its addresses, but the notes that came to them. */
function usedBehind(
  state: WalletState,
  keys: IncomingViewingKey,
  kind: BridgeKind,
  asset: Address,
  from: number,
): number {
  const blindings = new Set(
    [...state.notes.values()].filter(({ source }) => source === "forwarder").map(({ blinding }) => blinding),
  );
  let next = from;
  for (let at = from; blindings.size > 0 && at < next + GAP_LIMIT; at++)
    if (blindings.has(addressNote(keys, kind, at, asset).blinding)) next = at + 1;
  return next;
}

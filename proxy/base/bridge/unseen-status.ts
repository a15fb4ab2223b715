/** What is said of a request before the relay has told of it: all that its record knows, and nothing of any chain. */
import type { BridgeStatus } from "../../../shared/api/bridge-status.ts";
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { BridgeRecord, BridgeWay } from "../store/bridge-records.ts";

export function unseenStatus(record: BridgeRecord): BridgeStatus {
  const { venue, direction } = record.way;
  return {
    ...{ bridge_id: record.id, venue, direction, state: "awaiting_funds", address: sentTo(record) },
    ...{ amount: null, received: "0", credited: "0", refunded: "0", deposits: [], transactions: [] },
    ...{ reason: null, next: { text: "the chains are being looked at", by: null } },
    ...{ without_help: withoutHelp(record.way), refundable_at: null },
    watched_until: new Date(record.watchUntil).toISOString(),
    ...{ sign: null, error: null },
  };
}

/**
 * Where a user sends. On the other blockchain the owner: wallets and exchanges pay the token account that they derive of
 * whatever they are given, and of a token account that would be one which nobody can open.
 */
export function sentTo({ address, way }: BridgeRecord): string {
  return way.kind === "from-altchain" ? way.depositKey : checksumAddress(address);
}

/** Of money that is not at its end. */
export function withoutHelp(way: BridgeWay): string {
  if (way.direction === "out")
    return "npm run recover with your key sends the money on to the account, or returns it to your note after the timeout";
  if (way.kind === "from-altchain")
    return "npm run recover with your key burns what is in the deposit account, delivers it and sweeps it into your note, or pays it to your refund address after the timeout";
  return "npm run recover with your key burns, delivers and sweeps the money into your note, or pays it to your refund address after the timeout";
}

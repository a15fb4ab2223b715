/** What a token's own log says of the money that moved. Trusts no token: what it says is compared with the statement. */
import type { Address } from "../../shared/protocol/brands.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import type { Said } from "./case.ts";
import type { Log } from "./node.ts";

/** Between two logs of a transaction, neither included. */
export interface Between {
  readonly from: number;
  readonly until: number;
}

export function isBetween({ logIndex }: Log, { from, until }: Between): boolean {
  return logIndex > from && logIndex < until;
}

/** keccak256 of `Transfer(address,address,uint256)` (EIP-20). */
const TRANSFER = keccakHex(new TextEncoder().encode("Transfer(address,address,uint256)"));

/** What `owner` gained of a token in a part of a transaction. */
export function movedIn(logs: readonly Log[], owner: Address, token: Address, part: Between): bigint {
  const own = toHex(word(BigInt(owner)));
  let moved = 0n;
  for (const log of logs) {
    const [topic, payer, payee] = log.topics;
    if (log.address !== token || topic !== TRANSFER || !isBetween(log, part)) continue;
    const amount = BigInt(log.data === "0x" ? 0 : log.data);
    if (payee === own) moved += amount;
    if (payer === own) moved -= amount;
  }
  return moved;
}

/** What left for claims. */
export function paidTo(claims: readonly Said[], asset: Address): bigint {
  return claims
    .filter(({ event }) => asAddress(event.args["asset"]) === asset)
    .reduce((sum, { event }) => sum + (event.args["amount"] as bigint), 0n);
}

/**
 * A service's answer held against what this wallet computes itself. Nobody is shown an address before; what differs is
 * named, so that whoever runs the service or wrote the pins can tell a mistake from an attack.
 */
import type { BridgeAddress } from "../../api/bridges.ts";
import { ZERO_ADDRESS } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { toHex, word } from "../../protocol/bytes.ts";
import { TIMEOUT_SECS, type Factory } from "../../protocol/host/forwarders.ts";
import { ClientError } from "../base/errors.ts";
import type { BridgeRecord } from "../state/bridge-record.ts";
import type { InPlace, OutPlace, SourcePlace } from "./terms.ts";

/** Of the other blockchain. */
export interface DepositAccount {
  readonly depositKey: string;
  readonly tokenAccount: string;
  readonly mint: string;
}

/** A name, what was said, and what it has to be. */
type Line = readonly [string, unknown, unknown];

/** Throws BRIDGE_ADDRESS_MISMATCH, or FEE_ABOVE_CEILING. */
export function verifyAnswer(
  answer: BridgeAddress,
  record: BridgeRecord,
  place: InPlace | OutPlace,
  factory: Factory,
  account: DepositAccount | undefined,
): void {
  for (const [name, said, computed] of linesOf(answer, record, place, factory, account))
    if (said !== computed) throw new ClientError("BRIDGE_ADDRESS_MISMATCH", name);
  const fees = BigInt(answer.fees.service) + BigInt(answer.fees.developer);
  if (fees > record.feeCeiling) throw new ClientError("FEE_ABOVE_CEILING", "of the bridge address");
}

function* linesOf(
  answer: BridgeAddress,
  record: BridgeRecord,
  place: InPlace | OutPlace,
  factory: Factory,
  account: DepositAccount | undefined,
): Iterable<Line> {
  // Where the money of a source comes from is no part of the request.
  const venue = record.venue === "chain" && record.kind === "in" ? "perpvenue" : record.venue;
  yield ["venue", answer.venue, venue];
  yield ["direction", answer.direction, place.direction];
  yield ["asset", asAddress(answer.asset), record.asset];
  yield ["minimum", answer.minimum, String(record.minimum)];
  yield ["fee_ceiling", answer.fee_ceiling, String(record.feeCeiling)];
  yield ["timeout_secs", answer.timeout_secs, TIMEOUT_SECS];
  yield* termLines(answer, place, factory);
  yield* sourceLines(answer.source, place.direction === "in" ? place.source : undefined);
  yield* accountLines(answer, place, account);
}

function* termLines({ terms }: BridgeAddress, place: InPlace | OutPlace, factory: Factory): Iterable<Line> {
  const { note } = place;
  yield ["terms.factory", asAddress(terms.factory), factory.address];
  yield ["terms.vault_code_hash", terms.vault_code_hash, factory.vaultCodeHash];
  yield ["terms.pool", asAddress(terms.pool), place.terms.pool];
  yield ["terms.npk", terms.npk, toHex(word(note.npk))];
  yield ["terms.ephemeral_key", terms.ephemeral_key, toHex(note.ephemeralKey)];
  yield ["terms.ciphertext", terms.ciphertext.toLowerCase(), toHex(note.ciphertext)];
  if (place.direction === "in") {
    const { collector, refund } = place.terms;
    yield ["terms.collector", asAddress(terms.collector ?? ZERO_ADDRESS), collector];
    yield ["terms.refund_address", asAddress(terms.refund_address), refund];
    yield ["terms.exit", terms.exit, undefined];
  } else {
    const { exit } = place.terms;
    yield ["terms.collector", terms.collector, null];
    yield ["terms.refund_address", terms.refund_address, null];
    yield ["terms.exit.messenger", asAddress(terms.exit?.messenger), exit.messenger];
    yield ["terms.exit.domain", terms.exit?.domain, exit.domain];
    yield ["terms.exit.recipient", terms.exit?.recipient, exit.recipient];
    yield ["terms.exit.caller", terms.exit?.caller, exit.caller];
    yield ["terms.exit.hook", terms.exit?.hook.toLowerCase(), toHex(exit.hook)];
  }
  yield ["terms.salt", terms.salt, place.salt];
}

function* sourceLines(said: BridgeAddress["source"], place: SourcePlace | undefined): Iterable<Line> {
  // A service may be without source chains; what it may not do is to name an address that is not ours.
  if (said === null) return;
  yield ["source", place !== undefined, true];
  if (place === undefined) return;
  const { recipient, refund, lanes } = place.terms;
  yield ["source.recipient", said.recipient, recipient];
  yield ["source.refund_address", asAddress(said.refund_address), refund];
  yield ["source.lanes", said.lanes.length, lanes.length];
  for (const [at, lane] of lanes.entries()) {
    const other = said.lanes[at]!;
    const name = `source.lanes.${at}`;
    yield [`${name}.chain_id`, BigInt(other.chain_id), lane.chainId];
    yield [`${name}.token`, asAddress(other.token), lane.token];
    yield [`${name}.messenger`, asAddress(other.messenger), lane.messenger];
    yield [`${name}.domain`, other.domain, lane.domain];
    yield [`${name}.minimum`, other.minimum, String(lane.minimum)];
    yield [`${name}.fee_ceiling`, other.fee_ceiling, String(lane.feeCeiling)];
  }
  yield ["source.salt", said.salt, place.salt];
  yield ["source.address", asAddress(said.address), place.address];
}

function* accountLines(
  answer: BridgeAddress,
  place: InPlace | OutPlace,
  account: DepositAccount | undefined,
): Iterable<Line> {
  if (account === undefined) {
    yield ["altchain", answer.altchain, null];
    yield ["address", asAddress(answer.address), place.address];
    return;
  }
  const said = answer.altchain;
  yield ["altchain.deposit_key", said?.deposit_key, account.depositKey];
  yield ["altchain.token_account", said?.token_account, account.tokenAccount];
  yield ["altchain.mint", said?.mint, account.mint];
  yield ["altchain.home_address", asAddress(said?.home_address), place.address];
  yield ["address", answer.address, account.depositKey];
}

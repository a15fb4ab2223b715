/** Requests as their owners see them. Everything that an address commits to is in the answer. */
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { BridgeAddress, BridgesInfo } from "../../../shared/api/bridges.ts";
import type { BridgeState } from "../../../shared/api/bridge-status.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import {
  inSalt,
  outSalt,
  paddedAddress,
  sourceSalt,
  TIMEOUT_SECS,
  type Exit,
  type Lane,
} from "../../../shared/protocol/host/forwarders.ts";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { BridgeFees } from "../../base/bridge/bridge-fees.ts";
import { sentTo } from "../../base/bridge/unseen-status.ts";
import type { BridgeSettings } from "../../base/bridge/bridge.settings.ts";
import { laneOf, TOKEN_PROGRAM } from "./terms.ts";

export interface VenueFee {
  readonly chain: string;
  readonly fee: bigint;
  readonly of: string;
}

export class BridgeView {
  readonly #settings: BridgeSettings;

  constructor(settings: BridgeSettings) {
    this.#settings = settings;
  }

  estimatedSecs({ way }: BridgeRecord): number {
    if (way.kind === "from-altchain") return this.#settings.altchain?.estimatedSecs ?? 0;
    if (way.kind === "to-chain")
      return this.#settings.chains.find(({ chainId }) => chainId === way.to.chainId)?.estimatedSecs ?? 0;
    return (
      this.#settings.perpvenue?.estimatedSecs ??
      Math.max(0, ...this.#settings.chains.map((one) => one.estimatedSecs))
    );
  }

  address(
    record: BridgeRecord,
    state: BridgeState,
    fees: BridgeFees,
    venueFees: readonly VenueFee[],
  ): BridgeAddress {
    const { way } = record;
    const { home } = way;
    return {
      bridge_id: record.id,
      venue: way.venue,
      direction: way.direction,
      state,
      address: sentTo(record),
      asset: checksumAddress(home.asset),
      minimum: String(home.minimum),
      fee_ceiling: String(home.feeCeiling),
      timeout_secs: TIMEOUT_SECS,
      fees: { service: String(fees.service), developer: String(fees.developer), capped: fees.isCapped },
      venue_fees: venueFees.map(({ chain, fee, of }) => ({ chain, fee: String(fee), of })),
      terms: { ...termsOf(way), ...factoryOf(this.#settings) },
      source:
        way.kind !== "from-evm" || way.source === undefined
          ? null
          : {
              address: checksumAddress(way.source.address),
              salt: sourceSalt(way.source.terms),
              recipient: way.source.terms.recipient,
              refund_address: checksumAddress(way.source.terms.refund),
              lanes: way.source.terms.lanes.map((lane) => this.#shownLane(lane)),
            },
      altchain:
        way.kind !== "from-altchain"
          ? null
          : {
              deposit_key: way.depositKey,
              token_account: way.tokenAccount,
              mint: this.#settings.altchain?.mint ?? "",
              program: TOKEN_PROGRAM,
              home_address: checksumAddress(record.address),
            },
      estimated_secs: this.estimatedSecs(record),
      watched_until: new Date(record.watchUntil).toISOString(),
      created_at: new Date(record.createdAt).toISOString(),
    };
  }

  info(): BridgesInfo {
    return {
      ...factoryOf(this.#settings),
      collector: checksumAddress(this.#settings.collector),
      timeout_secs: TIMEOUT_SECS,
      assets: this.#settings.assets.map(({ asset, ...bounds }) => ({
        asset: checksumAddress(asset),
        ...shownBounds(bounds),
      })),
      perpvenue:
        this.#settings.perpvenue === undefined ? null : shownVenue(this.#settings, this.#settings.perpvenue),
      chains: this.#settings.chains.map((chain) => ({
        ...this.#shownLane(laneOf(chain, this.#settings.home.domain)),
        estimated_secs: chain.estimatedSecs,
        exit:
          chain.exit === undefined
            ? null
            : {
                messenger: checksumAddress(this.#settings.home.messenger),
                domain: chain.domain,
                ...shownBounds(chain.exit),
              },
      })),
      altchain:
        this.#settings.altchain === undefined
          ? null
          : {
              mint: this.#settings.altchain.mint,
              decimals: this.#settings.altchain.decimals,
              program: TOKEN_PROGRAM,
              domain: this.#settings.home.domain,
              ...shownBounds(this.#settings.altchain),
              estimated_secs: this.#settings.altchain.estimatedSecs,
            },
    };
  }

  #nameOf(chainId: bigint): string {
    return (
      this.#settings.chains.find((one) => BigInt(one.chainId) === chainId)?.name ?? `chain-${String(chainId)}`
    );
  }

  #shownLane(lane: Lane) {
    return {
      name: this.#nameOf(lane.chainId),
      chain_id: Number(lane.chainId),
      token: checksumAddress(lane.token),
      messenger: checksumAddress(lane.messenger),
      domain: lane.domain,
      minimum: String(lane.minimum),
      fee_ceiling: String(lane.feeCeiling),
    };
  }
}

const factoryOf = ({ factory, vaultCodeHash }: BridgeSettings) => ({
  factory: checksumAddress(factory),
  vault_code_hash: vaultCodeHash,
});

const shownBounds = ({ minimum, feeCeiling }: { readonly minimum: bigint; readonly feeCeiling: bigint }) => ({
  minimum: String(minimum),
  fee_ceiling: String(feeCeiling),
});

function shownVenue({ home }: BridgeSettings, venue: NonNullable<BridgeSettings["perpvenue"]>) {
  return {
    messenger: checksumAddress(home.messenger),
    domain: venue.exit.domain,
    caller: paddedAddress(venue.exit.forwarder),
    ...shownBounds(venue),
    estimated_secs: venue.estimatedSecs,
  };
}

function termsOf(way: BridgeRecord["way"]) {
  const receiver = way.direction === "in" ? way.home.receiver : way.home.refund;
  const note = {
    pool: checksumAddress(way.home.pool),
    npk: toHex(word(receiver.npk)),
    ephemeral_key: toHex(receiver.ephemeralKey),
    ciphertext: toHex(receiver.ciphertext),
  };
  if (way.direction === "out")
    return {
      ...note,
      salt: outSalt(way.home),
      ...{ collector: null, refund_address: null, exit: shownExit(way.home.exit) },
    };
  return {
    ...note,
    salt: inSalt(way.home),
    collector: checksumAddress(way.home.collector),
    refund_address: checksumAddress(way.home.refund),
  };
}

const shownExit = ({ messenger, domain, recipient, caller, hook }: Exit) => ({
  ...{ messenger: checksumAddress(messenger), domain, recipient, caller },
  hook: toHex(hook),
});

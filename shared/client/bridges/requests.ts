/**
 * What became of an address: the service's word, and what this wallet sees itself. A `completed` that is not borne out by a
 * note in the wallet is no end.
 */
import type { BridgeStatus } from "../../api/bridge-status.ts";
import { checksumAddress } from "../../api/checksum.ts";
import { DepositKey } from "../../notes/bridge-keys.ts";
import { paddedAddress, type Factory } from "../../protocol/host/forwarders.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { delay } from "../base/aborting.ts";
import type { Core } from "../paying/core.ts";
import { ClientError, hasCode } from "../base/errors.ts";
import { bridgePinsOf, factoryOf } from "./bridge-pins.ts";
import { ENDED, type BridgeEntry, type BridgeProgress, type BridgeWaitOptions } from "./bridges.ts";
import { signBurn, type BurnTerms } from "./burn.ts";
import { mustForeignKey, tokenAccountOf } from "./deposit-account.ts";
import type { BridgeRecord } from "../state/bridge-record.ts";
import { placeOf, type InPlace, type OutPlace } from "./terms.ts";
import type { DepositAccount } from "./verifying.ts";
import { bridgeStatusText } from "./status-text.ts";

/** The stream may go quiet without closing; after this long we ask. */
const POLL_MS = 15_000;
/** From the service's `completed` until this wallet has read the note. */
const DELIVERY_MS = 120_000;

/** A record that the service has answered. */
export type Known = BridgeRecord & { readonly bridgeId: string };

export class Requests {
  readonly factory: Factory;
  readonly #core: Core;
  readonly #places = new Map<BridgeRecord, InPlace | OutPlace>();

  constructor(core: Core) {
    this.#core = core;
    this.factory = factoryOf(bridgePinsOf(core.parts.pins));
  }

  placeOf(record: BridgeRecord): InPlace | OutPlace {
    const { keys, home } = this.#core.parts;
    const place =
      this.#places.get(record) ?? placeOf({ keys: keys.viewing, home, factory: this.factory }, record);
    this.#places.set(record, place);
    return place;
  }

  account(record: BridgeRecord): DepositAccount {
    const { altchain } = bridgePinsOf(this.#core.parts.pins);
    if (altchain === undefined) throw new ClientError("FEATURE_OFF", "bridges: pins.bridges has no altchain");
    const key = new DepositKey(this.#core.parts.keys, record.index);
    const { mint } = altchain;
    return {
      depositKey: key.text,
      mint,
      tokenAccount: tokenAccountOf(key.publicKey, mustForeignKey(mint)),
    };
  }

  /** Throws BRIDGE_UNKNOWN. */
  find(idOrAddress: string): Known {
    const isIt = (record: BridgeRecord): record is Known =>
      record.bridgeId !== undefined &&
      (record.bridgeId === idOrAddress || this.#addressesOf(record).includes(plain(idOrAddress)));
    const found = [...this.#core.parts.ledger.state.bridges.values()].find(isIt);
    if (found === undefined) throw new ClientError("BRIDGE_UNKNOWN");
    return found;
  }

  #addressesOf(record: BridgeRecord): string[] {
    const place = this.placeOf(record);
    if (record.kind === "altchain") {
      const { depositKey, tokenAccount } = this.account(record);
      return [place.address, depositKey, tokenAccount];
    }
    return place.direction === "in" && place.source !== undefined
      ? [place.address, place.source.address]
      : [place.address];
  }

  entry(record: BridgeRecord): BridgeEntry {
    const place = this.placeOf(record);
    const isForeign = record.kind === "altchain";
    const source = place.direction === "in" ? place.source : undefined;
    return {
      ...{ bridgeId: record.bridgeId, venue: record.venue, direction: place.direction },
      address: isForeign ? this.account(record).depositKey : checksumAddress(place.address),
      source: source === undefined ? undefined : checksumAddress(source.address),
      ...{ asset: checksumAddress(record.asset), createdAt: record.createdAt },
      inWallet: this.inWallet(record),
    };
  }

  /** By the blinding, which nobody but this wallet can give a note. */
  inWallet(record: BridgeRecord): bigint {
    const { blinding } = this.placeOf(record).note;
    const notes = [...this.#core.parts.ledger.state.notes.values()];
    const own = notes.filter(
      (note) => note.blinding === blinding && note.asset === record.asset && note.voided === undefined,
    );
    return own.reduce((sum, { value }) => sum + value, 0n);
  }

  async status(record: Known, signal: AbortSignal): Promise<BridgeProgress> {
    const status = await this.#core.parts.client.bridgeStatus({ id: record.bridgeId }, { signal });
    return this.#progress(record, status);
  }

  #progress(record: Known, status: BridgeStatus): BridgeProgress {
    if (status.bridge_id !== record.bridgeId)
      throw new ClientError("UNEXPECTED_ANSWER", "the status of another request");
    return { ...status, inWallet: this.inWallet(record) };
  }

  /** Returns the status behind the signature. */
  async sign(record: Known, status: BridgeProgress, signal: AbortSignal): Promise<BridgeProgress> {
    const { client, keys } = this.#core.parts;
    if (record.kind !== "altchain" || status.sign === null)
      throw new ClientError("BRIDGE_FAILED", `nothing is to be signed: ${status.state}`);
    const key = new DepositKey(keys, record.index);
    const transaction = signBurn(status.sign.transaction, key, this.burnTerms(record));
    try {
      const answer = await client.bridgeDeposit({ bridge_id: record.bridgeId, transaction }, { signal });
      if ("terms" in answer)
        throw new ClientError("UNEXPECTED_ANSWER", "an address where a status was asked for");
      return this.#progress(record, answer);
    } catch (error) {
      // Another device of the same key was first.
      if (hasCode(error, "BRIDGE_STATE")) return this.status(record, signal);
      throw error;
    }
  }

  burnTerms(record: Known): BurnTerms {
    const { decimals, domain } = bridgePinsOf(this.#core.parts.pins).altchain!;
    const { mint, tokenAccount } = this.account(record);
    const recipient = paddedAddress(this.placeOf(record).address);
    const { minimum, feeCeiling } = record;
    return { tokenAccount, mint, decimals, domain, recipient, minimum, feeCeiling };
  }

  async wait(record: Known, options: BridgeWaitOptions, signal: AbortSignal): Promise<BridgeProgress> {
    const { until = "completed", onStatus } = options;
    const { feed } = this.#core.parts.ledger;
    const had = this.inWallet(record);
    const { bridgeId } = record;
    const signed = new Set<string>();
    let failure: { readonly error: unknown } | undefined;
    const release = feed.hold((error) => (failure = { error }));
    if (!feed.bridges.has(bridgeId)) feed.bridges.set(bridgeId, undefined);
    try {
      await feed.opened({ signal });
      for (let status = await this.status(record, signal); ;) {
        tell(onStatus, status);
        if (this.#hasCome(record, had)) return status;
        if (until === "detected" && status.state !== "awaiting_funds") return status;
        if (status.state === "completed") return await this.#borneOut(record, status, signal);
        if (ENDED.has(status.state)) throw new ClientError("BRIDGE_FAILED", bridgeStatusText(status));
        if (failure !== undefined) throw failure.error;
        const task = status.sign?.transaction;
        if (record.kind === "altchain" && task !== undefined && !signed.has(task)) {
          signed.add(task);
          status = await this.sign(record, status, signal);
        } else status = await this.#changed(record, status, had, signal);
      }
    } finally {
      feed.bridges.delete(bridgeId);
      release();
    }
  }

  /** Its own note says more than any status. Money that leaves is never seen by the wallet. */
  #hasCome(record: BridgeRecord, had: bigint): boolean {
    return record.kind !== "out" && this.inWallet(record) > had;
  }

  async #borneOut(record: Known, status: BridgeProgress, signal: AbortSignal): Promise<BridgeProgress> {
    if (record.kind === "out") return status;
    const { feed } = this.#core.parts.ledger;
    const credited = BigInt(status.credited);
    const isHere = (): boolean => credited > 0n && this.inWallet(record) >= credited;
    try {
      await feed.until(isHere, { signal, timeoutMs: DELIVERY_MS });
    } catch (error) {
      if (hasCode(error, "TIMED_OUT")) throw new ClientError("BRIDGE_UNPROVEN", `bridge ${record.bridgeId}`);
      throw error;
    }
    return { ...status, inWallet: this.inWallet(record) };
  }

  async #changed(
    record: Known,
    last: BridgeProgress,
    had: bigint,
    signal: AbortSignal,
  ): Promise<BridgeProgress> {
    const { feed } = this.#core.parts.ledger;
    const seen = (): BridgeStatus | undefined => feed.bridges.get(record.bridgeId);
    const before = textOf(last);
    const differs = (): boolean => {
      const status = seen();
      return (status !== undefined && textOf(status) !== before) || this.#hasCome(record, had);
    };
    try {
      await feed.until(differs, { signal, timeoutMs: POLL_MS });
      return this.#progress(record, seen() ?? last);
    } catch (error) {
      if (!hasCode(error, "TIMED_OUT")) throw error;
      await delay(0, signal);
      return this.status(record, signal);
    }
  }
}

function textOf(status: BridgeStatus & { readonly inWallet?: bigint }): string {
  const { inWallet: _own, ...said } = status;
  return JSON.stringify(said);
}

function plain(address: string): string {
  return asAddress(address) ?? address;
}

/** In a turn of its own: a caller's listener that throws must not end the wait. */
function tell(listener: BridgeWaitOptions["onStatus"], status: BridgeProgress): void {
  if (listener !== undefined) queueMicrotask(() => listener(status));
}

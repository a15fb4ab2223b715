/**
 * The wallet's bridges at work. An address is taken into the storage, asked for, computed again, and only then shown; what
 * became of it is asked of the service and held against the wallet's own notes.
 */
// Loaded later: where a bundler shares schemas with the first load, this stands before them there, too.
import type { BridgeAddress } from "../../api/bridges.ts";
import { checksumAddress } from "../../api/checksum.ts";
import { DepositKey, type BridgeKind, type RefundKey } from "../../notes/bridge-keys.ts";
import type { Address } from "../../protocol/brands.ts";
import { toHex, word } from "../../protocol/bytes.ts";
import { TIMEOUT_SECS } from "../../protocol/host/forwarders.ts";
import type { Core } from "../paying/core.ts";
import { requireAmount } from "../paying/core.ts";
import { ClientError } from "../base/errors.ts";
import { Operation } from "../paying/operation.ts";
import { requireAddress } from "../base/pins.ts";
import type { Spending } from "../paying/spending.ts";
import { amountPinsOf, bridgePinsOf, chainExit, lanesOf, venueExit } from "./bridge-pins.ts";
import type { AmountPins } from "../base/pinned-bridges.ts";
import type {
  BridgeDeposit,
  BridgeEntry,
  BridgeExit,
  BridgeHints,
  BridgeInOptions,
  BridgeOutOptions,
  BridgeProgress,
  Bridges,
  BridgeWaitOptions,
  BridgeWithdrawal,
  BridgeWithdrawOptions,
} from "./bridges.ts";
import { findKnown } from "./finding.ts";
import { nextNumber } from "./numbers.ts";
import type { BridgeRecord, InRecord } from "../state/bridge-record.ts";
import {
  numbered,
  refundKeyAt,
  refundKeyOf,
  type Unnumbered,
  type UnnumberedIn,
  type UnnumberedOut,
} from "./refunds.ts";
import { Requests } from "./requests.ts";
import type { InPlace, OutPlace } from "./terms.ts";
import { verifyAnswer } from "./verifying.ts";
import type { WaitOptions } from "../service/feed.ts";

export class LiveBridges implements Bridges {
  readonly #core: Core;
  readonly #spending: Spending;
  readonly #requests: Requests;

  /** Throws FEATURE_OFF where nothing is pinned. */
  constructor(core: Core, spending: Spending) {
    this.#core = core;
    this.#spending = spending;
    this.#requests = new Requests(core);
  }

  fromExchange(options: BridgeInOptions = {}): Promise<BridgeDeposit> {
    return this.#in(this.inRecord("in", "perpvenue", options), options);
  }

  async fromChain(options: BridgeInOptions = {}): Promise<BridgeDeposit> {
    const record = this.inRecord("in", "chain", options);
    if (record.lanes.length === 0)
      throw new ClientError("FEATURE_OFF", "bridges: pins.bridges.lanes is empty");
    const made = await this.#in(record, options);
    if (made.source === undefined) throw new ClientError("FEATURE_OFF", "bridges: no source chain here");
    return made;
  }

  fromOtherBlockchain(options: BridgeInOptions = {}): Promise<BridgeDeposit> {
    if (bridgePinsOf(this.#core.parts.pins).altchain === undefined)
      throw new ClientError("FEATURE_OFF", "bridges: pins.bridges has no altchain");
    return this.#in(this.inRecord("altchain", "altchain", options), options);
  }

  toExchange(account: string, options: BridgeOutOptions = {}): Promise<BridgeExit> {
    return this.#out(this.outRecord(account, undefined, options.asset), options);
  }

  toChain(chainId: number, recipient: string, options: BridgeOutOptions = {}): Promise<BridgeExit> {
    return this.#out(this.outRecord(recipient, chainId, options.asset), options);
  }

  withdrawToExchange(
    account: string,
    amount: bigint,
    options: BridgeWithdrawOptions = {},
  ): Promise<BridgeWithdrawal> {
    return this.#withdraw(this.outRecord(account, undefined, options.asset), amount, options);
  }

  withdrawToChain(
    chainId: number,
    recipient: string,
    amount: bigint,
    options: BridgeWithdrawOptions = {},
  ): Promise<BridgeWithdrawal> {
    return this.#withdraw(this.outRecord(recipient, chainId, options.asset), amount, options);
  }

  status(idOrAddress: string, options: WaitOptions = {}): Promise<BridgeProgress> {
    return Operation.run(options, (call) =>
      this.#requests.status(this.#requests.find(idOrAddress), call.signal),
    );
  }

  wait(idOrAddress: string, options: BridgeWaitOptions = {}): Promise<BridgeProgress> {
    return Operation.run({ signal: options.signal, timeoutMs: options.timeoutMs }, (call) =>
      this.#requests.wait(this.#requests.find(idOrAddress), options, call.signal),
    );
  }

  sign(idOrAddress: string, options: WaitOptions = {}): Promise<BridgeProgress> {
    return Operation.run(options, async (call) => {
      const known = this.#requests.find(idOrAddress);
      return this.#requests.sign(known, await this.#requests.status(known, call.signal), call.signal);
    });
  }

  async list(): Promise<BridgeEntry[]> {
    return [...this.#core.parts.ledger.state.bridges.values()].map((record) => this.#requests.entry(record));
  }

  async refundKey(address: string): Promise<RefundKey> {
    const { keys, ledger } = this.#core.parts;
    return (
      refundKeyAt(keys, ledger.state.bridges.values(), address) ??
      refundKeyOf(keys, this.#requests.find(address))
    );
  }

  find(hints: BridgeHints = {}): Promise<BridgeEntry[]> {
    return Operation.run(hints, async (call) => {
      await this.#core.checkService(call);
      await this.#core.parts.ledger.sync(call);
      const found = await findKnown(this.#core, this.#requests, this, hints, call.signal);
      return found.map((record) => this.#requests.entry(record));
    });
  }

  // ---------------------------------------------------------------- what an address is made of

  inRecord(
    kind: "in" | "altchain",
    venue: InRecord["venue"],
    { refundAddress, asset: name }: Pick<BridgeInOptions, "refundAddress" | "asset">,
  ): UnnumberedIn {
    const pins = bridgePinsOf(this.#core.parts.pins);
    const asset = this.#core.asset(name);
    const refund = refundAddress === undefined ? undefined : requireAddress(refundAddress, "refundAddress");
    if (refund !== undefined && BigInt(refund) === 0n)
      throw new ClientError("ADDRESS_INVALID", "refundAddress: nobody has that address");
    const { minimum, feeCeiling } = amountPinsOf(pins, asset);
    const collector = requireAddress(pins.collector, "pins.bridges.collector");
    const lanes = kind === "in" ? lanesOf(pins) : [];
    return { kind, venue, asset, minimum, feeCeiling, collector, refund, lanes };
  }

  /** To the exchange without a chain. */
  outRecord(to: string, chainId: number | undefined, name: string | undefined): UnnumberedOut {
    const pins = bridgePinsOf(this.#core.parts.pins);
    const asset = this.#core.asset(name);
    const payee = requireAddress(to, chainId === undefined ? "account" : "recipient");
    if (BigInt(payee) === 0n) throw new ClientError("ADDRESS_INVALID", "nobody has that address");
    const { minimum, feeCeiling, ...exit } =
      chainId === undefined ? venueExit(pins, payee) : chainExit(pins, chainId, payee);
    const venue = chainId === undefined ? "perpvenue" : "chain";
    return { ...{ kind: "out", venue, asset, minimum, feeCeiling, payee, chainId, exit } };
  }

  // ---------------------------------------------------------------- how it comes about

  async #in(unnumbered: UnnumberedIn, options: BridgeInOptions): Promise<BridgeDeposit> {
    return Operation.run(options, async (call) => {
      const { record, place, answer } = await this.#make(unnumbered, call);
      if (place.direction !== "in") throw new TypeError("an address of the other direction");
      const { source } = place;
      return {
        ...shown(answer, record),
        address: answer.altchain === null ? checksumAddress(place.address) : answer.altchain.deposit_key,
        refundAddress: checksumAddress(place.terms.refund),
        source:
          answer.source === null || source === undefined
            ? undefined
            : {
                address: checksumAddress(source.address),
                chainIds: source.terms.lanes.map(({ chainId }) => Number(chainId)),
              },
        tokenAccount: answer.altchain?.token_account,
      };
    });
  }

  async #out(unnumbered: UnnumberedOut, options: BridgeOutOptions): Promise<BridgeExit> {
    const { signal, timeoutMs, progress } = options;
    const running = { signal, timeoutMs, ...(progress === undefined ? {} : { progress }) };
    return Operation.run(running, async (call) => {
      const { record, place, answer } = await this.#make(unnumbered, call);
      const { payee, chainId } = unnumbered;
      return {
        ...shown(answer, record),
        address: checksumAddress(place.address),
        payee: checksumAddress(payee),
        chainId,
      };
    });
  }

  async #make(
    unnumbered: Unnumbered,
    call: Operation,
  ): Promise<{ record: BridgeRecord; place: InPlace | OutPlace; answer: BridgeAddress }> {
    const { ledger, keys, now } = this.#core.parts;
    const record = await call.step("prepare", async () => {
      if (!(await this.#core.isOffered("bridges", call))) throw new ClientError("FEATURE_OFF", "bridges");
      // What has come to this key is known first: a number that was used before a restore is not used again.
      await ledger.sync(call);
      const { kind, asset } = unnumbered;
      return ledger.takeBridge((state) =>
        numbered(keys, unnumbered, nextNumber(state, keys.viewing, kind, asset, now()), now()),
      );
    });
    const place = this.#requests.placeOf(record);
    const answer = await call.step("submit", () => this.#ask(record, place, call.signal));
    const account = record.kind === "altchain" ? this.#requests.account(record) : undefined;
    verifyAnswer(answer, record, place, this.#requests.factory, account);
    const kept = { ...record, bridgeId: answer.bridge_id };
    await ledger.keepBridge(kept);
    return { record: kept, place, answer };
  }

  async #ask(record: BridgeRecord, place: InPlace | OutPlace, signal: AbortSignal): Promise<BridgeAddress> {
    const { client, keys } = this.#core.parts;
    const { npk, ephemeralKey, ciphertext } = place.note;
    const note = {
      npk: toHex(word(npk)),
      ephemeral_key: toHex(ephemeralKey),
      ciphertext: toHex(ciphertext),
    };
    if (record.kind === "out") {
      const { payee, chainId } = record;
      const to = checksumAddress(payee);
      return chainId === undefined
        ? client.bridgeOut({ ...note, account: to }, { signal })
        : client.bridgeOut({ ...note, to: { chain_id: chainId, recipient: to } }, { signal });
    }
    const refund_address = checksumAddress(record.refund);
    const asset = checksumAddress(record.asset);
    if (record.kind === "in") return client.bridgeIn({ ...note, asset, refund_address }, { signal });
    const deposit_key = new DepositKey(keys, record.index).text;
    const answer = await client.bridgeDeposit({ ...note, deposit_key, refund_address }, { signal });
    if (!("terms" in answer))
      throw new ClientError("UNEXPECTED_ANSWER", "a status where an address was asked for");
    return answer;
  }

  async #withdraw(
    unnumbered: UnnumberedOut,
    amount: bigint,
    options: BridgeWithdrawOptions,
  ): Promise<BridgeWithdrawal> {
    requireAmount(amount);
    requireAbove(amount, unnumbered);
    const { until = "completed", onStatus, timeoutMs, ...paying } = options;
    const ends = timeoutMs === undefined ? undefined : performance.now() + timeoutMs;
    const left = (): { timeoutMs?: number } =>
      ends === undefined ? {} : { timeoutMs: Math.max(0, ends - performance.now()) };
    const { signal, asset } = options;
    const bridge = await this.#out(unnumbered, { signal, ...left() });
    const recipient = bridge.address.toLowerCase() as Address;
    const withdrawal = { type: "withdraw", recipient, value: amount } as const;
    const { asset: _named, ...spending } = paying;
    const payment = await this.#spending.pay(withdrawal, {
      ...{ ...spending, ...left() },
      ...(asset === undefined ? {} : { asset }),
    });
    if (until === "sent") return { ...payment, bridge, status: undefined };
    const waiting = { signal, ...left(), ...(onStatus === undefined ? {} : { onStatus }) };
    return { ...payment, bridge, status: await this.wait(bridge.bridgeId, waiting) };
  }
}

/** Before an address is made for it: what is below the minimum would wait for the time-out and come back. */
function requireAbove(amount: bigint, { minimum }: AmountPins): void {
  if (amount < minimum) throw new ClientError("AMOUNT_INVALID", `below the exit's minimum of ${minimum}`);
}

function shown(answer: BridgeAddress, record: BridgeRecord) {
  const { fees, venue_fees } = answer;
  return {
    bridgeId: answer.bridge_id,
    asset: checksumAddress(record.asset),
    minimum: record.minimum,
    feeCeiling: record.feeCeiling,
    fees: { service: BigInt(fees.service), developer: BigInt(fees.developer) },
    venueFees: venue_fees.map(({ chain, fee, of }) => ({ chain, fee: BigInt(fee), of })),
    timeoutSecs: TIMEOUT_SECS,
    estimatedSecs: answer.estimated_secs,
    watchedUntil: answer.watched_until,
  };
}

/** For who looks for addresses of every kind. */
export const KINDS: readonly BridgeKind[] = ["in", "out", "altchain"];

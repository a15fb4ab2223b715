/**
 * Bridge requests: terms are put together from the settings and the caller's own keys, the address follows from them,
 * and what becomes of it is what the relay tells. Nothing here holds a key, and no state is kept but the request itself.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuid } from "uuid";
import type {
  BridgeAddress,
  BridgeDepositRequest,
  BridgeInRequest,
  BridgeOutRequest,
} from "../../../shared/api/bridges.ts";
import type { BridgeStatus } from "../../../shared/api/bridge-status.ts";
import { mustField, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { isOfLowOrder } from "../../../shared/notes/address.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import type { Receiver } from "../../../shared/protocol/host/forwarders.ts";
import type { Pool } from "../../base/chain/pool.ts";
import { orUnavailable } from "../../base/chain/unavailable.ts";
import type { Fees } from "../fees/fee-rules.ts";
import { ApiError } from "../../base/http/errors.ts";
import { invalidField } from "../../base/http/parse.ts";
import { refuseSwitchedOff } from "../../base/http/routes.ts";
import type { Owner } from "../../base/http/state.ts";
import { maySee } from "../payments/tickets.ts";
import type { Finding } from "../status/status.service.ts";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { BridgeStore, Opening } from "../../base/store/bridges.ts";
import type { RelayStore, SignedOutcome } from "../../base/store/relay.ts";
import { bridgeFees, type BridgeFees } from "../../base/bridge/bridge-fees.ts";
import { unseenStatus } from "../../base/bridge/unseen-status.ts";
import type { BridgeSettings } from "../../base/bridge/bridge.settings.ts";
import type { BridgeView, VenueFee } from "./bridge.view.ts";
import { ExchangeUnreachable, isTaken, type Exchange } from "../../base/bridge/exchange.ts";
import type { Planned, Terms } from "./terms.ts";

export interface BridgesParts {
  readonly settings: BridgeSettings;
  readonly terms: Terms;
  readonly view: BridgeView;
  readonly store: BridgeStore;
  readonly relay: Pick<RelayStore, "told" | "standing" | "sign" | "signed" | "follow">;
  readonly pool: Pick<Pool, "isAsset">;
  readonly fees: Pick<Fees, "rulesFor">;
  /** Undefined where none is configured. */
  readonly exchange: Exchange | undefined;
  /** What the ways take, as far as it is known now. */
  readonly venueFees: (record: BridgeRecord) => Promise<readonly VenueFee[]>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const DAY_MS = 86_400_000;
const FULL_RETRY_SECS = 3_600;
const VENUE_RETRY_SECS = 15;
/** How long a caller waits for what the relay says of a signed burn, and how often it is looked for. */
const ANSWER_MS = 10_000;
const LOOK_MS = 100;
/** A relay that has said nothing for so long is told of: it does so every few seconds. */
const SILENT_MS = 30_000;
const WHOSE = { user: "yours", developer: "your developer", instance: "this instance" } as const;
const NO_FEES: BridgeFees = { service: 0n, developer: 0n, isCapped: false };
export interface Made {
  readonly isNew: boolean;
  readonly address: BridgeAddress;
}

export class Bridges {
  readonly #parts: BridgesParts;

  constructor(parts: BridgesParts) {
    this.#parts = parts;
  }

  async fromEvm(owner: Owner, request: BridgeInRequest): Promise<Made> {
    const asset = request.asset === undefined ? this.#parts.terms.first : addressOf(request.asset, "asset");
    const planned = this.#parts.terms.fromEvm(
      asset,
      receiverOf(request),
      this.#payeeOf(request.refund_address, "refund_address"),
    );
    if (planned === undefined) throw unsupported();
    return this.#make(owner, planned);
  }

  async toOutside(owner: Owner, request: BridgeOutRequest): Promise<Made> {
    const refund = receiverOf(request);
    if ("account" in request) {
      const account = addressOf(request.account, "account");
      const planned = this.#parts.terms.toExchange(account, refund);
      if (planned === undefined) refuseSwitchedOff("FEATURE_DISABLED");
      await this.#requireAccount(account);
      return this.#make(owner, planned);
    }
    const { chain_id, recipient } = request.to;
    const planned = this.#parts.terms.toChain(chain_id, this.#payeeOf(recipient, "to.recipient"), refund);
    if (planned === undefined)
      throw invalidField(
        "to.chain_id",
        "is no chain that this instance withdraws to; see `bridges` in GET /info",
      );
    return this.#make(owner, planned);
  }

  async fromAltchain(
    owner: Owner,
    request: Extract<BridgeDepositRequest, { deposit_key: string }>,
  ): Promise<Made> {
    const { altchain } = this.#parts.settings;
    if (altchain === undefined) refuseSwitchedOff("FEATURE_DISABLED");
    const refund = this.#payeeOf(request.refund_address, "refund_address");
    const planned = await this.#parts.terms.fromAltchain(
      altchain.mint,
      receiverOf(request),
      request.deposit_key,
      refund,
    );
    if (planned === undefined) throw invalidField("deposit_key", "is no public key of the other blockchain");
    return this.#make(owner, planned);
  }

  /** The signature that the status asked for. */
  async signed(
    owner: Owner,
    { bridge_id, transaction }: Extract<BridgeDepositRequest, { bridge_id: string }>,
  ): Promise<BridgeStatus> {
    if (this.#parts.settings.altchain === undefined) refuseSwitchedOff("FEATURE_DISABLED");
    const named = await this.#find(owner, { id: bridge_id });
    const { record } = this.#opened(await this.#watched(named));
    await this.#parts.relay.sign(record.id, transaction);
    switch (await this.#answerOf(record.id, transaction)) {
      case "sent":
        break;
      case "refused":
        throw new ApiError(
          "BRIDGE_STATE",
          "this request does not wait for that signature (any more); see its status",
        );
      case "away":
      case undefined:
        throw new ApiError(
          "VENUE_UNAVAILABLE",
          "the other blockchain did not take the burn yet; ask for its status",
          { retryAfterSecs: VENUE_RETRY_SECS },
        );
    }
    return this.statusOf(record);
  }

  async status(
    owner: Owner,
    named: { readonly id?: string | undefined; readonly address?: string | undefined },
  ): Promise<BridgeStatus> {
    const record = await this.#find(owner, named);
    const opening = await this.#watched(record);
    if (opening.kind !== "full") return this.statusOf(opening.record);
    const text = `nobody looks at its chains now, since as many addresses of ${WHOSE[opening.of]} as are allowed are watched`;
    const next = { text: "ask again, or look at the chains yourself", by: null };
    return { ...(await this.statusOf(record)), reason: { code: "NOT_WATCHED", text }, next };
  }

  /** As the relay told of it last. Its watch is prolonged by asking, of which the relay need not say anything. */
  async statusOf(record: BridgeRecord): Promise<BridgeStatus> {
    const [told] = await this.#parts.relay.told([record.id]);
    const unseen = unseenStatus(record);
    return { ...(told ?? unseen), watched_until: unseen.watched_until };
  }

  /** Open requests that a principal may see, in order of their making. */
  openOf(owner: Owner) {
    return this.#parts.store.openOf(owner.developerId, owner.sub);
  }

  /** Of whatever changed, here or at another proxy, on the chains or in the store. */
  onChange(listener: (record: BridgeRecord) => void): () => void {
    const stopStore = this.#parts.store.follow(listener);
    const tell = (id: string): void =>
      void this.#parts.store.get(id).then(
        (record) => {
          if (record !== undefined) listener(record);
        },
        // What cannot be read now is told with the next change, and stands in the status.
        () => undefined,
      );
    const stopRelay = this.#parts.relay.follow({
      told: (ids) => ids.forEach(tell),
      // Whoever follows the requests is then told of every open one.
      missed: () => undefined,
    });
    return () => {
      stopStore();
      stopRelay();
    };
  }

  info() {
    return this.#parts.view.info();
  }

  /** As its own part of health: payments do not wait for it. */
  async health(): Promise<Finding> {
    const standing = await this.#parts.relay.standing();
    if (standing === undefined) return { state: "degraded", ageMs: 0, detail: "no relay has run yet" };
    const ageMs = Math.max(0, this.#parts.now() - standing.at);
    if (ageMs > SILENT_MS) return { state: "degraded", ageMs, detail: "the relay says nothing" };
    const away = standing.unreachable;
    if (away.length === 0) return { state: "ok", ageMs };
    return { state: "degraded", ageMs, detail: `no answer from ${away.join(", ")}` };
  }

  /** One who can be paid. An account on the exchange is asked for there. */
  #payeeOf(text: string, path: string): Address {
    const address = addressOf(text, path);
    if (this.#parts.terms.isDeadEnd(address))
      throw invalidField(
        path,
        "is a contract of the service, of a token or of a bridge: what it is paid is lost",
      );
    return address;
  }

  #watchUntil(now: number): number {
    return now + this.#parts.settings.limits.watchDays * DAY_MS;
  }

  async #make(owner: Owner, planned: Planned): Promise<Made> {
    const { asset } = planned.way.home;
    if (!(await orUnavailable(this.#parts.pool.isAsset(asset)))) throw unsupported();
    const standing = await this.#parts.relay.standing();
    const now = this.#parts.now();
    const draft: BridgeRecord = {
      ...{ id: uuid(), owner, ...planned },
      ...{ since: { ...standing?.heads }, createdAt: now, watchUntil: this.#watchUntil(now) },
    };
    const opening = this.#opened(await this.#parts.store.make(draft, this.#parts.settings.limits));
    const { record } = opening;
    const [taken, estimates] = await Promise.all([this.#feesOf(record), this.#parts.venueFees(record)]);
    const { state } = await this.statusOf(record);
    return {
      isNew: opening.kind === "new",
      address: this.#parts.view.address(record, state, taken, estimates),
    };
  }

  async #feesOf({ owner, way }: BridgeRecord): Promise<BridgeFees> {
    if (way.direction === "out") return NO_FEES;
    const { asset, minimum, feeCeiling } = way.home;
    return bridgeFees(
      await this.#parts.fees.rulesFor(owner.developerId, asset, "deposit"),
      minimum,
      feeCeiling,
    );
  }

  #opened(opening: Opening): Exclude<Opening, { kind: "full" }> {
    if (opening.kind !== "full") return opening;
    const text = `as many bridge addresses of ${WHOSE[opening.of]} as are allowed are open`;
    throw new ApiError("BRIDGES_FULL", text, { retryAfterSecs: FULL_RETRY_SECS });
  }

  /** Throws BRIDGE_UNKNOWN, also for a request of somebody else. */
  async #find(
    owner: Owner,
    named: { readonly id?: string | undefined; readonly address?: string | undefined },
  ) {
    const found =
      named.id === undefined
        ? await this.#parts.store.atAddress(owner.developerId, named.address ?? "")
        : [await this.#parts.store.get(named.id)].filter((record) => record !== undefined);
    const record = found.findLast((one) => maySee(owner, one));
    if (record === undefined)
      throw new ApiError("BRIDGE_UNKNOWN", "no bridge request of yours has this id or address");
    return record;
  }

  /** Looking at a request that is closed takes it up again. */
  async #watched(record: BridgeRecord): Promise<Opening> {
    if (record.closedAt === undefined) return { kind: "same", record };
    return this.#parts.store.takeUp(
      record.id,
      this.#watchUntil(this.#parts.now()),
      this.#parts.settings.limits,
    );
  }

  async #requireAccount(account: Address): Promise<void> {
    const { exchange, settings } = this.#parts;
    if (exchange === undefined || settings.perpvenue === undefined) refuseSwitchedOff("FEATURE_DISABLED");
    const { chain, exit } = settings.perpvenue;
    // Contracts there, which refuse money for themselves or could never give it back.
    const contracts = [chain.token, chain.transmitter, chain.messenger, exit.forwarder];
    let isKnown: boolean;
    try {
      isKnown = !contracts.includes(account) && (await isTaken(exchange, account));
    } catch (cause) {
      if (!(cause instanceof ExchangeUnreachable)) throw cause;
      throw new ApiError("VENUE_UNAVAILABLE", "the exchange cannot be asked at the moment", {
        retryAfterSecs: VENUE_RETRY_SECS,
        cause,
      });
    }
    if (!isKnown)
      throw new ApiError(
        "ACCOUNT_UNKNOWN",
        "the exchange has no such account, or its contract takes nothing for it: it would not be credited",
        {
          fields: [{ path: "account", message: "is no account of the exchange" }],
        },
      );
  }

  /** Undefined: the relay has not looked at it yet. It does so when it is back. */
  async #answerOf(id: string, transaction: string): Promise<SignedOutcome | undefined> {
    const until = this.#parts.now() + ANSWER_MS;
    while (this.#parts.now() < until) {
      const found = await this.#parts.relay.signed(id);
      if (found?.transaction === transaction && found.outcome !== undefined) return found.outcome;
      await sleep(LOOK_MS);
    }
    return undefined;
  }
}

/** After its schema. */
function receiverOf(request: {
  readonly npk: string;
  readonly ephemeral_key: string;
  readonly ciphertext: string;
}): Receiver {
  const ephemeralKey = mustFromHex(request.ephemeral_key.toLowerCase());
  if (isOfLowOrder(ephemeralKey))
    throw invalidField(
      "ephemeral_key",
      "is of low order: everybody could read the note, and its owner would not",
    );
  return {
    npk: mustField(BigInt(request.npk)),
    ephemeralKey,
    ciphertext: mustFromHex(request.ciphertext.toLowerCase()),
  };
}

function addressOf(text: string, path: string): Address {
  const address = asAddress(text);
  if (address === undefined) throw invalidField(path, "is no address");
  return address;
}

function unsupported(): ApiError {
  return new ApiError(
    "ASSET_UNSUPPORTED",
    "this instance does not bridge the asset now; see `bridges` in GET /info",
    {
      fields: [{ path: "asset", message: "is not bridged" }],
    },
  );
}

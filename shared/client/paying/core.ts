/**
 * What every operation of a wallet needs besides notes: the configuration, the service's rules held against it,
 * proofs, turns, and the wait until something is on chain and in this wallet's own copy.
 */
import { randomBytes } from "@noble/hashes/utils.js";
import type { Info } from "../../api/service.ts";
import type { TicketState, Ticket } from "../../api/transactions.ts";
import { VALUE_LIMIT, type Address } from "../../protocol/brands.ts";
import type { FeeOperation } from "../../protocol/host/fees.ts";
import type { Home } from "../../protocol/statements.ts";
import type { SpendingKey } from "../../notes/keys.ts";
import { toHex } from "../../protocol/bytes.ts";
import { orAborted } from "../base/aborting.ts";
import { acceptedEnclaves, checkEnclaves, NONCE_LENGTH, type ProvedEnclave } from "../base/attestation.ts";
import { wireProof, type WireProof } from "../statements/bodies.ts";
import type { Nodes } from "../chain/nodes.ts";
import type { Client } from "../service/client.ts";
import { ClientError } from "../base/errors.ts";
import type { WaitOptions } from "../service/feed.ts";
import { feesFor, type Fees } from "../statements/fees.ts";
import type { Ledger } from "./ledger.ts";
import type { Operation } from "./operation.ts";
import type { CarriedOptions, Payment, StatementOptions } from "./payment.ts";
import { checkInfo, requireAddress, type Pins } from "../base/pins.ts";
import type { Prover } from "../prover/prover.ts";
import type { Registration } from "../service/registrations.ts";
import type { Prepared } from "../statements/statements.ts";
import { TicketFailed, waitForTicket } from "../service/tickets.ts";

export interface CoreParts {
  readonly client: Client;
  readonly prover: Prover;
  readonly pins: Pins;
  readonly home: Home;
  readonly keys: SpendingKey;
  readonly assets: readonly [Address, ...Address[]];
  readonly ledger: Ledger;
  /** The user's own; undefined where none are given. */
  readonly nodes: Nodes | undefined;
  /** Unix seconds. */
  readonly now: () => number;
}

/** One that signs for this wallet's payments, and what is known of it. */
export interface ServingEnclave extends ProvedEnclave {
  /** What the pool says of it; undefined where no node of the user's own is given. */
  readonly registration: Registration | undefined;
}

/** This wallet's copy may lag behind a confirmed ticket by so much. */
const DELIVERY_TIMEOUT_MS = 120_000;

/**
 * As long as whoever holds a proof can use it, so short: long enough for a busy chain, and not so long that a
 * refused payment binds its notes for an hour or a deposit made again is made twice.
 */
const DEFAULT_DEADLINE_SECS = 900;

/** An enclave may be replaced while a wallet is open; a client that runs for days looks again. */
const ATTESTED_FOR_SECS = 3_600;

export class Core {
  readonly parts: CoreParts;
  #info: Info | undefined;
  /** Unix seconds when `#info` was asked for. */
  #infoAt = 0;
  #working: Promise<unknown> = Promise.resolve();

  constructor(parts: CoreParts) {
    this.parts = parts;
  }

  /** The named token, or the default one. Throws PIN_MISMATCH for one that is not pinned. */
  asset(name?: string): Address {
    const { assets } = this.parts;
    const asset = name === undefined ? assets[0] : requireAddress(name, "asset");
    if (!assets.includes(asset)) throw new ClientError("PIN_MISMATCH", "not a pinned asset");
    return asset;
  }

  /**
   * To be called before anything is made for the service: throws PIN_MISMATCH or ARTEFACT_MISMATCH if it is
   * another one, ENCLAVE_UNVERIFIED if its enclaves are not what this client trusts.
   */
  async checkService(options: WaitOptions): Promise<Info> {
    const isFresh = this.parts.now() - this.#infoAt < ATTESTED_FOR_SECS;
    if (this.#info === undefined || !isFresh) this.#info = await this.#askInfo(options);
    return this.#info;
  }

  /** A switch that was off is asked for again each time: the operator may have turned it on. */
  async isOffered(feature: keyof Info["features"], options: WaitOptions): Promise<boolean> {
    const { features } = await this.checkService(options);
    if (features[feature]) return true;
    this.#info = await this.#askInfo(options);
    return this.#info.features[feature];
  }

  async #askInfo(options: WaitOptions): Promise<Info> {
    return (await this.#provedInfo(options)).info;
  }

  async #provedInfo({ signal }: WaitOptions): Promise<{ info: Info; proved: readonly ProvedEnclave[] }> {
    const { client, pins, prover, home, nodes, now } = this.parts;
    const nonce = randomBytes(NONCE_LENGTH);
    const info = await client.info({ nonce: toHex(nonce), signal });
    checkInfo(pins, info);
    prover.checkInfo(info);
    const proved =
      pins.enclaves === "unverified"
        ? acceptedEnclaves(info)
        : checkEnclaves(pins.enclaves, info, nonce, now() * 1000);
    if (nodes !== undefined) {
      const { requireRegistered } = await import("../service/registrations.ts");
      await requireRegistered(proved, { nodes, home, signal });
    }
    this.#info = info;
    this.#infoAt = now();
    return { info, proved };
  }

  /** Asked and checked anew. Throws as `checkService` does. */
  async enclaves(options: WaitOptions): Promise<ServingEnclave[]> {
    const { home, nodes } = this.parts;
    const { info, proved } = await this.#provedInfo(options);
    if (nodes === undefined) return proved.map((enclave) => ({ ...enclave, registration: undefined }));
    const { readRegistrations } = await import("../service/registrations.ts");
    const registrations = await readRegistrations(
      proved.map(({ signer }) => signer),
      // The service's word: with a later block the registrations would be missing, and that is refused.
      { nodes, home, fromBlock: info.deployment_block, signal: options.signal },
    );
    return proved.map((enclave, i) => ({ ...enclave, registration: registrations[i] }));
  }

  async fees(operation: FeeOperation, asset: Address, amount: bigint, options: WaitOptions): Promise<Fees> {
    const { fees } = await this.parts.client.whoami({ signal: options.signal });
    return feesFor(fees, { asset, operation, amount }, this.parts.pins);
  }

  deadline({ deadlineSecs = DEFAULT_DEADLINE_SECS }: StatementOptions): number {
    return this.parts.now() + deadlineSecs;
  }

  prove({ statement, witness }: Prepared, operation: Operation): Promise<WireProof> {
    const { signal } = operation;
    return operation.step("prove", async () => {
      const progress = operation.provingProgress();
      // A prover that does not listen to the signal works on for nothing; nobody waits for it.
      const proof = orAborted(this.parts.prover.prove(statement, witness, { signal, progress }), signal);
      return wireProof(await proof);
    });
  }

  /**
   * One payment at a time picks notes and proves; a failed one does not stop the next. The signal ends the wait for
   * the turn; whoever has it ends by himself, so that nothing goes on behind a call that has returned.
   */
  inTurn<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    let hasBegun = false;
    const turn = this.#working.then(() => {
      hasBegun = true;
      signal.throwIfAborted();
      return work();
    });
    this.#working = turn.catch(() => undefined);
    return new Promise((resolve, reject) => {
      turn.then(resolve, reject);
      const leave = (): void => {
        if (!hasBegun) reject(signal.reason as Error);
      };
      if (signal.aborted) leave();
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  /** Resolves when nobody's turn is under way. */
  async idle(): Promise<void> {
    await this.#working;
  }

  ticket(ticketId: string, until: TicketState, operation: Operation): Promise<Ticket> {
    const { client, ledger } = this.parts;
    const { signal } = operation;
    const onTicket = (ticket: Ticket): void => void (operation.ticket = ticket);
    return waitForTicket(client, ledger.feed, ticketId, until, signal, onTicket);
  }

  /** Waits as far as the caller wants, at `confirmed` until this wallet's own copy has it too. */
  async settle(
    made: Payment,
    prepared: Prepared,
    options: CarriedOptions,
    operation: Operation,
  ): Promise<Payment> {
    operation.ticket = made.ticket;
    const until = options.until ?? "confirmed";
    if (until === "queued") return made;
    const { ledger } = this.parts;
    const release = ledger.feed.hold();
    try {
      const ticket = await operation.step("confirm", () =>
        this.ticket(made.ticket.ticket_id, until, operation),
      );
      await this.delivered(prepared, options, operation);
      return { ...made, ticket };
    } catch (error) {
      if (error instanceof TicketFailed) await ledger.refused(made.statement);
      throw error;
    } finally {
      release();
    }
  }

  /** Until this wallet's own copy has all that the statement did; a caller without a clock is told when it does not come. */
  delivered(prepared: Prepared, { timeoutMs }: WaitOptions, operation: Operation): Promise<void> {
    const { ledger } = this.parts;
    const limit = timeoutMs === undefined ? { timeoutMs: DELIVERY_TIMEOUT_MS } : {};
    return operation.step("deliver", async () => {
      await ledger.feed.until(() => ledger.holds(prepared), { signal: operation.signal, ...limit });
      await ledger.save();
    });
  }
}

/** Throws AMOUNT_INVALID unless it is a bigint, above zero, and fits into a note. */
export function requireAmount(amount: unknown): asserts amount is bigint {
  if (typeof amount !== "bigint")
    throw new ClientError("AMOUNT_INVALID", "a bigint of the token's smallest units, such as 1_000_000n");
  if (amount <= 0n) throw new ClientError("AMOUNT_INVALID", "it is above zero");
  if (amount >= VALUE_LIMIT) throw new ClientError("AMOUNT_INVALID", "no note holds that much");
}

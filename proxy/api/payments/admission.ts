/**
 * The cheap checks before an enclave is asked, the same for `/sequence`, `/attest` and `/relay`: what a transaction
 * owes, and whether the chain could still execute it. A refusal here costs no pairing, no place in the queue and no gas.
 */
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import type { DepositExt, Statement, SwapExt } from "../../../shared/protocol/statements.ts";
import { PATH_CLOSED_FOR_EVER, type Pool } from "../../base/chain/pool.ts";
import type { PoolBrakes } from "../../base/chain/pool-brakes.ts";
import { recoverInTurn } from "../../base/chain/recovery.ts";
import {
  authorizationDigest,
  KEY_SIGNATURE_BYTES,
  type ReceiveAuthorization,
  type Tokens,
} from "../../base/chain/token.ts";
import { orUnavailable } from "../../base/chain/unavailable.ts";
import type { Asset } from "../../base/instance-config.ts";
import type { Fees, PaidNote } from "../fees/fee-rules.ts";
import { ApiError, type FieldError } from "../../base/http/errors.ts";
import type { ChainDataStore } from "../../base/store/chain-data.ts";
import type { FeeNote } from "../../base/store/fee-notes.ts";
import type { TicketStore } from "../../base/store/ticket-store.ts";
import { assetOf, invalid, type Transaction } from "./transaction.ts";

/** A transaction that may go to the enclave. */
export interface AdmittedTransaction extends Transaction {
  /** Those that pay its fees; to be kept once its proof is verified, before anybody has the attestation. */
  readonly feeNotes: readonly FeeNote[];
}

export interface AdmissionParts {
  readonly pool: Pick<Pool, "address" | "executor" | "isAsset" | "isKnownRoot" | "isSpent">;
  /** Of that pool. */
  readonly brakes: PoolBrakes;
  readonly tokens: Tokens;
  /** What this instance lists. */
  readonly assets: readonly Asset[];
  /** Contracts beside the pool, its executor and the assets at which money would be stuck. */
  readonly deadEnds: readonly Address[];
  readonly fees: Pick<Fees, "check">;
  readonly tickets: Pick<TicketStore, "reservedBy">;
  readonly data: Pick<ChainDataStore, "root" | "spender" | "execution" | "tip">;
  /** Whether `data` ends with the chain's newest block, for all we know. */
  readonly isFresh: () => boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const MAX_AHEAD_SECS = 24 * 3600;
/** Callers' clocks differ; a deadline meant as exactly 24 h is not refused for a second. */
const AHEAD_SLACK_SECS = 60;
const EXECUTOR_RETRY_SECS = 60;
/** The pool's window for what leaves. */
/** Nobody should sleep through what may end sooner. */
const MAX_RETRY_SECS = 3600;

export class Admission {
  readonly #parts: AdmissionParts;

  constructor(parts: AdmissionParts) {
    this.#parts = parts;
  }

  /**
   * Deadline, assets, minimum, fees (the developer's own among them), root, nullifiers, authorization. Of a statement
   * that is executed only what it would be sent with again if its block were reorganised out.
   */
  async admit(
    transaction: Transaction,
    developerId: string,
    isExecuted: boolean,
  ): Promise<AdmittedTransaction> {
    if (!isExecuted && transaction.earlier !== undefined)
      await this.#requireConfirmable(transaction.statement);
    // What comes again was paid for when it was executed.
    const paid =
      isExecuted || transaction.earlier !== undefined
        ? await this.#paidIfExecuted(transaction, developerId)
        : await this.#paidIfExecutable(transaction, developerId);
    const { hash, deadline } = transaction.statement;
    const feeNotes = paid.map((note) => ({ ...note, statement: hash, deadline: Number(deadline) }));
    return { ...transaction, feeNotes };
  }

  /** The chain may be ahead of our clock; nothing executes after its time. Unix seconds. */
  #nowSecs(): number {
    return Math.max(Math.floor(this.#parts.now() / 1000), this.#parts.data.tip()?.timestamp ?? 0);
  }

  #messageOf({ facts, hash }: Statement, ext: DepositExt): ReceiveAuthorization {
    const { depositor: from, validAfter, validBefore } = ext;
    return { from, to: this.#parts.pool.address, value: facts.amount, validAfter, validBefore, nonce: hash };
  }

  /** By the depositor's key; what a smart account signs only its own code knows, see `requireTakenByCode`. */
  async #requireSignature(
    statement: Statement,
    ext: DepositExt,
    signature: Uint8Array,
  ): Promise<"key" | "code"> {
    const domainSeparator = await this.#parts.tokens.domainSeparator(assetOf(statement));
    if (domainSeparator === undefined) throw needsDepositor();
    const digest = authorizationDigest(domainSeparator, this.#messageOf(statement, ext));
    const isKey =
      signature.length === KEY_SIGNATURE_BYTES && (await recoverInTurn(digest, signature)) === ext.depositor;
    if (isKey) return "key";
    if (await this.#parts.tokens.isContract(ext.depositor)) return "code";
    throw unauthorized("authorization", "the depositor did not sign this statement");
  }

  /** Asked of the token as the pool will ask it. It may be another answer by then, which costs gas and no money. */
  async #requireTakenByCode(statement: Statement, ext: DepositExt, signature: Uint8Array): Promise<void> {
    if (
      await this.#parts.tokens.takesAuthorization(
        assetOf(statement),
        this.#messageOf(statement, ext),
        signature,
      )
    )
      return;
    throw unauthorized("authorization", "the token does not take this authorization of a smart account");
  }

  async #requireAuthorization(statement: Statement, ext: DepositExt): Promise<void> {
    const token = assetOf(statement);
    const seconds = BigInt(this.#nowSecs());
    if (ext.validBefore <= seconds) throw unauthorized("ext.valid_before", "the authorization has expired");
    if (ext.validAfter >= seconds)
      throw unauthorized("ext.valid_after", "the authorization is not valid yet");
    const isUsed = await this.#parts.tokens.isAuthorizationUsed(token, ext.depositor, statement.hash);
    if (isUsed === undefined) throw needsDepositor();
    if (!isUsed) return;
    const tip = this.#parts.data.tip();
    const isRead =
      tip !== undefined &&
      (await this.#parts.tokens.isAuthorizationUsed(token, ext.depositor, statement.hash, tip.number)) ===
        true;
    throw isRead ? unauthorized("authorization", "the authorization is used or cancelled") : unread();
  }

  async #requireDepositable(statement: Statement, ext: DepositExt, signature: Uint8Array): Promise<void> {
    const token = assetOf(statement);
    await this.#requireTaken(token, "public_signals");
    if (signature.length > 0) {
      const signedBy = await this.#requireSignature(statement, ext, signature);
      await this.#requireAuthorization(statement, ext);
      await this.#requireFunds(statement, ext);
      if (signedBy === "code") await this.#requireTakenByCode(statement, ext, signature);
      return;
    } else if (this.#parts.data.execution(statement.hash) !== undefined) {
      // Its depositor sends it: there is no authorization that would be used up, the pool remembers the statement.
      throw unauthorized("public_signals", "the deposit was executed before");
    }
    await this.#requireFunds(statement, ext);
  }

  async #requireFunds(statement: Statement, ext: DepositExt): Promise<void> {
    const token = assetOf(statement);
    if ((await this.#parts.tokens.balanceOf(token, ext.depositor)) < statement.facts.amount) {
      throw unauthorized("ext.depositor", "the depositor does not hold the amount");
    }
  }

  /** The pool would refuse these as long as the operator does nothing, and a ticket would hold its notes for it. */
  async #requireTradable({ tokenOut, path }: SwapExt): Promise<void> {
    await this.#requireTaken(tokenOut, "ext.token_out");
    if (path.middle !== ZERO_ADDRESS) await this.#requireTaken(path.middle, "ext.path");
    if ((await this.#parts.pool.executor()) === undefined) {
      throw new ApiError("ROUTE_UNAVAILABLE", "the pool has no venue at the moment", {
        retryAfterSecs: EXECUTOR_RETRY_SECS,
      });
    }
  }

  /** Neither the operator nor the caller can hasten it; the proved way needs neither. */
  async #requireOpenPath(): Promise<void> {
    const { attestedFrom } = await this.#parts.brakes.brakes();
    if (attestedFrom === PATH_CLOSED_FOR_EVER) {
      throw new ApiError(
        "FEATURE_DISABLED",
        "the pool takes no attested transaction any more; notes leave by proofs",
      );
    }
    const wait = attestedFrom - this.#nowSecs();
    if (wait <= 0) return;
    const until = new Date(attestedFrom * 1000).toISOString();
    throw new ApiError(
      "CHAIN_UNAVAILABLE",
      `the pool takes no attested transaction before ${until}; no money has moved`,
      {
        retryAfterSecs: Math.min(wait, MAX_RETRY_SECS),
      },
    );
  }

  /** A ticket would hold its notes for a place that others may take first; a proof makes a claim that keeps its turn. */
  async #requireRoom(statement: Statement): Promise<void> {
    const { kind, facts } = statement;
    const { attested } = await this.#parts.brakes.room(assetOf(statement));
    if (facts.amount <= attested) return;
    const isSwap = kind === "private-swap";
    // Room comes back evenly: in an hour a twelfth of all that there ever is.
    throw new ApiError(
      isSwap ? "ROUTE_UNAVAILABLE" : "CHAIN_UNAVAILABLE",
      `the pool lets ${String(attested)} units of this asset out now, and more by and by; no money has moved`,
      { retryAfterSecs: MAX_RETRY_SECS },
    );
  }

  /** Listed by the pool now, for what comes in. What leaves only has to be listed by us, see `fees.check`. */
  async #requireTaken(asset: Address, path: string): Promise<void> {
    if (!(await this.#parts.pool.isAsset(asset)))
      throw unsupported(path, "the pool does not take this asset now");
  }

  /** The pool refuses itself and the withdrawn token; these take the money, and give it to nobody. */
  async #requirePayee(recipient: Address): Promise<void> {
    const { assets, deadEnds, pool } = this.#parts;
    const isStuck =
      assets.some(({ address }) => address === recipient) ||
      deadEnds.includes(recipient) ||
      (await pool.executor()) === recipient;
    if (isStuck)
      throw invalid("ext.recipient", "is a token or a contract of the service: the money would be stuck");
  }

  /** Cheaper than asking the pool, and a token that we do not list is none we would show anybody. */
  #requireListed({ tokenOut, path }: SwapExt): void {
    const isListed = (asset: Address): boolean => this.#parts.assets.some(({ address }) => address === asset);
    if (!isListed(tokenOut)) throw unsupported("ext.token_out", "this instance does not list the asset");
    if (path.middle !== ZERO_ADDRESS && !isListed(path.middle)) {
      throw unsupported("ext.path", "goes through an asset that this instance does not list");
    }
  }

  async #requireRoot({ facts: { root } }: Statement): Promise<void> {
    if (
      root !== undefined &&
      this.#parts.data.root(root) === undefined &&
      !(await this.#parts.pool.isKnownRoot(root))
    ) {
      throw new ApiError(
        "ROOT_UNKNOWN",
        "the pool does not know the root this was proved against; prove again",
      );
    }
  }

  async #requireUnreserved({ facts: { nullifiers } }: Statement): Promise<void> {
    for (const nullifier of nullifiers)
      if ((await this.#parts.tickets.reservedBy(nullifier)) !== undefined)
        throw new ApiError("NULLIFIER_PENDING", "a transaction under way uses a note of this statement");
  }

  async #requireSpendable(statement: Statement): Promise<void> {
    await this.#requireRoot(statement);
    for (const nullifier of statement.facts.nullifiers) {
      // One that is spent in a block that we have not read yet is found before anything is sent, as one would be
      // that is spent a second later; so the node is asked only while we do not follow it.
      if (this.#parts.data.spender(nullifier) !== undefined) {
        throw new ApiError("NULLIFIER_SPENT", "a note of this statement is spent");
      }
      if (!this.#parts.isFresh() && (await this.#parts.pool.isSpent(nullifier))) throw unread();
    }
    await this.#requireUnreserved(statement);
  }

  /** Nothing moves, so assets, payee, fees, room and venue are as they were. */
  async #requireConfirmable(statement: Statement): Promise<void> {
    this.#requireTimely(statement);
    await orUnavailable(this.#requireOpenPath());
    await orUnavailable(this.#requireRoot(statement));
    await orUnavailable(this.#requireUnreserved(statement));
  }

  #requireTimely({ deadline }: Statement): void {
    const seconds = this.#nowSecs();
    if (deadline < BigInt(seconds)) throw invalid("deadline", "is past");
    if (deadline > BigInt(seconds + MAX_AHEAD_SECS + AHEAD_SLACK_SECS)) {
      throw invalid("deadline", "is more than 24 hours ahead");
    }
  }

  async #paidIfExecuted(
    { statement, authorization, openings }: Transaction,
    developerId: string,
  ): Promise<readonly PaidNote[]> {
    const { kind, facts, ext } = statement;
    if (ext.kind === "deposit-shield")
      await orUnavailable(this.#requireSignature(statement, ext, authorization));
    try {
      return await this.#parts.fees.check({ developerId, kind, facts, openings });
    } catch (error) {
      // Prices and rules may be others by now, and a refusal would change nothing.
      if (error instanceof ApiError) return [];
      throw error;
    }
  }

  async #paidIfExecutable(
    { statement, authorization, openings }: Transaction,
    developerId: string,
  ): Promise<readonly PaidNote[]> {
    const { kind, facts, ext } = statement;
    this.#requireTimely(statement);
    if (ext.kind === "private-swap") this.#requireListed(ext);
    const paid = await this.#parts.fees.check({ developerId, kind, facts, openings });
    if ("recipient" in ext && ext.recipient !== ZERO_ADDRESS)
      await orUnavailable(this.#requirePayee(ext.recipient));
    await orUnavailable(this.#requireOpenPath());
    await orUnavailable(this.#requireSpendable(statement));
    if (ext.kind !== "deposit-shield" && facts.amount > 0n) await orUnavailable(this.#requireRoom(statement));
    if (ext.kind === "deposit-shield") {
      await orUnavailable(this.#requireDepositable(statement, ext, authorization));
    } else if (ext.kind === "private-swap") await orUnavailable(this.#requireTradable(ext));
    return paid;
  }
}

/**
 * The chain has something that the index has not read: perhaps this very statement, executed. To say that it is too
 * late would be wrong then.
 */
function unread(): ApiError {
  return new ApiError("CHAIN_UNAVAILABLE", "the chain's newest blocks are not read yet", {
    retryAfterSecs: 1,
  });
}

function unsupported(path: string, message: string): ApiError {
  return new ApiError("ASSET_UNSUPPORTED", message, { fields: [{ path, message }] });
}

function needsDepositor(): ApiError {
  const message =
    "this token knows no EIP-3009 authorizations: the depositor approves the pool and sends the transaction of POST /attest/deposit-shield";
  return unauthorized("authorization", message);
}

function unauthorized(path: string, message: string): ApiError {
  const fields: FieldError[] = [{ path, message }];
  return new ApiError("AUTHORIZATION_INVALID", message, { fields });
}

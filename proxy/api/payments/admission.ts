/**
 * The cheap checks before an enclave is asked, the same for `/sequence`, `/attest` and `/relay`: what a transaction
 * owes, and whether the chain could still execute it. A refusal here costs no pairing, no place in the queue and no gas.
 */
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import type { DepositExt, Statement, SwapExt } from "../../../shared/protocol/statements.ts";
import { PATH_CLOSED_FOR_EVER, type Pool } from "../../base/chain/pool.ts";
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
  readonly pool: Pool;
  readonly tokens: Tokens;
  /** What this instance lists. */
  readonly assets: readonly Asset[];
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
const DAY_SECS = 24 * 3600;
/** Nobody should sleep through what may end sooner. */
const MAX_RETRY_SECS = 3600;

export type Admission = ReturnType<typeof createAdmission>;

export function createAdmission(parts: AdmissionParts) {
  const { pool, tokens, assets, fees, tickets, data, isFresh, now } = parts;

  /** The chain may be ahead of our clock; nothing executes after its time. Unix seconds. */
  const nowSecs = (): number => Math.max(Math.floor(now() / 1000), data.tip()?.timestamp ?? 0);

  function messageOf({ facts, hash }: Statement, ext: DepositExt): ReceiveAuthorization {
    const { depositor: from, validAfter, validBefore } = ext;
    return { from, to: pool.address, value: facts.amount, validAfter, validBefore, nonce: hash };
  }

  /** By the depositor's key; what a smart account signs only its own code knows, see `requireTakenByCode`. */
  async function requireSignature(
    statement: Statement,
    ext: DepositExt,
    signature: Uint8Array,
  ): Promise<"key" | "code"> {
    const domainSeparator = await tokens.domainSeparator(assetOf(statement));
    if (domainSeparator === undefined) throw needsDepositor();
    const digest = authorizationDigest(domainSeparator, messageOf(statement, ext));
    const isKey =
      signature.length === KEY_SIGNATURE_BYTES && (await recoverInTurn(digest, signature)) === ext.depositor;
    if (isKey) return "key";
    if (await tokens.isContract(ext.depositor)) return "code";
    throw unauthorized("authorization", "the depositor did not sign this statement");
  }

  /** Asked of the token as the pool will ask it. It may be another answer by then, which costs gas and no money. */
  async function requireTakenByCode(
    statement: Statement,
    ext: DepositExt,
    signature: Uint8Array,
  ): Promise<void> {
    if (await tokens.takesAuthorization(assetOf(statement), messageOf(statement, ext), signature)) return;
    throw unauthorized("authorization", "the token does not take this authorization of a smart account");
  }

  async function requireAuthorization(statement: Statement, ext: DepositExt): Promise<void> {
    const token = assetOf(statement);
    const seconds = BigInt(nowSecs());
    if (ext.validBefore <= seconds) throw unauthorized("ext.valid_before", "the authorization has expired");
    if (ext.validAfter >= seconds)
      throw unauthorized("ext.valid_after", "the authorization is not valid yet");
    const isUsed = await tokens.isAuthorizationUsed(token, ext.depositor, statement.hash);
    if (isUsed === undefined) throw needsDepositor();
    if (!isUsed) return;
    const tip = data.tip();
    const isRead =
      tip !== undefined &&
      (await tokens.isAuthorizationUsed(token, ext.depositor, statement.hash, tip.number)) === true;
    throw isRead ? unauthorized("authorization", "the authorization is used or cancelled") : unread();
  }

  async function requireDepositable(
    statement: Statement,
    ext: DepositExt,
    signature: Uint8Array,
  ): Promise<void> {
    const token = assetOf(statement);
    await requireTaken(token, "public_signals");
    if (signature.length > 0) {
      const signedBy = await requireSignature(statement, ext, signature);
      await requireAuthorization(statement, ext);
      await requireFunds(statement, ext);
      if (signedBy === "code") await requireTakenByCode(statement, ext, signature);
      return;
    } else if (data.execution(statement.hash) !== undefined) {
      // Its depositor sends it: there is no authorization that would be used up, the pool remembers the statement.
      throw unauthorized("public_signals", "the deposit was executed before");
    }
    await requireFunds(statement, ext);
  }

  async function requireFunds(statement: Statement, ext: DepositExt): Promise<void> {
    const token = assetOf(statement);
    if ((await tokens.balanceOf(token, ext.depositor)) < statement.facts.amount) {
      throw unauthorized("ext.depositor", "the depositor does not hold the amount");
    }
  }

  /** The pool would refuse these as long as the operator does nothing, and a ticket would hold its notes for it. */
  async function requireTradable({ tokenOut, path }: SwapExt): Promise<void> {
    await requireTaken(tokenOut, "ext.token_out");
    if (path.middle !== ZERO_ADDRESS) await requireTaken(path.middle, "ext.path");
    if ((await pool.executor()) === undefined) {
      throw new ApiError("ROUTE_UNAVAILABLE", "the pool has no venue at the moment", {
        retryAfterSecs: EXECUTOR_RETRY_SECS,
      });
    }
  }

  /** Neither the operator nor the caller can hasten it; the proved way needs neither. */
  async function requireOpenPath(): Promise<void> {
    const { attestedFrom } = await pool.brakes();
    if (attestedFrom === PATH_CLOSED_FOR_EVER) {
      throw new ApiError(
        "FEATURE_DISABLED",
        "the pool takes no attested transaction any more; notes leave by proofs",
      );
    }
    const wait = attestedFrom - nowSecs();
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
  async function requireRoom(statement: Statement): Promise<void> {
    const { kind, facts } = statement;
    if (facts.amount <= (await pool.attestedRoom(assetOf(statement), await pool.threshold()))) return;
    const isSwap = kind === "private-swap";
    throw new ApiError(
      isSwap ? "ROUTE_UNAVAILABLE" : "CHAIN_UNAVAILABLE",
      "the pool lets no more of this asset out today than it has; less may still go, and no money has moved",
      { retryAfterSecs: Math.min(DAY_SECS - (nowSecs() % DAY_SECS), MAX_RETRY_SECS) },
    );
  }

  /** Listed by the pool now, for what comes in. What leaves only has to be listed by us, see `fees.check`. */
  async function requireTaken(asset: Address, path: string): Promise<void> {
    if (!(await pool.isAsset(asset))) throw unsupported(path, "the pool does not take this asset now");
  }

  /** Cheaper than asking the pool, and a token that we do not list is none we would show anybody. */
  function requireListed({ tokenOut, path }: SwapExt): void {
    const isListed = (asset: Address): boolean => assets.some(({ address }) => address === asset);
    if (!isListed(tokenOut)) throw unsupported("ext.token_out", "this instance does not list the asset");
    if (path.middle !== ZERO_ADDRESS && !isListed(path.middle)) {
      throw unsupported("ext.path", "goes through an asset that this instance does not list");
    }
  }

  async function requireSpendable(statement: Statement): Promise<void> {
    const { root, nullifiers } = statement.facts;
    if (root !== undefined && data.root(root) === undefined && !(await pool.isKnownRoot(root))) {
      throw new ApiError(
        "ROOT_UNKNOWN",
        "the pool does not know the root this was proved against; prove again",
      );
    }
    for (const nullifier of nullifiers) {
      // One that is spent in a block that we have not read yet is found before anything is sent, as one would be
      // that is spent a second later; so the node is asked only while we do not follow it.
      if (data.spender(nullifier) !== undefined) {
        throw new ApiError("NULLIFIER_SPENT", "a note of this statement is spent");
      }
      if (!isFresh() && (await pool.isSpent(nullifier))) throw unread();
      if ((await tickets.reservedBy(nullifier)) !== undefined) {
        throw new ApiError("NULLIFIER_PENDING", "a transaction under way uses a note of this statement");
      }
    }
  }

  async function paidIfExecuted(
    { statement, authorization, openings }: Transaction,
    developerId: string,
  ): Promise<readonly PaidNote[]> {
    const { kind, facts, ext } = statement;
    if (ext.kind === "deposit-shield") await orUnavailable(requireSignature(statement, ext, authorization));
    try {
      return await fees.check({ developerId, kind, facts, openings });
    } catch (error) {
      // Prices and rules may be others by now, and a refusal would change nothing.
      if (error instanceof ApiError) return [];
      throw error;
    }
  }

  async function paidIfExecutable(
    { statement, authorization, openings }: Transaction,
    developerId: string,
  ): Promise<readonly PaidNote[]> {
    const { kind, facts, ext, deadline } = statement;
    const seconds = nowSecs();
    if (deadline < BigInt(seconds)) throw invalid("deadline", "is past");
    if (deadline > BigInt(seconds + MAX_AHEAD_SECS + AHEAD_SLACK_SECS)) {
      throw invalid("deadline", "is more than 24 hours ahead");
    }
    if (ext.kind === "private-swap") requireListed(ext);
    const paid = await fees.check({ developerId, kind, facts, openings });
    await orUnavailable(requireOpenPath());
    await orUnavailable(requireSpendable(statement));
    if (ext.kind !== "deposit-shield" && facts.amount > 0n) await orUnavailable(requireRoom(statement));
    if (ext.kind === "deposit-shield") {
      await orUnavailable(requireDepositable(statement, ext, authorization));
    } else if (ext.kind === "private-swap") await orUnavailable(requireTradable(ext));
    return paid;
  }

  return {
    /**
     * Deadline, assets, minimum, fees (the developer's own among them), root, nullifiers, authorization. Of a statement
     * that is executed only what it would be sent with again if its block were reorganised out.
     */
    async admit(
      transaction: Transaction,
      developerId: string,
      isExecuted: boolean,
    ): Promise<AdmittedTransaction> {
      const paid = await (isExecuted ? paidIfExecuted : paidIfExecutable)(transaction, developerId);
      const { hash, deadline } = transaction.statement;
      const feeNotes = paid.map((note) => ({ ...note, statement: hash, deadline: Number(deadline) }));
      return { ...transaction, feeNotes };
    },
  };
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

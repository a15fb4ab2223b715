/**
 * The cheap checks before an enclave is asked, the same for `/sequence`, `/attest` and `/relay`: what a
 * statement says, what it owes, and whether the chain could still take it. Everything in a body is
 * untrusted; a refusal here costs no pairing, no place in the queue and no gas.
 */
import { decodeUniswapPath, type PathFault, type TokenPath } from "../../shared/api/uniswap-path.ts";
import { asAddress, addressFromField, ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import type { Proof } from "../../shared/protocol/proof.ts";
import { encodeProof, parseSnarkjsProof } from "../../shared/protocol/host/proofs.ts";
import {
  checkStatement,
  type DepositExt,
  type Ext,
  type Statement,
  type StatementFault,
  type SwapExt,
} from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import type { Pool } from "../chain/pool.ts";
import { recoverInTurn } from "../chain/recovery.ts";
import { authorizationDigest, type Tokens } from "../chain/token.ts";
import { orUnavailable } from "../chain/unavailable.ts";
import type { Asset } from "../config.ts";
import type { FeeNotes } from "../fees/fee-notes.ts";
import type { Fees, PaidNote } from "../fees/fee-rules.ts";
import { ApiError, type FieldError } from "../http/errors.ts";
import type { ChainDataStore } from "../store/chain-data.ts";
import type { TicketTransaction } from "../store/tickets.ts";
import type { Submission } from "./body.ts";
import type { Tickets } from "./tickets.ts";

/** A statement whose form and rules are good; nothing is known yet about its proof or the chain. */
export interface Stated {
  readonly statement: Statement;
  readonly proof: Proof;
  /** Empty for everything but deposits, and for one whose depositor is to send it. */
  readonly authorization: Uint8Array;
  readonly openings: Submission["fees"];
}

/** A statement that may go to the enclave. */
export interface Admitted extends Stated {
  readonly feeNotes: readonly PaidNote[];
}

export interface Admission {
  /** Shape and statement rules. Throws INVALID_REQUEST, CONTEXT_MISMATCH or PROOF_INVALID. */
  state(submission: Submission): Stated;
  /**
   * Everything else that is cheap: deadline, assets, minimum, fees (the developer's own among them), root, nullifiers,
   * authorization. Of a statement that is executed only what it would be sent with again if its block were taken back.
   */
  admit(stated: Stated, developerId: string, isExecuted?: boolean): Promise<Admitted>;
  /** To be called when the proof is verified and before anybody hears of it: the fees it pays must not be lost. */
  keepFees(admitted: Admitted): Promise<void>;
}

export interface AdmissionParts {
  readonly pool: Pool;
  readonly tokens: Tokens;
  /** What this instance lists. */
  readonly assets: readonly Asset[];
  readonly fees: Pick<Fees, "check">;
  readonly feeNotes: FeeNotes;
  readonly tickets: Pick<Tickets, "isReserved">;
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

export function createAdmission(parts: AdmissionParts): Admission {
  const { pool, tokens, assets, fees, feeNotes, tickets, data, isFresh, now } = parts;

  /** The chain may be ahead of our clock; nothing executes after its time. Unix seconds. */
  const nowSecs = (): number => Math.max(Math.floor(now() / 1000), data.tip()?.timestamp ?? 0);

  async function requireSignature(
    statement: Statement,
    ext: DepositExt,
    signature: Uint8Array,
  ): Promise<void> {
    const token = assetOf(statement);
    const domainSeparator = await tokens.domainSeparator(token);
    if (domainSeparator === undefined) throw needsDepositor();
    const message = {
      from: ext.depositor,
      to: pool.address,
      value: statement.facts.amount,
      validAfter: ext.validAfter,
      validBefore: ext.validBefore,
      nonce: statement.hash,
    };
    const digest = authorizationDigest(domainSeparator, message);
    if (
      (await recoverInTurn(digest, signature)) !== ext.depositor &&
      !(await tokens.isContract(ext.depositor))
    ) {
      throw unauthorized("authorization", "the depositor did not sign this statement");
    }
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

  /** A deposit that its depositor sends: there is no authorization that would be used up, the pool remembers the statement. */
  function requireNew(statement: Statement): void {
    if (data.execution(statement.hash) !== undefined) {
      throw unauthorized("public_signals", "the deposit was executed before");
    }
  }

  async function requireDepositable(
    statement: Statement,
    ext: DepositExt,
    signature: Uint8Array,
  ): Promise<void> {
    const token = assetOf(statement);
    await requireTaken(token, "public_signals");
    if (signature.length === 0) requireNew(statement);
    else {
      await requireSignature(statement, ext, signature);
      await requireAuthorization(statement, ext);
    }
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

  /** Of what is executed. Prices and rules may be others by now, and a refusal would change nothing. */
  async function paidAtLeast(
    { statement, openings }: Stated,
    developerId: string,
  ): Promise<readonly PaidNote[]> {
    const { kind, facts } = statement;
    try {
      return await fees.check({ developerId, kind, facts, openings });
    } catch (error) {
      if (error instanceof ApiError) return [];
      throw error;
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
      if (await tickets.isReserved(nullifier)) {
        throw new ApiError("NULLIFIER_PENDING", "a transaction under way uses a note of this statement");
      }
    }
  }

  return {
    state(submission) {
      const path = submission.kind === "private-swap" ? pathOf(submission.ext) : undefined;
      const statement = checkStatement(
        pool.home,
        submission.kind,
        BigInt(submission.deadline),
        submission.public_signals.map(BigInt),
        encodeExt(extOf(submission, path)),
      );
      if (typeof statement === "string") throw faultError(statement);
      // Of the path's ends only the second is part of ext: the first is the statement's asset or a slip.
      if (path !== undefined && path.tokenIn !== assetOf(statement)) {
        throw invalid("ext.path", "does not begin with the asset of the statement");
      }
      requirePoolTerms(statement, pool.address);
      const proof = parseSnarkjsProof(submission.proof);
      if (proof === undefined)
        throw new ApiError("PROOF_INVALID", "the proof's coordinates are not canonical");
      return {
        statement,
        proof,
        authorization: authorizationOf(submission),
        openings: submission.fees,
      };
    },

    async admit(stated, developerId, isExecuted = false) {
      const { statement, authorization, openings } = stated;
      const { ext } = statement;
      if (isExecuted) {
        if (ext.kind === "deposit-shield")
          await orUnavailable(requireSignature(statement, ext, authorization));
        return { ...stated, feeNotes: await paidAtLeast(stated, developerId) };
      }
      const seconds = nowSecs();
      if (statement.deadline < BigInt(seconds)) throw invalid("deadline", "is past");
      if (statement.deadline > BigInt(seconds + MAX_AHEAD_SECS + AHEAD_SLACK_SECS)) {
        throw invalid("deadline", "is more than 24 hours ahead");
      }
      if (ext.kind === "private-swap") requireListed(ext);
      const { kind, facts } = statement;
      const paid = await fees.check({ developerId, kind, facts, openings });
      await orUnavailable(requireSpendable(statement));
      if (ext.kind === "deposit-shield") {
        await orUnavailable(requireDepositable(statement, ext, authorization));
      } else if (ext.kind === "private-swap") await orUnavailable(requireTradable(ext));
      return { ...stated, feeNotes: paid };
    },

    keepFees({ statement, feeNotes: paid }) {
      const deadline = Number(statement.deadline);
      return feeNotes.keep(paid.map((note) => ({ ...note, statement: statement.hash, deadline })));
    },
  };
}

/** What a ticket keeps of an admitted statement. */
export function ticketTransaction(stated: Stated, attestations: readonly SignedBy[]): TicketTransaction {
  const { statement, proof, authorization } = stated;
  return {
    kind: statement.kind,
    deadline: statement.deadline,
    signals: statement.signals,
    ext: statement.extBytes,
    proof: encodeProof(proof),
    authorization,
    attestations,
  };
}

/** `path`: of a swap. */
function extOf(submission: Submission, path: TokenPath | undefined): Ext {
  const ciphertexts = submission.ext.ciphertexts.map(mustFromHex);
  switch (submission.kind) {
    case "deposit-shield": {
      const { depositor, valid_after, valid_before } = submission.ext;
      return {
        kind: submission.kind,
        depositor: party(depositor, "ext.depositor"),
        validAfter: BigInt(valid_after),
        validBefore: BigInt(valid_before),
        ciphertexts,
      };
    }
    case "spend":
    case "spend9":
      return {
        kind: submission.kind,
        recipient: party(submission.ext.recipient, "ext.recipient"),
        ciphertexts,
      };
    case "private-swap": {
      const { min_amount_out, npk_out } = submission.ext;
      if (path === undefined) throw new TypeError("a swap has a path");
      return {
        kind: submission.kind,
        tokenOut: path.tokenOut,
        minAmountOut: BigInt(min_amount_out),
        npkOut: BigInt(npk_out),
        path: path.path,
        ciphertexts,
      };
    }
  }
}

/** The path of a swap, with what `STATEMENT_INVALID` would not tell apart refused by name. */
function pathOf(ext: Extract<Submission, { kind: "private-swap" }>["ext"]): TokenPath {
  const path = decodeUniswapPath(ext.path);
  if (typeof path === "string") throw invalid("ext.path", PATH_FAULTS[path]);
  if (path.tokenOut !== party(ext.token_out, "ext.token_out")) {
    throw invalid("ext.path", "does not end with ext.token_out");
  }
  if (BigInt(ext.min_amount_out) === 0n) {
    throw invalid("ext.min_amount_out", "is zero: whoever trades around the swap could take it all");
  }
  return path;
}

const PATH_FAULTS: Readonly<Record<PathFault, string>> = {
  PATH_LENGTH: "is no path of one or two pools",
  PATH_TOKENS: "names the zero address or one token twice",
  PATH_FEE_TIER: "names an unknown fee tier",
};

function authorizationOf(submission: Submission): Uint8Array {
  const given = submission.kind === "deposit-shield" ? submission.authorization : undefined;
  return given === undefined ? new Uint8Array(0) : mustFromHex(given);
}

function party(text: string, path: string): Address {
  const address = asAddress(text);
  if (address === undefined) throw invalid(path, "is no address");
  return address;
}

/** Rules that the pool adds to the statement's own; refused here they cost no gas. */
function requirePoolTerms({ ext, facts }: Statement, pool: Address): void {
  if (facts.commitments.some((commitment) => commitment === 0n)) {
    throw invalid("public_signals", "a commitment is zero");
  }
  if (!("recipient" in ext) || ext.recipient === ZERO_ADDRESS) return;
  if (ext.recipient === pool || ext.recipient === addressFromField(facts.asset)) {
    throw invalid("ext.recipient", "is the pool or the token: the money would be stuck");
  }
}

function assetOf({ facts }: Statement): Address {
  const asset = addressFromField(facts.asset);
  if (asset === undefined) throw new RangeError("a checked statement names an address");
  return asset;
}

function faultError(fault: StatementFault): ApiError {
  switch (fault) {
    case "SIGNAL_COUNT":
      return invalid("public_signals", "has another number of signals than this kind");
    case "SIGNAL_RANGE":
      return invalid("public_signals", "a signal is not below the group order");
    case "EXT_MALFORMED":
      return invalid("ext", "does not have the form of this kind");
    case "NULLIFIERS_NOT_DISTINCT":
      return invalid("public_signals", "the nullifiers are not distinct");
    case "STATEMENT_INVALID":
      return invalid("public_signals", "asset, amount and the terms of ext do not fit together");
    case "CONTEXT_MISMATCH":
      return new ApiError(
        "CONTEXT_MISMATCH",
        "the context signal is not the hash of this chain, pool, deadline and ext",
      );
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

function invalid(path: string, message: string): ApiError {
  return new ApiError("INVALID_REQUEST", `${path} ${message}`, { fields: [{ path, message }] });
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

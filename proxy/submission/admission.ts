/**
 * The cheap checks before an enclave is asked, the same for `/sequence`, `/attest` and `/relay`: what a
 * statement says, what it owes, and whether the chain could still take it. Everything in a body is
 * untrusted; a refusal here costs no pairing, no place in the queue and no gas.
 */
import type { DepositBody, SpendBody } from "../../shared/api/transactions.ts";
import { asAddress, addressFromField, ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { mustFromHex } from "../../shared/protocol/bytes.ts";
import { encodeProof, parseSnarkjsProof, type Proof } from "../../shared/protocol/proof.ts";
import {
  checkStatement,
  encodeExt,
  type DepositExt,
  type Ext,
  type Statement,
  type StatementFault,
} from "../../shared/protocol/statements.ts";
import type { SignedBy } from "../../shared/protocol/attestation.ts";
import type { Pool } from "../chain/pool.ts";
import { authorizationDigest, recoverSigner, type Tokens } from "../chain/token.ts";
import { orUnavailable } from "../chain/unavailable.ts";
import type { Fees } from "../fees/fee-rules.ts";
import { ApiError, type FieldError } from "../http/errors.ts";
import type { ChainDataStore } from "../store/chain-data.ts";
import type { TicketTransaction } from "../store/tickets.ts";
import type { Tickets } from "./tickets.ts";

/** A body of one of the kinds, after its schema. */
export type Submission =
  | { readonly kind: "deposit-shield"; readonly body: DepositBody }
  | { readonly kind: "spend"; readonly body: SpendBody };

/** A statement whose form and rules are good; nothing is known yet about its proof or the chain. */
export interface Stated {
  readonly statement: Statement;
  readonly proof: Proof;
  /** Empty for everything but deposits. */
  readonly authorization: Uint8Array;
  readonly openings: Submission["body"]["fees"];
}

export interface Admission {
  /** Shape and statement rules. Throws INVALID_REQUEST, CONTEXT_MISMATCH or PROOF_INVALID. */
  state(submission: Submission): Stated;
  /** Everything else that is cheap: deadline, asset, minimum, fees, root, nullifiers, authorization. */
  admit(stated: Stated): Promise<void>;
}

export interface AdmissionParts {
  readonly pool: Pool;
  readonly tokens: Tokens;
  readonly fees: Pick<Fees, "check">;
  readonly tickets: Pick<Tickets, "isReserved">;
  readonly data: Pick<ChainDataStore, "root" | "spender" | "tip">;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

const MAX_AHEAD_SECS = 24 * 3600;
/** Callers' clocks differ; a deadline meant as exactly 24 h is not refused for a second. */
const AHEAD_SLACK_SECS = 60;

export function createAdmission(parts: AdmissionParts): Admission {
  const { pool, tokens, fees, tickets, data, now } = parts;

  /** The chain may be ahead of our clock; nothing executes after its time. Unix seconds. */
  const nowSecs = (): number => Math.max(Math.floor(now() / 1000), data.tip()?.timestamp ?? 0);

  async function requireAuthorization(
    statement: Statement,
    ext: DepositExt,
    signature: Uint8Array,
  ): Promise<void> {
    const token = assetOf(statement);
    const message = {
      from: ext.depositor,
      to: pool.address,
      value: statement.facts.amount,
      validAfter: ext.validAfter,
      validBefore: ext.validBefore,
      nonce: statement.hash,
    };
    const digest = authorizationDigest(await tokens.domainSeparator(token), message);
    if (recoverSigner(digest, signature) !== ext.depositor && !(await tokens.isContract(ext.depositor))) {
      throw unauthorized("authorization", "the depositor did not sign this statement");
    }
    const seconds = BigInt(nowSecs());
    if (ext.validBefore <= seconds) throw unauthorized("ext.valid_before", "the authorization has expired");
    if (ext.validAfter >= seconds)
      throw unauthorized("ext.valid_after", "the authorization is not valid yet");
    if (await tokens.isAuthorizationUsed(token, ext.depositor, statement.hash)) {
      throw unauthorized("authorization", "the authorization is used or cancelled");
    }
    if ((await tokens.balanceOf(token, ext.depositor)) < statement.facts.amount) {
      throw unauthorized("ext.depositor", "the depositor does not hold the amount");
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
      if (data.spender(nullifier) !== undefined || (await pool.isSpent(nullifier))) {
        throw new ApiError("NULLIFIER_SPENT", "a note of this statement is spent");
      }
      if (await tickets.isReserved(nullifier)) {
        throw new ApiError("NULLIFIER_PENDING", "a transaction under way uses a note of this statement");
      }
    }
  }

  return {
    state({ kind, body }) {
      const ext = extOf({ kind, body } as Submission);
      const statement = checkStatement(
        pool.home,
        kind,
        BigInt(body.deadline),
        body.public_signals.map(BigInt),
        encodeExt(ext),
      );
      if (typeof statement === "string") throw faultError(statement);
      requirePoolTerms(statement, pool.address);
      const proof = parseSnarkjsProof(body.proof);
      if (proof === undefined)
        throw new ApiError("PROOF_INVALID", "the proof's coordinates are not canonical");
      return {
        statement,
        proof,
        authorization: "authorization" in body ? mustFromHex(body.authorization) : new Uint8Array(0),
        openings: body.fees,
      };
    },

    async admit({ statement, authorization, openings }) {
      const seconds = nowSecs();
      if (statement.deadline < BigInt(seconds)) throw invalid("deadline", "is past");
      if (statement.deadline > BigInt(seconds + MAX_AHEAD_SECS + AHEAD_SLACK_SECS)) {
        throw invalid("deadline", "is more than 24 hours ahead");
      }
      fees.check({ kind: statement.kind, facts: statement.facts, openings });
      await orUnavailable(requireSpendable(statement));
      if (statement.ext.kind === "deposit-shield") {
        await orUnavailable(requireAuthorization(statement, statement.ext, authorization));
      }
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

function extOf(submission: Submission): Ext {
  switch (submission.kind) {
    case "deposit-shield": {
      const { depositor, valid_after, valid_before, ciphertexts } = submission.body.ext;
      return {
        kind: "deposit-shield",
        depositor: party(depositor, "ext.depositor"),
        validAfter: BigInt(valid_after),
        validBefore: BigInt(valid_before),
        ciphertexts: ciphertexts.map(mustFromHex),
      };
    }
    case "spend": {
      const { recipient, ciphertexts } = submission.body.ext;
      return {
        kind: "spend",
        recipient: party(recipient, "ext.recipient"),
        ciphertexts: ciphertexts.map(mustFromHex),
      };
    }
  }
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
  if (ext.kind !== "spend" || ext.recipient === ZERO_ADDRESS) return;
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
      return invalid("public_signals", "asset, amount and the other party do not fit together");
    case "CONTEXT_MISMATCH":
      return new ApiError(
        "CONTEXT_MISMATCH",
        "the context signal is not the hash of this chain, pool, deadline and ext",
      );
  }
}

function invalid(path: string, message: string): ApiError {
  return new ApiError("INVALID_REQUEST", `${path} ${message}`, { fields: [{ path, message }] });
}

function unauthorized(path: string, message: string): ApiError {
  const fields: FieldError[] = [{ path, message }];
  return new ApiError("AUTHORIZATION_INVALID", message, { fields });
}

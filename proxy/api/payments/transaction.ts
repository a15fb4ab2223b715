/**
 * A body as the transaction that it asks for: its statement, built and checked by the rules that need no chain. Pure;
 * everything in a body is untrusted.
 */
import { decodeUniswapPath, type PathFault, type TokenPath } from "../../../shared/api/uniswap-path.ts";
import {
  addressFromField,
  asField,
  ZERO_ADDRESS,
  type Address,
  type Bytes32,
  type Field,
} from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { encodeExt, writeSignals } from "../../../shared/protocol/host/statements.ts";
import type { Proof } from "../../../shared/protocol/proof.ts";
import {
  checkStatement,
  contextOf,
  statementHashOf,
  type Ext,
  type Home,
  type Statement,
  type StatementFault,
} from "../../../shared/protocol/statements.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { Body } from "./body.ts";

/** A statement whose form and rules are good; nothing is known yet about its proof or the chain. */
export interface Transaction {
  readonly statement: Statement;
  readonly proof: Proof;
  /** Of a deposit, unless its depositor is to send it; and what shows the earlier statement of one that comes again. Else empty. */
  readonly authorization: Uint8Array;
  readonly openings: Body["fees"];
  /** The suspended statement that this one is, proved again. */
  readonly earlier?: Earlier;
}

/** What a statement was proved on before, as its caller says. */
export interface Earlier {
  readonly statement: Bytes32;
  readonly deadline: bigint;
  readonly root: Field;
}

/** Throws INVALID_REQUEST, CONTEXT_MISMATCH or PROOF_INVALID. `home`: the chain and the pool. */
export function toTransaction(body: Body, home: Home): Transaction {
  const { ext, tokenIn } = readExt(body);
  const signals = body.public_signals.map(BigInt);
  const statement = checkStatement(home, body.kind, BigInt(body.deadline), signals, encodeExt(ext));
  if (typeof statement === "string") throw faultError(statement);
  // Of the path's ends only the second is part of ext: the first is the statement's asset or a slip.
  if (tokenIn !== undefined && tokenIn !== assetOf(statement)) {
    throw invalid("ext.path", "does not begin with the asset of the statement");
  }
  requirePoolTerms(statement, home.pool);
  const proof = parseSnarkjsProof(body.proof);
  if (proof === undefined) throw new ApiError("PROOF_INVALID", "the proof's coordinates are not canonical");
  const earlier = earlierOf(body, statement);
  const made = { statement, proof, authorization: authorizationOf(body), openings: body.fees };
  return earlier === undefined ? made : { ...made, earlier };
}

/** `tokenIn`: of a swap. */
function readExt(body: Body): { readonly ext: Ext; readonly tokenIn?: Address } {
  const { kind } = body;
  const sealed = {
    ephemeralKey: mustFromHex(body.ext.ephemeral_key),
    ciphertexts: body.ext.ciphertexts.map(mustFromHex),
  };
  switch (kind) {
    case "deposit-shield": {
      const depositor = party(body.ext.depositor, "ext.depositor");
      const [validAfter, validBefore] = [BigInt(body.ext.valid_after), BigInt(body.ext.valid_before)];
      return { ext: { kind, depositor, validAfter, validBefore, ...sealed } };
    }
    case "spend":
    case "spend9":
      return { ext: { kind, recipient: party(body.ext.recipient, "ext.recipient"), ...sealed } };
    case "private-swap": {
      const { tokenIn, tokenOut, path } = pathOf(body.ext);
      const [minAmountOut, npkOut] = [BigInt(body.ext.min_amount_out), BigInt(body.ext.npk_out)];
      return { ext: { kind, tokenOut, minAmountOut, npkOut, path, ...sealed }, tokenIn };
    }
  }
}

/** The path of a swap, with what `STATEMENT_INVALID` would not tell apart refused by name. */
function pathOf(ext: Extract<Body, { kind: "private-swap" }>["ext"]): TokenPath {
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

/** The same statement but for deadline and root, and so for its context. */
function earlierOf(body: Body, { home, kind, facts, extBytes }: Statement): Earlier | undefined {
  if (body.kind === "deposit-shield" || body.earlier === undefined) return undefined;
  const deadline = BigInt(body.earlier.deadline);
  const root = asField(BigInt(body.earlier.root));
  if (root === undefined) throw invalid("earlier.root", "is not below the group order");
  const context = contextOf(home, kind, deadline, extBytes);
  const signals = writeSignals(kind, { ...facts, root, context });
  return { statement: statementHashOf(kind, deadline, signals, extBytes), deadline, root };
}

function authorizationOf(body: Body): Uint8Array {
  const given = body.kind === "deposit-shield" ? body.authorization : undefined;
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

/** The token that it moves. */
export function assetOf({ facts }: Statement): Address {
  const asset = addressFromField(facts.asset);
  if (asset === undefined) throw new RangeError("a checked statement names an address");
  return asset;
}

function faultError(fault: StatementFault): ApiError {
  if (fault !== "CONTEXT_MISMATCH") return invalid(...STATEMENT_FAULTS[fault]);
  return new ApiError(fault, "the context signal is not the hash of this chain, pool, deadline and ext");
}

const STATEMENT_FAULTS: Readonly<Record<Exclude<StatementFault, "CONTEXT_MISMATCH">, [string, string]>> = {
  SIGNAL_COUNT: ["public_signals", "has another number of signals than this kind"],
  SIGNAL_RANGE: ["public_signals", "a signal is not below the group order"],
  EXT_MALFORMED: ["ext", "does not have the form of this kind"],
  NULLIFIERS_NOT_DISTINCT: ["public_signals", "the nullifiers are not distinct"],
  STATEMENT_INVALID: ["public_signals", "asset, amount and the terms of ext do not fit together"],
};

export function invalid(path: string, message: string): ApiError {
  return new ApiError("INVALID_REQUEST", `${path} ${message}`, { fields: [{ path, message }] });
}

/**
 * Attestations from the configured enclaves. An enclave's reply is used only after the signature was
 * recovered over the digest that we computed ourselves, and the signer is one the pool accepts: whoever sits
 * at the socket can refuse service, but cannot make the proxy send anything the pool would not take.
 */
import {
  attestationDigest,
  rootUpdateDigest,
  type RootUpdate,
} from "../../../shared/protocol/attestation.ts";
import type { SignedBy } from "../../../shared/protocol/host/signed-by.ts";
import type { Address, Bytes32, Field } from "../../../shared/protocol/brands.ts";
import { toBytes32 } from "../../../shared/protocol/bytes.ts";
import type {
  AttestRequest,
  AttestRootRequest,
  EnclaveReply,
  Refusal,
} from "../../../shared/protocol/enclave-messages.ts";
import { proofHashOf, type Proof } from "../../../shared/protocol/proof.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { encodeProof } from "../../../shared/protocol/host/proofs.ts";
import { KINDS, type Home, type Kind, type Statement } from "../../../shared/protocol/statements.ts";
import { MAX_UPDATE_LEAVES } from "../../../shared/protocol/tree.ts";
import { ApiError } from "../../base/http/errors.ts";
import type { Disagreements } from "./disagreements.ts";
import { EnclaveUnreachable, type EnclaveLink } from "./link.ts";

/** What the pool says about attestations now. */
export interface AttestationRules {
  readonly home: Home;
  threshold(): Promise<number>;
  /** Of the verifier in this signer's image; undefined where the pool does not accept the signer. */
  kindOf(signer: Address): Promise<number | undefined>;
  verifyingKeyHash(kind: Kind): Promise<Bytes32>;
  /** Undefined for bytes that are no canonical signature. */
  recover(digest: Uint8Array, signature: Uint8Array): Promise<Address | undefined> | Address | undefined;
}

/** Leaves `fromIndex` and on, appended to the tree whose frontier this is. */
export interface RootRequest {
  readonly fromIndex: number;
  readonly headBefore: Bytes32;
  readonly frontier: readonly Field[];
  readonly leaves: readonly Field[];
  /** What the update has to say, computed by ourselves: anything else is not used. */
  readonly expected: RootUpdate;
}

/**
 * Everything but the pairing was checked before the enclave was asked, so a refusal of anything else is its fault or ours.
 * One enclave that says so does not keep the others from signing.
 */
export class EnclaveContradicts extends Error {
  readonly refusal: Refusal;
  constructor(refusal: Refusal) {
    super(`an enclave refused what this proxy had checked: ${refusal}`);
    this.name = "EnclaveContradicts";
    this.refusal = refusal;
  }
}

/** Distinct signers that count, and the kinds among them; and what the pool wants of both. */
export interface TooFew {
  readonly signers: number;
  readonly kinds: number;
  readonly needed: { readonly signers: number; readonly kinds: number };
}

export interface Attestor {
  /**
   * Exactly `threshold` attestations by distinct signers that the pool accepts, of as many kinds of verifier as it
   * wants. Throws ApiError PROOF_INVALID or ENCLAVE_UNAVAILABLE, or EnclaveContradicts.
   */
  attest(statement: Statement, proof: Proof): Promise<SignedBy[]>;
  /** The same for a root update. */
  attestRoot(request: RootRequest): Promise<SignedBy[]>;
  /**
   * As many of `attestations` as the pool wants: distinct, recovered from the digest, accepted by the pool now, of as
   * many kinds as it wants. Otherwise how many would count.
   */
  accepted(
    statement: Statement,
    proofHash: Bytes32,
    attestations: readonly SignedBy[],
  ): Promise<readonly SignedBy[] | TooFew>;
}

interface Question {
  readonly request: AttestRequest | AttestRootRequest;
  /** Computed by ourselves. */
  readonly digest: Uint8Array;
  /** Undefined for a reply to anything else. */
  readonly signatureIn: (reply: EnclaveReply) => Uint8Array | undefined;
}

interface Counted extends SignedBy {
  readonly kind: number;
}

interface Signed extends Counted {
  readonly place: number;
}

/** An enclave's verdict that this may not be signed, or that something else follows from it. */
interface Refused {
  readonly place: number;
  readonly code: Refusal | typeof ANOTHER_OUTCOME;
  readonly error: ApiError | EnclaveContradicts;
}

/** How many kinds of verifier a pool with this threshold wants signatures of. */
const kindsNeeded = (threshold: number): number => Math.min(threshold, VERIFIER_KINDS);
const VERIFIER_KINDS = 2;
/** Said of a reply about another statement, proof or root than the one that was asked about. */
const ANOTHER_OUTCOME = "ANOTHER_OUTCOME";

class EnclavesAttest implements Attestor {
  readonly #links: readonly EnclaveLink[];
  readonly #rules: AttestationRules;
  readonly #disagreements: Pick<Disagreements, "open" | "report">;
  /** By place, as last learned. A guess of whom to ask: what an answer counts for, its signature says. */
  readonly #kindsSeen: (number | undefined)[];
  /**
   * Asks as many enclaves at once as signatures are missing, and others in the place of those that gave none, for as
   * long as there are enough of them.
   */
  #turn = 0;

  constructor(
    links: readonly EnclaveLink[],
    rules: AttestationRules,
    disagreements: Pick<Disagreements, "open" | "report">,
  ) {
    this.#links = links;
    this.#rules = rules;
    this.#disagreements = disagreements;
    this.#kindsSeen = links.map(() => undefined);
  }

  async attest(statement: Statement, proof: Proof) {
    const proofHash = proofHashOf(proof);
    const request: AttestRequest = {
      type: "attest",
      chainId: this.#rules.home.chainId,
      pool: this.#rules.home.pool,
      kindId: KINDS[statement.kind].id,
      deadline: statement.deadline,
      proof: encodeProof(proof),
      signals: statement.signals,
      ext: statement.extBytes,
    };
    return this.#collect({
      request,
      digest: await this.#statementDigest(statement, proofHash),
      signatureIn: (reply) =>
        reply.type === "attest" && reply.statementHash === statement.hash && reply.proofHash === proofHash
          ? reply.signature
          : undefined,
    });
  }

  async attestRoot({ fromIndex, headBefore, frontier, leaves, expected }: RootRequest) {
    if (leaves.length === 0 || leaves.length > MAX_UPDATE_LEAVES)
      throw new RangeError("a root update covers 1 to 256 leaves");
    const request: AttestRootRequest = {
      type: "attest-root",
      chainId: this.#rules.home.chainId,
      pool: this.#rules.home.pool,
      fromIndex: BigInt(fromIndex),
      headBefore,
      frontier,
      leaves,
    };
    return this.#collect({
      request,
      digest: rootUpdateDigest(this.#rules.home, expected),
      signatureIn: (reply) =>
        reply.type === "attest-root" &&
        reply.oldRoot === expected.oldRoot &&
        reply.newRoot === expected.newRoot &&
        reply.toIndex === expected.toIndex &&
        reply.headAfter === expected.headAfter
          ? reply.signature
          : undefined,
    });
  }

  async accepted(statement: Statement, proofHash: Bytes32, attestations: readonly SignedBy[]) {
    const [digest, needed] = await Promise.all([
      this.#statementDigest(statement, proofHash),
      this.#rules.threshold(),
    ]);
    const counted: Counted[] = [];
    for (const { signer: claimed, signature } of attestations) {
      const signer = await this.#rules.recover(digest, signature);
      if (signer === undefined || signer !== claimed) continue;
      const kind = await this.#rules.kindOf(signer);
      if (kind !== undefined && !counted.some((one) => one.signer === signer))
        counted.push({ kind, signer, signature });
    }
    if (missingOf(counted, needed) === 0) return chosenOf(counted, needed);
    return {
      signers: counted.length,
      kinds: kindsOf(counted),
      needed: { signers: needed, kinds: kindsNeeded(needed) },
    };
  }

  /** What this enclave signed, if it is what was asked for and the pool accepts the signer; or what it refused. */
  async #askOne(
    place: number,
    { request, digest, signatureIn }: Question,
  ): Promise<Signed | Refused | undefined> {
    const reply = await orUnreachable(this.#links[place]!.ask(request));
    if (reply === undefined) return undefined;
    if (reply.type === "refused") {
      const error = refusalError(reply.code);
      const isVerdict = error instanceof EnclaveContradicts || error.code !== "ENCLAVE_UNAVAILABLE";
      return isVerdict ? { place, code: reply.code, error } : undefined;
    }
    const signature = signatureIn(reply);
    if (signature === undefined) return { place, code: ANOTHER_OUTCOME, error: tooFew() };
    const signer = await this.#rules.recover(digest, signature);
    const kind = signer && (await this.#rules.kindOf(signer));
    if (signer === undefined || kind === undefined) return undefined;
    this.#kindsSeen[place] = kind;
    return { place, kind, signer, signature };
  }

  /** Of the verifier at this place, by the signer that it names; undefined where the pool accepts none such. */
  async #kindAt(place: number): Promise<number | undefined> {
    const status = await orUnreachable(this.#links[place]!.ask({ type: "status" }));
    const kind = status?.type === "status" ? await this.#rules.kindOf(status.signer) : undefined;
    return (this.#kindsSeen[place] = kind ?? this.#kindsSeen[place]);
  }

  /**
   * Whether a verifier of one kind refused what one of another kind signed. Two of one kind are one program: if they
   * differ, a host lies or a machine is broken, which the other kind's signature makes up for.
   */
  async #disagree(
    { request, digest }: Question,
    signed: readonly Signed[],
    refused: readonly Refused[],
  ): Promise<boolean> {
    if (signed.length === 0 || refused.length === 0) return false;
    const against = await Promise.all(
      refused.map(async (one) => ({ ...one, kind: await this.#kindAt(one.place) })),
    );
    const differ = against.some(
      ({ kind: one }) => one !== undefined && signed.some(({ kind: other }) => other !== one),
    );
    if (!differ) return false;
    await this.#disagreements.report({
      id: toBytes32(digest),
      request: encodeRequest(0, request),
      answers: [
        ...signed.map(({ place: enclave, kind, signer, signature }) => ({
          enclave,
          kind,
          signer,
          signature,
        })),
        ...against.map(({ place: enclave, kind, code: refusal }) => ({
          ...{ enclave, refusal },
          ...(kind === undefined ? {} : { kind }),
        })),
      ],
    });
    return true;
  }

  /** Places to ask now: of each kind that is missing first, as far as kinds are known, beginning with another each time. */
  #next(left: number[], signed: readonly Signed[], needed: number): number[] {
    const chosen: number[] = [];
    const has = (kind: number): boolean =>
      signed.some((one) => one.kind === kind) || chosen.some((place) => this.#kindsSeen[place] === kind);
    const missing = missingOf(signed, needed);
    while (chosen.length < missing && left.length > 0) {
      const other = left.findIndex(
        (place) => this.#kindsSeen[place] === undefined || !has(this.#kindsSeen[place]),
      );
      chosen.push(...left.splice(Math.max(other, 0), 1));
    }
    return chosen;
  }

  async #collect(question: Question): Promise<SignedBy[]> {
    if (this.#disagreements.open() > 0) throw stopped();
    const needed = await this.#rules.threshold();
    const signed: Signed[] = [];
    const refused: Refused[] = [];
    const first = this.#turn++;
    const left = this.#links.map((_, i) => (first + i) % this.#links.length);
    while (missingOf(signed, needed) > 0 && left.length >= missingOf(signed, needed)) {
      const answers = await Promise.all(
        this.#next(left, signed, needed).map((place) => this.#askOne(place, question)),
      );
      for (const answer of answers) {
        if (answer === undefined) continue;
        if ("code" in answer) refused.push(answer);
        else if (!signed.some(({ signer }) => signer === answer.signer)) signed.push(answer);
      }
      if (await this.#disagree(question, signed, refused)) throw stopped();
      // A verdict on the caller's own proof is his answer. Others are asked where one refused what we had checked.
      const his = refused.find(
        ({ error }) => error instanceof ApiError && error.code !== "ENCLAVE_UNAVAILABLE",
      );
      if (his !== undefined) throw his.error;
    }
    if (missingOf(signed, needed) === 0) return chosenOf(signed, needed);
    throw refused[0]?.error ?? tooFew();
  }

  async #statementDigest(statement: Statement, proofHash: Bytes32): Promise<Uint8Array> {
    return attestationDigest(this.#rules.home, {
      kind: statement.kind,
      verifyingKeyHash: await this.#rules.verifyingKeyHash(statement.kind),
      statementHash: statement.hash,
      proofHash,
      deadline: statement.deadline,
    });
  }
}

export function createAttestor(
  links: readonly EnclaveLink[],
  rules: AttestationRules,
  disagreements: Pick<Disagreements, "open" | "report">,
): Attestor {
  return new EnclavesAttest(links, rules, disagreements);
}

const kindsOf = (signed: readonly Counted[]): number => new Set(signed.map(({ kind }) => kind)).size;

/** How many more signatures the pool wants, at the least. */
function missingOf(signed: readonly Counted[], needed: number): number {
  return Math.max(needed - signed.length, kindsNeeded(needed) - kindsOf(signed), 0);
}

/** One of each kind that the pool wants, then the others as they came. */
function chosenOf(signed: readonly Counted[], needed: number): SignedBy[] {
  const firsts = signed.filter((one, i) => signed.findIndex(({ kind }) => kind === one.kind) === i);
  return [...firsts, ...signed.filter((one) => !firsts.includes(one))]
    .slice(0, needed)
    .map(({ signer, signature }) => ({ signer, signature }));
}

async function orUnreachable<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof EnclaveUnreachable) return undefined;
    throw error;
  }
}

const tooFew = (): ApiError =>
  new ApiError("ENCLAVE_UNAVAILABLE", "too few enclaves answer at the moment", { retryAfterSecs: 2 });

/** Until an operator has looked: nobody's patience is measured in seconds then. */
const STOPPED_SECS = 60;
const stopped = (): ApiError =>
  new ApiError("ENCLAVE_UNAVAILABLE", "attestation is stopped: the verifiers gave different verdicts", {
    retryAfterSecs: STOPPED_SECS,
  });

function refusalError(
  code: Extract<EnclaveReply, { type: "refused" }>["code"],
): ApiError | EnclaveContradicts {
  switch (code) {
    case "PROOF_INVALID":
    case "PROOF_NOT_CANONICAL":
    case "PROOF_NOT_ON_CURVE":
    case "PROOF_NOT_IN_SUBGROUP":
    case "PROOF_AT_INFINITY":
      return new ApiError("PROOF_INVALID", "the enclave refused the proof");
    case "CONTEXT_MISMATCH":
      return new ApiError("CONTEXT_MISMATCH", "the proof is bound to other terms");
    case "BUSY":
    case "WRONG_PHASE":
    case "PLATFORM_UNAVAILABLE":
      return new ApiError("ENCLAVE_UNAVAILABLE", "the enclave is busy or not serving", { retryAfterSecs: 2 });
    case "UNKNOWN_KIND":
    case "SIGNAL_COUNT":
    case "SIGNAL_RANGE":
    case "EXT_MALFORMED":
    case "NULLIFIERS_NOT_DISTINCT":
    case "STATEMENT_INVALID":
    case "FRONTIER_INVALID":
    case "LEAVES_INVALID":
    case "NONCE_INVALID":
    case "RESTORE_REFUSED":
      return new EnclaveContradicts(code);
  }
}

/**
 * Attestations from the configured enclaves. An enclave's reply is used only after the signature was
 * recovered over the digest that we computed ourselves, and the signer is one the pool accepts: whoever sits
 * at the socket can refuse service, but cannot make the proxy send anything the pool would not take.
 */
import {
  attestationDigest,
  rootUpdateDigest,
  type RootUpdate,
  type SignedBy,
} from "../../shared/protocol/attestation.ts";
import type { Address, Bytes32, Field } from "../../shared/protocol/brands.ts";
import type {
  AttestRequest,
  AttestRootRequest,
  EnclaveReply,
  EnclaveRequest,
  Refusal,
} from "../../shared/protocol/enclave-messages.ts";
import { proofHashOf, type Proof } from "../../shared/protocol/proof.ts";
import { encodeProof } from "../../shared/protocol/host/proofs.ts";
import { KINDS, type Home, type Kind, type Statement } from "../../shared/protocol/statements.ts";
import { MAX_UPDATE_LEAVES } from "../../shared/protocol/tree.ts";
import { ApiError } from "../http/errors.ts";
import { EnclaveUnreachable, type EnclaveLink } from "./link.ts";

/** What the pool says about attestations now. */
export interface AttestationRules {
  readonly home: Home;
  threshold(): Promise<number>;
  isSigner(signer: Address): Promise<boolean>;
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

export interface Attestor {
  /** Exactly `threshold` attestations by distinct signers that the pool accepts. Throws ApiError PROOF_INVALID or ENCLAVE_UNAVAILABLE, or EnclaveContradicts. */
  attest(statement: Statement, proof: Proof): Promise<SignedBy[]>;
  /** The same for a root update. */
  attestRoot(request: RootRequest): Promise<SignedBy[]>;
  /** The signers of `attestations` that count: distinct, recovered from the digest, accepted by the pool now. */
  accepted(statement: Statement, proofHash: Bytes32, attestations: readonly SignedBy[]): Promise<SignedBy[]>;
}

interface Question {
  readonly request: EnclaveRequest;
  /** Computed by ourselves. */
  readonly digest: Uint8Array;
  /** Undefined for a reply to anything else. */
  readonly signatureIn: (reply: EnclaveReply) => Uint8Array | undefined;
}

export function createAttestor(links: readonly EnclaveLink[], rules: AttestationRules): Attestor {
  const { home } = rules;

  /** What this enclave signed, if it is what was asked for and the pool accepts the signer. */
  async function askOne(
    link: EnclaveLink,
    { request, digest, signatureIn }: Question,
    contradictions: EnclaveContradicts[],
  ): Promise<SignedBy | undefined> {
    let reply: EnclaveReply;
    try {
      reply = await link.ask(request);
    } catch (error) {
      if (error instanceof EnclaveUnreachable) return undefined;
      throw error;
    }
    if (reply.type === "refused") {
      const refusal = refusalError(reply.code);
      if (refusal instanceof EnclaveContradicts) contradictions.push(refusal);
      else if (refusal.code !== "ENCLAVE_UNAVAILABLE") throw refusal;
      return undefined;
    }
    const signature = signatureIn(reply);
    const signer = signature === undefined ? undefined : await rules.recover(digest, signature);
    if (signature === undefined || signer === undefined || !(await rules.isSigner(signer))) return undefined;
    return { signer, signature };
  }

  /**
   * Asks as many enclaves at once as signatures are missing, beginning with another each time, and others in the
   * place of those that gave none, for as long as there are enough of them.
   */
  let turn = 0;
  async function collect(question: Question): Promise<SignedBy[]> {
    const needed = await rules.threshold();
    const signed: SignedBy[] = [];
    const first = turn++;
    const left = links.map((_, i) => links[(first + i) % links.length]!);
    const contradictions: EnclaveContradicts[] = [];
    while (signed.length < needed && signed.length + left.length >= needed) {
      const asked = left.splice(0, needed - signed.length);
      const answers = await Promise.all(asked.map((link) => askOne(link, question, contradictions)));
      for (const answer of answers) {
        if (answer !== undefined && !signed.some(({ signer }) => signer === answer.signer))
          signed.push(answer);
      }
    }
    if (signed.length >= needed) return signed;
    throw (
      contradictions[0] ??
      new ApiError("ENCLAVE_UNAVAILABLE", "too few enclaves answer at the moment", { retryAfterSecs: 2 })
    );
  }

  async function statementDigest(statement: Statement, proofHash: Bytes32): Promise<Uint8Array> {
    return attestationDigest(home, {
      kind: statement.kind,
      verifyingKeyHash: await rules.verifyingKeyHash(statement.kind),
      statementHash: statement.hash,
      proofHash,
      deadline: statement.deadline,
    });
  }

  return {
    async attest(statement, proof) {
      const proofHash = proofHashOf(proof);
      const request: AttestRequest = {
        type: "attest",
        chainId: home.chainId,
        pool: home.pool,
        kindId: KINDS[statement.kind].id,
        deadline: statement.deadline,
        proof: encodeProof(proof),
        signals: statement.signals,
        ext: statement.extBytes,
      };
      return collect({
        request,
        digest: await statementDigest(statement, proofHash),
        signatureIn: (reply) =>
          reply.type === "attest" && reply.statementHash === statement.hash && reply.proofHash === proofHash
            ? reply.signature
            : undefined,
      });
    },

    async attestRoot({ fromIndex, headBefore, frontier, leaves, expected }) {
      if (leaves.length === 0 || leaves.length > MAX_UPDATE_LEAVES)
        throw new RangeError("a root update covers 1 to 256 leaves");
      const request: AttestRootRequest = {
        type: "attest-root",
        chainId: home.chainId,
        pool: home.pool,
        fromIndex: BigInt(fromIndex),
        headBefore,
        frontier,
        leaves,
      };
      return collect({
        request,
        digest: rootUpdateDigest(home, expected),
        signatureIn: (reply) =>
          reply.type === "attest-root" &&
          reply.oldRoot === expected.oldRoot &&
          reply.newRoot === expected.newRoot &&
          reply.toIndex === expected.toIndex &&
          reply.headAfter === expected.headAfter
            ? reply.signature
            : undefined,
      });
    },

    async accepted(statement, proofHash, attestations) {
      const digest = await statementDigest(statement, proofHash);
      const counted = new Map<Address, SignedBy>();
      for (const { signer: claimed, signature } of attestations) {
        const signer = await rules.recover(digest, signature);
        if (signer === undefined || signer !== claimed || counted.has(signer)) continue;
        if (await rules.isSigner(signer)) counted.set(signer, { signer, signature });
      }
      return [...counted.values()];
    },
  };
}

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

// Statements of every kind with real proofs by the committed development keys: those of the test vectors.
import { decodeProof, type Proof } from "../../../../shared/protocol/proof.ts";
import { encodeProof } from "../../../../shared/protocol/host/proofs.ts";
import type { Field } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { mustFromHex } from "../../../../shared/protocol/bytes.ts";
import type { AttestRequest } from "../../../../shared/protocol/enclave-messages.ts";
import { poseidon2 } from "../../../../shared/protocol/host/poseidon.ts";
import { contextOf, type Kind } from "../../../../shared/protocol/statements.ts";
import { signalNames } from "../../../../shared/protocol/host/statements.ts";
import { HOME, statementCalled } from "../../../contract/vectors/story.ts";

export const SOMEBODY = asAddress(`0x${"5b".repeat(20)}`)!;

export interface Proven {
  readonly request: AttestRequest;
  readonly proof: Proof;
}

export const aProvenDeposit = (): Proven => told("a deposit");
export const aProvenSpend = (): Proven => told("a withdrawal");
export const aProvenSpend9 = (): Proven => told("a payment of many notes");
export const aProvenSwap = (): Proven => told("a swap through one pool");

/** One of each kind. */
export const PROVEN: readonly (readonly [kind: Kind, make: () => Proven])[] = [
  ["deposit-shield", aProvenDeposit],
  ["spend", aProvenSpend],
  ["spend9", aProvenSpend9],
  ["private-swap", aProvenSwap],
];

function told(name: string): Proven {
  const { kindId, deadline, proof: bytes, signals, extBytes } = statementCalled(name);
  const proof = decodeProof(mustFromHex(bytes));
  if (proof === undefined) throw new Error(`the vectors' proof of ${name} is none`);
  return {
    proof,
    request: {
      ...{ type: "attest", ...HOME, kindId, deadline: BigInt(deadline) },
      proof: encodeProof(proof),
      signals: signals.map(BigInt),
      ext: mustFromHex(extBytes),
    },
  };
}

/** The request with some signals changed and `context` made right again, so that a later check is reached. */
export function withSignals(
  request: AttestRequest,
  kind: Kind,
  changes: Record<string, bigint>,
): AttestRequest {
  const names = signalNames(kind);
  const signals = request.signals.map((value, i) => changes[names[i]!] ?? value);
  signals[0] = changes["context"] ?? contextOf(request, kind, request.deadline, request.ext);
  return { ...request, signals };
}

export function leaves(count: number, first = 1n): Field[] {
  return Array.from({ length: count }, (_, i) => poseidon2(first, BigInt(i)));
}

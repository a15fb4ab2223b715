/**
 * The judge: what may be signed of some requests, and why the others are refused. Pure: it knows no key, no chain, no clock
 * and no socket, keeps nothing between two calls, and signs nothing. Whoever holds the key signs the digest, and only that.
 */
import { bytesOf, concatBytes, word } from "./bytes.ts";
import { attestationDigest, rootUpdateDigest } from "./digest.ts";
import { Groth16, type Claim, type ProofVerdict, type Random } from "./groth16.ts";
import { proofHashOf, readCoordinates, readPoints, type Coordinates } from "./proof.ts";
import { readRequest, type AttestRequest, type RootRequest } from "./request.ts";
import {
  checkRules,
  checkSignals,
  statementHashOf,
  type SignalFault,
  type StatementFault,
} from "./statement.ts";
import { recomputeUpdate } from "./tree.ts";
import { readKeys } from "./verification-key.ts";

export type RefusalCode =
  | SignalFault
  | "PROOF_NOT_CANONICAL"
  | StatementFault
  | "PROOF_AT_INFINITY"
  | "PROOF_NOT_ON_CURVE"
  | Exclude<ProofVerdict, "PROOF_HOLDS">
  | "FRONTIER_INVALID"
  | "LEAVES_INVALID";

export type Verdict =
  /** `digest` is what is signed (32 bytes), `reply` the body of the reply in front of the signature. */
  | { readonly type: "accepted"; readonly digest: Uint8Array; readonly reply: Uint8Array }
  | { readonly type: "refused"; readonly code: RefusalCode }
  /** No request that is judged; its sender is not one to go on with. */
  | { readonly type: "malformed" };

export interface Request {
  /** Of the frame: SPEC, section 9. */
  readonly type: number;
  readonly body: Uint8Array;
}

export interface Judge {
  /** A verdict for each request, in their order. Their proofs are verified together: some dozens at once are cheapest. */
  judge(requests: readonly Request[]): readonly Verdict[];
}

/** `keys` is `verificationKeys` of the configuration; throws when it is not as it should be. */
export function openJudge(keys: unknown, random: Random): Judge {
  const verificationKeys = readKeys(keys);
  const groth16 = new Groth16(verificationKeys, random);

  const acceptedStatement = ({ request, coordinates, claim }: Candidate): Verdict => {
    const [statementHash, proofHash] = [statementHashOf(request), proofHashOf(coordinates)];
    const keyHash = verificationKeys[claim.kind].hash;
    const digest = attestationDigest(request, { ...request, keyHash, statementHash, proofHash });
    return { type: "accepted", digest, reply: concatBytes(statementHash, proofHash) };
  };

  return {
    judge(requests) {
      const seen = requests.map(({ type, body }) => judgeWithoutEquation(readRequest(type, body)));
      const candidates = seen.filter((each) => each.type === "candidate");
      const proved = groth16.verify(candidates.map(({ claim }) => claim));
      const verdicts = new Map(candidates.map((candidate, i) => [candidate, proved[i]!]));
      return seen.map((each) => {
        if (each.type !== "candidate") return each;
        const verdict = verdicts.get(each)!;
        return verdict === "PROOF_HOLDS" ? acceptedStatement(each) : refused(verdict);
      });
    },
  };
}

/** A statement of which everything holds but the equation, which is not looked at yet. */
interface Candidate {
  readonly type: "candidate";
  readonly request: AttestRequest;
  readonly coordinates: Coordinates;
  readonly claim: Claim;
}

const refused = (code: RefusalCode): Verdict => ({ type: "refused", code });

function judgeWithoutEquation(request: AttestRequest | RootRequest | undefined): Verdict | Candidate {
  if (request === undefined) return { type: "malformed" };
  return request.type === "attest" ? candidateOf(request) : judgeRoot(request);
}

/** The first fault counts; nothing costly is computed before everything cheap holds. */
function candidateOf(request: AttestRequest): Verdict | Candidate {
  const checked = checkSignals(request);
  if (typeof checked === "string") return refused(checked);
  const coordinates = readCoordinates(request.proof);
  if (coordinates === undefined) return refused("PROOF_NOT_CANONICAL");
  const fault = checkRules(request);
  if (fault !== undefined) return refused(fault);
  const proof = readPoints(coordinates);
  if (typeof proof === "string") return refused(proof);
  const claim = { kind: checked.kind, proof, signals: request.signals };
  return { type: "candidate", request, coordinates, claim };
}

function judgeRoot(request: RootRequest): Verdict {
  const { fromIndex, frontier, headBefore, leaves } = request;
  const update = recomputeUpdate(fromIndex, frontier, headBefore, leaves);
  if (typeof update === "string") return refused(update);
  const { oldRoot, newRoot, toIndex, headAfter } = update;
  const reply = concatBytes(word(oldRoot), word(newRoot), bytesOf(toIndex, 8), headAfter);
  return { type: "accepted", digest: rootUpdateDigest(request, { ...request, ...update }), reply };
}

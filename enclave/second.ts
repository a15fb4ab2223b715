/**
 * The second program's judge: processes of enclave/second/, which this folder knows by the path of their file alone. They
 * are handed requests as they came, and say what to sign: nothing of the first verifier has a say here. What they
 * answer is hostile, since they read hostile bytes; an answer that is not of its request's exact form is never signed.
 */
import { SIGNATURE_BYTES } from "../shared/protocol/attestation.ts";
import { concatBytes, equalBytes, uintToBytes } from "../shared/protocol/bytes.ts";
import {
  FRAME_HEADER_BYTES,
  FRAME_VERSION,
  FrameSplitter,
  REFUSALS,
  REFUSED,
  refused,
  REPLIES,
  REPLY,
  typeCode,
  type EnclaveReply,
} from "../shared/protocol/enclave-messages.ts";
import { decode, type Codec } from "../shared/protocol/layouts.ts";
import type { OpenJudge } from "./judge.ts";
import type { VerifierKind } from "./stream.ts";
import { startPool } from "./verifier-pool.ts";

/** A digest, and the reply that its signature belongs in; or a refusal. */
type Verdict =
  | { readonly digest: Uint8Array; readonly signed: (signature: Uint8Array) => EnclaveReply }
  | { readonly refusal: EnclaveReply };

/** Request id and type: what a request and its reply begin with. */
const HEAD_BYTES = 5;
const DIGEST_BYTES = 32;
const UNSIGNED = new Uint8Array(SIGNATURE_BYTES);
const JUDGING = ["attest", "attest-root"] as const;
/** What a judge may refuse for; the others of the list are this program's. */
const JUDGED = REFUSALS.slice(REFUSALS.indexOf("UNKNOWN_KIND"), REFUSALS.indexOf("LEAVES_INVALID") + 1);

export const openSecond: OpenJudge = async (platform, _configuration, text) => {
  const judge = await startPool(platform, secondVerifier(text));
  return async (signer, _request, payload) => {
    const verdict = await judge(payload);
    if (verdict === "BUSY") return refused("BUSY");
    return "refusal" in verdict ? verdict.refusal : verdict.signed(signer.sign(verdict.digest));
  };
};

/**
 * A batch is length[2] of the randomness, the randomness, and the frames; the answer is the replies' frames in the same
 * order. Where a signature would stand there is the digest.
 */
function secondVerifier(configuration: string): VerifierKind<Uint8Array, Verdict> {
  return {
    setUp: new TextEncoder().encode(configuration),
    encode: (payloads, randomness = new Uint8Array(0)) =>
      concatBytes(uintToBytes(BigInt(randomness.length), 2), randomness, ...payloads.map(frameOf)),
    decode(answer, payloads) {
      const replies = new FrameSplitter().push(answer) ?? [];
      const length = replies.reduce((sum, reply) => sum + FRAME_HEADER_BYTES + reply.length, 0);
      if (replies.length !== payloads.length || length !== answer.length) return undefined;
      const verdicts = replies.map((reply, i) => readVerdict(payloads[i]!, reply));
      return verdicts.every((verdict) => verdict !== undefined) ? verdicts : undefined;
    },
  };
}

function frameOf(payload: Uint8Array): Uint8Array {
  return concatBytes(Uint8Array.of(FRAME_VERSION), uintToBytes(BigInt(payload.length), 4), payload);
}

/** Undefined for all but a reply to this very request, of exactly its length. */
function readVerdict(payload: Uint8Array, reply: Uint8Array): Verdict | undefined {
  const id = HEAD_BYTES - 1;
  if (!equalBytes(reply.subarray(0, id), payload.subarray(0, id))) return undefined;
  const body = reply.subarray(HEAD_BYTES);
  if (reply[id] === REFUSED) {
    const code = REFUSALS[body[0] ?? NaN];
    return body.length === 1 && code && JUDGED.includes(code) ? { refusal: refused(code) } : undefined;
  }
  const type = JUDGING.find((each) => payload[id] === typeCode(each));
  if (type === undefined || reply[id] !== (typeCode(type) | REPLY)) return undefined;
  const end = body.length - DIGEST_BYTES;
  // As the reply will be, for its form: one that is too short has no digest either.
  const form: Codec<object> = REPLIES[type];
  const fields = decode(form, concatBytes(body.subarray(0, Math.max(end, 0)), UNSIGNED));
  const digest = body.subarray(end);
  return fields && { digest, signed: (signature) => ({ type, ...fields, signature }) as EnclaveReply };
}

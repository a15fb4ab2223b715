/**
 * The judge behind a stream of bytes: messages both ways, each length[4] big-endian and so many bytes. The first holds the
 * configuration (SPEC, section 9.1), of which `verificationKeys` is read, and is answered by an empty one. The others are batches:
 *
 *   length[2] of the weights' bytes, those bytes, frames
 *
 * and are answered by as many frames in the same order. Frames are those between proxy and enclave (SPEC, section 9), and so are the
 * replies, but for their end: where a signature would stand there is the digest, 32 bytes, and whoever holds the key signs
 * that. A frame that is no request of the judge's is answered by type 0; its sender's connection is to be closed.
 */
import { bytesOf, concatBytes, numberIn } from "./judge/bytes.ts";
import { openJudge, type RefusalCode, type Request, type Verdict } from "./judge/judge.ts";

const VERSION = 1;
const LENGTH_END = 5;
/** What the length counts: request id and type at least. */
const [LEAST, MOST] = [5, 65_536];
const ACCEPTED = 0x80;
const REFUSED = 0xff;
const MALFORMED = 0;
/** A refusal's number on the wire. The others of the list are not the judge's. */
const NUMBERS: Readonly<Record<RefusalCode, number>> = {
  UNKNOWN_KIND: 2,
  SIGNAL_COUNT: 3,
  SIGNAL_RANGE: 4,
  PROOF_NOT_CANONICAL: 5,
  PROOF_NOT_ON_CURVE: 6,
  PROOF_NOT_IN_SUBGROUP: 7,
  PROOF_AT_INFINITY: 8,
  EXT_MALFORMED: 9,
  NULLIFIERS_NOT_DISTINCT: 10,
  CONTEXT_MISMATCH: 11,
  STATEMENT_INVALID: 12,
  PROOF_INVALID: 13,
  FRONTIER_INVALID: 14,
  LEAVES_INVALID: 15,
};

interface Frame extends Request {
  /** Four bytes, given back as they came. */
  readonly id: Uint8Array;
}

/**
 * Answers messages until the stream ends. Throws for keys that are not as they should be, and for what is no batch: who
 * sends that is not the program that this was written for.
 */
export async function serve(
  stream: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array) => void,
): Promise<void> {
  let answer: ((batch: Uint8Array) => Uint8Array) | undefined;
  for await (const message of messagesIn(stream)) {
    if (answer === undefined) {
      answer = answerer(message);
      write(messageOf(new Uint8Array()));
    } else {
      write(messageOf(answer(message)));
    }
  }
}

const messageOf = (bytes: Uint8Array): Uint8Array => concatBytes(bytesOf(BigInt(bytes.length), 4), bytes);

async function* messagesIn(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let held: Uint8Array = new Uint8Array();
  for await (const chunk of stream) {
    held = concatBytes(held, chunk);
    while (held.length >= 4) {
      const end = 4 + Number(numberIn(held.slice(0, 4)));
      if (held.length < end) break;
      yield held.slice(4, end);
      held = held.slice(end);
    }
  }
  if (held.length > 0) throw new Error("the stream ends within a message");
}

/** From the configuration to a batch's replies. */
function answerer(configuration: Uint8Array): (batch: Uint8Array) => Uint8Array {
  const { verificationKeys } = JSON.parse(new TextDecoder().decode(configuration)) as {
    readonly verificationKeys?: unknown;
  };
  let weights: Uint8Array = new Uint8Array();
  const judge = openJudge(verificationKeys, (length) => {
    const drawn = weights.slice(0, length);
    weights = weights.slice(length);
    return drawn;
  });
  return (batch) => {
    const end = 2 + Number(numberIn(batch.slice(0, 2)));
    const frames = readFrames(batch.slice(end));
    weights = batch.slice(2, end);
    // Without weights there is no judging together.
    const verdicts =
      weights.length > 0 ? judge.judge(frames) : frames.flatMap((frame) => judge.judge([frame]));
    return concatBytes(...frames.map((frame, i) => replyTo(frame, verdicts[i]!)));
  };
}

function readFrames(bytes: Uint8Array): readonly Frame[] {
  const frames: Frame[] = [];
  let at = 0;
  while (at < bytes.length) {
    const begin = at + LENGTH_END;
    const length = Number(numberIn(bytes.slice(at + 1, begin)));
    const isFrame = bytes[at] === VERSION && length >= LEAST && length <= MOST;
    if (!isFrame || bytes.length < begin + length) throw new Error("no frame");
    at = begin + length;
    frames.push({
      id: bytes.slice(begin, begin + 4),
      type: bytes[begin + 4]!,
      body: bytes.slice(begin + 5, at),
    });
  }
  return frames;
}

function replyTo({ id, type }: Frame, verdict: Verdict): Uint8Array {
  switch (verdict.type) {
    case "accepted":
      return frame(id, type | ACCEPTED, concatBytes(verdict.reply, verdict.digest));
    case "refused":
      return frame(id, REFUSED, Uint8Array.of(NUMBERS[verdict.code]));
    case "malformed":
      return frame(id, MALFORMED, new Uint8Array());
  }
}

const frame = (id: Uint8Array, type: number, body: Uint8Array): Uint8Array =>
  concatBytes(Uint8Array.of(VERSION), bytesOf(BigInt(LEAST + body.length), 4), id, Uint8Array.of(type), body);

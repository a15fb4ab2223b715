/**
 * The two verifiers side by side, on the same bytes: the enclave's own code up to and with its signature, and the second
 * verifier's judge, whose digest the same key signs. What is compared are whole replies, byte for byte.
 */
import { randomBytes } from "node:crypto";
import { computeAddress, hexlify } from "ethers";
import { attest, type Attesting } from "../../../enclave/attest.ts";
import { attestRoot } from "../../../enclave/attest-root.ts";
import { parseConfiguration } from "../../../enclave/configuration.ts";
import { openJudge, type Judge, type Verdict } from "../../../enclave/second/judge/judge.ts";
import { Signer } from "../../../enclave/signer.ts";
import { buildGroth16 } from "../../../enclave/verify.ts";
import { concatBytes, mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import {
  decodeRequest,
  encodeReply,
  REFUSALS,
  type EnclaveReply,
} from "../../../shared/protocol/enclave-messages.ts";
import { KIND_NAMES } from "../../../shared/protocol/statements.ts";
import { verificationKeyHash } from "../../../shared/protocol/verification-key.ts";
import { readKeyFiles } from "../../build/circuits/artefacts.ts";
import { developmentConfiguration } from "../../image/configuration.ts";
import { trapdoorKeys } from "../bench/trapdoor/keys.ts";
import { Draw } from "./draw.ts";
import { KEY_SETS, type Keys, type KeySet } from "./origins.ts";
import type { RequestCase, Requests } from "./requests.ts";

/** A reply's type and body in hex, and a word for the counts. */
export interface Answer {
  readonly word: string;
  readonly reply: string;
}
/** Answers to cases of one set of keys. */
export type Verifier = (cases: readonly RequestCase[]) => Promise<readonly Answer[]>;
export type Verifiers = Readonly<Record<KeySet, Verifier>>;

const MALFORMED: Answer = { word: "MALFORMED", reply: "" };
const REQUEST_ID_BYTES = 4;
const FRAME_BYTES = 5;
const SECRET = new Uint8Array(32).fill(1);

export async function openSigner(): Promise<Signer> {
  const { hash } = parseConfiguration(await developmentConfiguration());
  const domain = new TextEncoder().encode("cloister-signing-key");
  const address = mustFromHex(computeAddress(hexlify(SECRET)));
  const signer = Signer.open(concatBytes(domain, Uint8Array.of(1), address, mustFromHex(hash), SECRET), {
    hash,
  });
  if (signer === undefined) throw new Error("the enclave takes no key of this layout");
  return signer;
}

export async function openFirst(keys: Keys, signer: Signer): Promise<Verifiers> {
  const entries = KEY_SETS.map(async (set) => {
    const hashes = KIND_NAMES.map((kind) => [kind, verificationKeyHash(keys[set][kind])] as const);
    const verifyingKeyHashes = Object.fromEntries(hashes) as Attesting["verifyingKeyHashes"];
    const groth16 = await buildGroth16(keys[set]);
    const verify: Attesting["verify"] = async (claim) => groth16.verdicts([claim])[0]!;
    const answer = async ({ payload }: RequestCase): Promise<Answer> => {
      const read = decodeRequest(payload);
      if (read === undefined) return MALFORMED;
      const { message, requestId } = read;
      // A changed type can be that of another request, which is none of both verifiers'.
      if (message.type !== "attest" && message.type !== "attest-root") return MALFORMED;
      const reply: EnclaveReply =
        message.type === "attest"
          ? await attest({ signer, verify, verifyingKeyHashes }, message)
          : attestRoot(signer, message);
      const word = reply.type === "refused" ? reply.code : "ACCEPTED";
      return { word, reply: toHex(encodeReply(requestId, reply).slice(FRAME_BYTES + REQUEST_ID_BYTES)) };
    };
    const all: Verifier = async (cases) => {
      const answers: Answer[] = [];
      for (const one of cases) answers.push(await answer(one));
      return answers;
    };
    return [set, all] as const;
  });
  return Object.fromEntries(await Promise.all(entries)) as Verifiers;
}

export async function openSecond(signer: Signer): Promise<Verifiers> {
  const files = { committed: await readKeyFiles(), simulated: await trapdoorKeys() };
  const judges = KEY_SETS.map((set) => {
    const judge = openJudge(JSON.parse(JSON.stringify(files[set])), (length) => randomBytes(length));
    return [set, secondOf(judge, signer)] as const;
  });
  return Object.fromEntries(judges) as Verifiers;
}

export function secondOf(judge: Judge, signer: Pick<Signer, "sign">): Verifier {
  return async (cases) => {
    const requests = cases.map(({ payload }) => ({
      // Without a type there is no request; 0 is none's.
      type: payload[REQUEST_ID_BYTES] ?? 0,
      body: payload.slice(REQUEST_ID_BYTES + 1),
    }));
    return judge.judge(requests).map((verdict, i) => answerOf(verdict, requests[i]!.type, signer));
  };
}

function answerOf(verdict: Verdict, type: number, signer: Pick<Signer, "sign">): Answer {
  switch (verdict.type) {
    case "malformed":
      return MALFORMED;
    case "refused":
      return { word: verdict.code, reply: toHex(Uint8Array.of(0xff, REFUSALS.indexOf(verdict.code))) };
    case "accepted": {
      const body = concatBytes(verdict.reply, signer.sign(verdict.digest));
      return { word: "ACCEPTED", reply: toHex(concatBytes(Uint8Array.of(type | 0x80), body)) };
    }
  }
}

// ---------------------------------------------------------------- the campaign

export interface Difference {
  readonly index: number;
  readonly one: RequestCase;
  readonly first: Answer;
  readonly second: Answer;
}
export interface Outcome {
  readonly difference: Difference | undefined;
  /** By name of the case, what both said, and how often. */
  readonly counts: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

const CHUNK = 32;

/** Compares case by case, the second's in batches of all sizes up to a chunk, and stops at the first difference. */
export async function compare(
  {
    requests,
    seed,
    first,
    second,
  }: { requests: Requests; seed: number; first: Verifiers; second: Verifiers },
  { from, to }: { readonly from: number; readonly to: number },
  onProgress: (index: number) => void = () => undefined,
): Promise<Outcome> {
  const counts = new Map<string, Map<string, number>>();
  for (let start = from; start < to; start += CHUNK) {
    const draw = new Draw(`${String(seed)} sizes ${String(start)}`);
    const cases = Array.from({ length: Math.min(CHUNK, to - start) }, (_, i) => requests.at(start + i));
    const [one, two] = [
      await inBatches(first, cases, () => CHUNK),
      await inBatches(second, cases, () => 1 + draw.below(CHUNK)),
    ];
    for (const [i, each] of cases.entries()) {
      const judged = { index: start + i, one: each, first: one[i]!, second: two[i]! };
      if (judged.first.reply !== judged.second.reply) return { difference: judged, counts };
      const met = counts.get(each.name) ?? new Map<string, number>();
      counts.set(each.name, met.set(judged.first.word, (met.get(judged.first.word) ?? 0) + 1));
    }
    onProgress(start + cases.length);
  }
  return { difference: undefined, counts };
}

async function inBatches(
  verifiers: Verifiers,
  cases: readonly RequestCase[],
  size: () => number,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const set of KEY_SETS) {
    const places = [...cases.keys()].filter((i) => cases[i]!.keys === set);
    while (places.length > 0) {
      const some = places.splice(0, size());
      const said = await verifiers[set](some.map((i) => cases[i]!));
      some.forEach((place, i) => (answers[place] = said[i]!));
    }
  }
  return answers;
}

// Suite "second": what the second verifier's judge takes, whole requests, in batches of statements of all kinds and of one.
// Processor time of this process.
import { randomBytes } from "node:crypto";
import { openJudge, type Judge, type Request } from "../../../enclave/second/judge/judge.ts";
import { toAddress, toBytes32 } from "../../../shared/protocol/bytes.ts";
import type { EnclaveRequest } from "../../../shared/protocol/enclave-messages.ts";
import { encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { readKeyFiles } from "../../build/circuits/artefacts.ts";
import { readStory } from "../verdicts/origins.ts";
import { bytesOf } from "../verdicts/points.ts";
import { byTurns, cpuMs, figure, tell, type Figures, type SuiteOptions } from "./figures.ts";

const SIZES = [1, 4, 16, 32, 64] as const;
const UPDATE_SIZES = [1, 256] as const;
/** Version, length, request id, type. */
const HEADER_BYTES = 10;

export async function benchSecond({ runs }: SuiteOptions): Promise<Figures> {
  const judge = openJudge(await readKeyFiles(), (length) => new Uint8Array(randomBytes(length)));
  const story = readStory().map(({ kind, words, ...rest }) => ({ ...rest, kind, proof: bytesOf(words) }));
  const told = story.map(({ kind, pool, ...rest }) =>
    requestOf({ type: "attest", ...rest, kindId: KINDS[kind].id, pool: toAddress(pool) }),
  );
  const spends = told.filter((_, i) => story[i]!.kind === "spend");
  const [first, other] = [story[0]!, story[1]!];
  const bad = requestOf({
    ...{ type: "attest", ...first, kindId: KINDS[first.kind].id, pool: toAddress(first.pool) },
    proof: other.proof,
  });

  const names = [
    ...SIZES.map((size) => [`judge_batch${String(size)}_per_s`, repeated(told, size)] as const),
    ["judge_batch16_spends_per_s", repeated(spends, 16)] as const,
    ["judge_batch16_one_bad_per_s", [...repeated(told, 15), bad]] as const,
  ];
  const rates = await byTurns(
    runs,
    Object.fromEntries(names.map(([name, requests]) => [name, () => rateOf(judge, requests)])),
  );
  const updates = await byTurns(
    runs,
    Object.fromEntries(
      UPDATE_SIZES.map((size) => {
        const request = requestOf({
          ...{
            type: "attest-root",
            chainId: 1n,
            pool: toAddress(new Uint8Array(20)),
            fromIndex: 0n,
            frontier: [],
          },
          ...{
            headBefore: toBytes32(new Uint8Array(32)),
            leaves: Array.from({ length: size }, (_, i) => BigInt(i + 1)),
          },
        });
        return [`root_update_${String(size)}_ms`, () => cpuMs(1, () => judge.judge([request]))];
      }),
    ),
  );
  return {
    ...tell("proofs a second a core", named(rates, "1/s")),
    ...tell("root updates", named(updates, "ms")),
  };
}

const named = (measured: Readonly<Record<string, number[]>>, unit: "1/s" | "ms"): Figures =>
  Object.fromEntries(Object.entries(measured).map(([name, values]) => [name, figure(values, unit)]));

const repeated = (requests: readonly Request[], size: number): Request[] =>
  Array.from({ length: size }, (_, i) => requests[i % requests.length]!);

async function rateOf(judge: Judge, requests: readonly Request[]): Promise<number> {
  const ms = await cpuMs(1, () => judge.judge(requests));
  return (1_000 * requests.length) / ms;
}

function requestOf(request: EnclaveRequest): Request {
  const frame = encodeRequest(1, request);
  return { type: frame[HEADER_BYTES - 1]!, body: frame.slice(HEADER_BYTES) };
}

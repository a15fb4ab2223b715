// Both verifiers on the same bytes: some hundreds of the cases of `npm run verdicts -- --second`. See test/bench/verdicts.md.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { openJudge, type Judge } from "../../../../enclave/second/judge/judge.ts";
import { openOrigins } from "../../../../scripts/lab/verdicts/origins.ts";
import { openRequests, type Requests } from "../../../../scripts/lab/verdicts/requests.ts";
import {
  compare,
  openFirst,
  openSecond,
  openSigner,
  secondOf,
  type Outcome,
  type Verifiers,
} from "../../../../scripts/lab/verdicts/verifiers.ts";
import { KEYS } from "./requests.ts";

const SEED = 26;
const CASES = 512;

describe("enclave/second: verdicts of both verifiers", function () {
  this.timeout(300_000);
  let requests: Requests;
  let [first, second]: (Verifiers | undefined)[] = [];
  let signer: Awaited<ReturnType<typeof openSigner>>;
  before(async () => {
    const origins = await openOrigins(SEED);
    signer = await openSigner();
    [requests, first, second] = [
      await openRequests(origins),
      await openFirst(origins.keys, signer),
      await openSecond(signer),
    ];
  });

  const play = (to: number, judges: Partial<{ second: Verifiers }> = {}): Promise<Outcome> =>
    compare({ requests, seed: SEED, first: first!, second: second!, ...judges }, { from: 0, to });

  it("are the same replies, byte for byte", async () => {
    const { difference, counts } = await play(CASES);
    assert.equal(difference, undefined);
    const words = new Set([...counts.values()].flatMap((each) => [...each.keys()]));
    for (const word of [
      ...["ACCEPTED", "MALFORMED", "UNKNOWN_KIND", "SIGNAL_COUNT", "SIGNAL_RANGE", "EXT_MALFORMED"],
      ...["NULLIFIERS_NOT_DISTINCT", "CONTEXT_MISMATCH", "STATEMENT_INVALID", "FRONTIER_INVALID"],
      ...["LEAVES_INVALID", "PROOF_NOT_CANONICAL", "PROOF_AT_INFINITY", "PROOF_NOT_ON_CURVE"],
      ...["PROOF_NOT_IN_SUBGROUP", "PROOF_INVALID"],
    ]) {
      assert.ok(words.has(word), word);
    }
  });

  it("a case is the same again, whatever was drawn before it", () => {
    const alone = requests.at(300);
    requests.at(3);
    assert.deepEqual(requests.at(300), alone);
  });

  const bent = (bend: (judge: Judge) => Judge): Promise<Outcome> => {
    const judge = bend(openJudge(KEYS, (length) => new Uint8Array(randomBytes(length))));
    return play(CASES, { second: { ...second!, committed: secondOf(judge, signer) } });
  };

  it("differ where the second signs another digest", async () => {
    const { difference } = await bent(({ judge }) => ({
      judge: (asked) =>
        judge(asked).map((verdict) =>
          verdict.type === "accepted" ? { ...verdict, digest: verdict.digest.with(31, 0) } : verdict,
        ),
    }));
    assert.deepEqual([difference?.first.word, difference?.second.word], ["ACCEPTED", "ACCEPTED"]);
  });

  it("differ where the second names another fault", async () => {
    const { difference } = await bent(({ judge }) => ({
      judge: (asked) =>
        judge(asked).map((verdict) =>
          verdict.type === "refused" && verdict.code === "PROOF_INVALID"
            ? { type: "refused", code: "PROOF_AT_INFINITY" }
            : verdict,
        ),
    }));
    assert.deepEqual(
      [difference?.first.word, difference?.second.word],
      ["PROOF_INVALID", "PROOF_AT_INFINITY"],
    );
  });
});

// What the enclave signs, the chain finds true, and nothing else: some thousands of the cases of `npm run verdicts`. See verdicts.tree.
import assert from "node:assert/strict";
import type { JsonRpcProvider } from "ethers";
import { buildGroth16, type Groth16 } from "../../../enclave/verify.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { agree, campaign, type Outcome } from "../../../scripts/lab/verdicts/campaign.ts";
import {
  enclaveOf,
  openChain,
  openEnclave,
  type Enclave,
  type RunningChain,
} from "../../../scripts/lab/verdicts/judges.ts";
import { caseAt, NAMES } from "../../../scripts/lab/verdicts/mutations.ts";
import { openOrigins, type Origins } from "../../../scripts/lab/verdicts/origins.ts";
import type { Address } from "../../../shared/protocol/brands.ts";

const SEED = 23;
const CASES = 4_096;

describe("pool: verdicts of enclave and chain", function () {
  this.timeout(300_000);
  let origins: Origins;
  let enclave: Enclave;
  let chain: RunningChain;
  before(async () => {
    origins = await openOrigins(SEED);
    enclave = await openEnclave(origins.keys);
    chain = await openChain(origins.keys);
  });
  after(() => chain.stop());

  const play = (
    to: number,
    judges: Partial<{ enclave: Enclave; chain: RunningChain }> = {},
  ): Promise<Outcome> => campaign({ origins, enclave, chain, ...judges }, { from: 0, to });

  it("are the same of true proofs, of mutated ones and of mutated signals", async () => {
    const { difference, counts } = await play(CASES);
    assert.equal(difference, undefined);
    for (const name of NAMES) {
      const met = [...(counts.get(name) ?? [])].reduce((sum, [, count]) => sum + count, 0);
      assert.ok(met >= 40, `${name}: ${String(met)}`);
    }
    const all = new Set([...counts.values()].flatMap((each) => [...each.keys()]));
    for (const both of [
      ...[
        "PROOF_HOLDS TRUE",
        "PROOF_INVALID FALSE",
        "PROOF_NOT_IN_SUBGROUP FALSE",
        "PROOF_AT_INFINITY FALSE",
      ],
      ...["PROOF_NOT_ON_CURVE FALSE", "PROOF_NOT_ON_CURVE NO_VERDICT", "PROOF_NOT_CANONICAL FALSE"],
      ...["SIGNAL_RANGE FALSE", "SIGNAL_COUNT FALSE", "OTHER_BYTES FALSE", "OTHER_BYTES NO_VERDICT"],
    ]) {
      assert.ok(all.has(both), both);
    }
    assert.deepEqual([...counts.get("true")!.keys()], ["PROOF_HOLDS TRUE"]);
  });

  it("a case is the same again, whatever was drawn before it", () => {
    const alone = caseAt(origins, 3_000);
    caseAt(origins, 7);
    assert.deepEqual(caseAt(origins, 3_000), alone);
    assert.notDeepEqual(caseAt(origins, 3_001), alone);
  });

  it("differ where the chain takes a second spelling of a number", async () => {
    const reducing = await openChain(origins.keys, reduced);
    try {
      const { difference } = await play(CASES, { chain: reducing });
      assert.ok(difference !== undefined);
      assert.ok(["SIGNAL_RANGE", "PROOF_NOT_CANONICAL"].includes(difference.said), difference.said);
      assert.equal(difference.answer, "TRUE");
    } finally {
      await reducing.stop();
    }
  });

  it("differ where the chain's keys are others", async () => {
    const { committed, simulated } = origins.keys;
    const turned = await openChain({ committed: simulated, simulated: committed });
    try {
      const { difference } = await play(CASES, { chain: turned });
      assert.deepEqual([difference?.said, difference?.answer], ["PROOF_HOLDS", "FALSE"]);
    } finally {
      await turned.stop();
    }
  });

  it("differ where the enclave does not look at the group of B", async () => {
    const lax = async (keys: Parameters<typeof buildGroth16>[0]): Promise<Groth16> => {
      const groth16 = await buildGroth16(keys);
      const bent = (verdict: ReturnType<Groth16["verdicts"]>[number]) =>
        verdict === "PROOF_NOT_IN_SUBGROUP" ? "PROOF_HOLDS" : verdict;
      return { verdicts: (claims, randomness) => groth16.verdicts(claims, randomness).map(bent) };
    };
    const { committed, simulated } = origins.keys;
    const bent = enclaveOf({ committed: await lax(committed), simulated: await lax(simulated) });
    const { difference } = await play(CASES, { enclave: bent });
    assert.deepEqual([difference?.said, difference?.answer], ["PROOF_HOLDS", "FALSE"]);
  });

  it("differ where words that are not those of the bytes convict, or where a signed proof gets no verdict", () => {
    const one = (standing: "NOTHING" | "WORDS" | "OTHERS") => ({ ...caseAt(origins, 0), standing });
    for (const [standing, said, answer, isSame] of [
      ["OTHERS", "OTHER_BYTES", "NO_VERDICT", true],
      ["OTHERS", "OTHER_BYTES", "FALSE", false],
      ["OTHERS", "OTHER_BYTES", "TRUE", false],
      ["OTHERS", "PROOF_HOLDS", "NO_VERDICT", false],
      ["NOTHING", "OTHER_BYTES", "FALSE", true],
      ["NOTHING", "OTHER_BYTES", "NO_VERDICT", false],
      ["NOTHING", "PROOF_HOLDS", "FALSE", false],
      ["WORDS", "PROOF_HOLDS", "TRUE", true],
      ["WORDS", "PROOF_HOLDS", "NO_VERDICT", false],
      ["WORDS", "PROOF_INVALID", "FALSE", true],
      ["WORDS", "PROOF_INVALID", "NO_VERDICT", false],
    ] as const) {
      assert.equal(agree({ one: one(standing), said, answer }), isSame, `${standing} ${said} ${answer}`);
    }
  });
});

async function reduced(provider: JsonRpcProvider, verifier: Address): Promise<Address> {
  return (await deployContract(await provider.getSigner(0), "ReducingVerifier", [verifier])).address;
}

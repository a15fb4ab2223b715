/**
 * Who judges a case. The enclave: what stands before its signature in enclave/attest.ts, by the very functions. The chain:
 * the condition of `refuteStatement` and of proved members, by the very libraries and verifiers, on anvil.
 */
import { setImmediate } from "node:timers/promises";
import { Interface, JsonRpcProvider } from "ethers";
import type { Claim, Verdict as EnclaveVerdict } from "../../../enclave/claims.ts";
import { WEIGHT_BYTES } from "../../../enclave/stream.ts";
import { buildGroth16, type Groth16 } from "../../../enclave/verify.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { equalBytes, toHex } from "../../../shared/protocol/bytes.ts";
import { compressProof, decodeProof } from "../../../shared/protocol/proof.ts";
import { canonicalSignals, KIND_NAMES } from "../../../shared/protocol/statements.ts";
import { loadArtifact } from "../../build/contracts.ts";
import { deployContract, deployVerifiers } from "../../deploy/pool.ts";
import { startAnvil } from "../../stand-ins/anvil.ts";
import type { Draw } from "./draw.ts";
import type { Case } from "./mutations.ts";
import { KEY_SETS, type Keys, type KeySet } from "./origins.ts";
import { bytesOf } from "./points.ts";

/** Why the enclave signs or does not; PROOF_HOLDS: it does, and these bytes. */
export type Said = EnclaveVerdict | "SIGNAL_COUNT" | "SIGNAL_RANGE" | "PROOF_NOT_CANONICAL" | "OTHER_BYTES";
export type Answer = "FALSE" | "TRUE" | "NO_VERDICT";

export interface Enclave {
  judge(cases: readonly Case[], draw: Draw): Promise<Said[]>;
}
export interface Chain {
  judge(cases: readonly Case[]): Promise<Answer[]>;
}

// ---------------------------------------------------------------- the enclave

export async function openEnclave(keys: Keys): Promise<Enclave> {
  const entries = await Promise.all(
    KEY_SETS.map(async (set) => [set, await buildGroth16(keys[set])] as const),
  );
  return enclaveOf(Object.fromEntries(entries) as Record<KeySet, Groth16>);
}

export function enclaveOf(verifiers: Readonly<Record<KeySet, Groth16>>): Enclave {
  return {
    async judge(cases, draw) {
      const read = cases.map(claimOf);
      const said = read.map((claim) => (typeof claim === "string" ? claim : undefined));
      for (const set of KEY_SETS) {
        const places = [...cases.keys()].filter((i) => cases[i]!.keys === set && said[i] === undefined);
        const verdicts = await inBatches(
          verifiers[set],
          places.map((i) => read[i] as Claim),
          draw,
        );
        places.forEach((i, at) => (said[i] = verdicts[at]!));
      }
      return said.map((each) => each!);
    },
  };
}

function claimOf({ kind, words, signals: untrusted, way, bytes }: Case): Claim | Said {
  const signals = canonicalSignals(kind, untrusted);
  if (typeof signals === "string") return signals;
  const proof = decodeProof(bytesOf(words));
  if (proof === undefined) return "PROOF_NOT_CANONICAL";
  if (way === "attested" && !equalBytes(compressProof(proof), bytes)) return "OTHER_BYTES";
  return { kind, proof, signals };
}

/** How many are verified together. Of few one at most is false often enough; 16 is the most that the enclave takes. */
const SIZES = [...Array<number>(24).fill(1), ...Array<number>(8).fill(2), ...Array<number>(4).fill(3), 16];

async function inBatches(groth16: Groth16, claims: readonly Claim[], draw: Draw): Promise<EnclaveVerdict[]> {
  const verdicts: EnclaveVerdict[] = [];
  while (verdicts.length < claims.length) {
    const some = claims.slice(verdicts.length, verdicts.length + draw.oneOf(SIZES));
    verdicts.push(...groth16.verdicts(some, draw.bytes(WEIGHT_BYTES * some.length)));
    // What was asked of the chain is on its way meanwhile.
    await setImmediate();
  }
  return verdicts;
}

// ---------------------------------------------------------------- the chain

/** As many as fit a call when each of them burns what a bad point can. */
export const CHUNK = 64;
const ANSWERS: readonly Answer[] = ["FALSE", "TRUE", "NO_VERDICT"];

export interface RunningChain extends Chain {
  stop(): Promise<void>;
}

/** `bend` gives the harness another verifier than the one that was deployed. */
export async function openChain(
  keys: Keys,
  bend: (provider: JsonRpcProvider, verifier: Address) => Promise<Address> = async (_, verifier) => verifier,
): Promise<RunningChain> {
  const anvil = await startAnvil();
  const provider = new JsonRpcProvider(anvil.url, anvil.chainId, {
    staticNetwork: true,
    cacheTimeout: -1,
    batchMaxCount: 1,
  });
  const stop = async (): Promise<void> => {
    provider.destroy();
    await anvil.stop();
  };
  try {
    const owner = await provider.getSigner(0);
    const verifiers: Address[] = [];
    for (const set of KEY_SETS) {
      const deployed = await deployVerifiers(owner, keys[set]);
      for (const kind of KIND_NAMES) verifiers.push(await bend(provider, deployed[kind]));
    }
    const { address } = await deployContract(owner, "JudgingHarness", [verifiers]);
    const abi = new Interface((await loadArtifact("JudgingHarness")).abi);
    return { judge: async (cases) => judgeOn(provider, address, abi, cases), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function judgeOn(
  provider: JsonRpcProvider,
  to: Address,
  abi: Interface,
  cases: readonly Case[],
): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let from = 0; from < cases.length; from += CHUNK) {
    const some = cases.slice(from, from + CHUNK).map(({ keys, kind, way, bytes, words, signals }) => ({
      isProved: way === "proved",
      verifier: KEY_SETS.indexOf(keys) * KIND_NAMES.length + KIND_NAMES.indexOf(kind),
      compressed: toHex(bytes),
      words,
      signals,
    }));
    const answer = await provider.call({ to, data: abi.encodeFunctionData("judge", [some]) });
    const verdicts = abi.decodeFunctionResult("judge", answer)[0] as bigint[];
    answers.push(...verdicts.map((verdict) => ANSWERS[Number(verdict)]!));
  }
  return answers;
}

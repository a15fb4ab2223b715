// Suite "enclave": what a verification costs beside snarkjs, alone and in batches, on one core and on two; how long
// one request takes over the socket of the real program; root updates and signatures. Costs are processor time of
// this process, the peers taking turns; latency and the gain of a second process are elapsed time.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { computeAddress, hexlify } from "ethers";
import { buildBn128, type Bn128 } from "ffjavascript";
import { groth16 } from "snarkjs";
import { attestRoot } from "../../../enclave/attest-root.ts";
import { verifierOf, type Claim, type Verdict } from "../../../enclave/claims.ts";
import { parseConfiguration, type Configuration } from "../../../enclave/configuration.ts";
import { nitroPlatform } from "../../../enclave/nitro.ts";
import type { VerifierEvents, VerifierProcess } from "../../../enclave/platform.ts";
import { Signer } from "../../../enclave/signer.ts";
import { POOL_LIMITS, startPool, type Verify } from "../../../enclave/verifier-pool.ts";
import { buildGroth16 } from "../../../enclave/verify.ts";
import { createLink } from "../../../proxy/api/enclave-link/link.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { randomField } from "../../../shared/notes/note.ts";
import { ZERO_BYTES32 } from "../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, word } from "../../../shared/protocol/bytes.ts";
import type { AttestRequest } from "../../../shared/protocol/enclave-messages.ts";
import { ENCLAVE_PORT } from "../../../shared/protocol/host/enclave-host.ts";
import { encodeProof, parseSnarkjsProof, toSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { KINDS } from "../../../shared/protocol/statements.ts";
import { digitAt, TREE_DEPTH } from "../../../shared/protocol/tree.ts";
import type { VerificationKey } from "../../../shared/protocol/verification-key.ts";
import { verificationKeysFolder } from "../../build/circuits/artefacts.ts";
import { releaseCurve } from "../../build/circuits/ceremony.ts";
import { startServingEnclave } from "../../stack/serving-enclave.ts";
import { verifierLauncher } from "../../stand-ins/platform/verifier-launcher.ts";
import { developmentConfiguration } from "../../image/configuration.ts";
import { ENCLAVE_FOLDER, PROGRAMS } from "../../image/measurement.ts";
import { aStatement } from "./client/statements.ts";
import {
  byTurns,
  cpuMs,
  figure,
  quantile,
  ratios,
  tell,
  type Figure,
  type Figures,
  type SuiteOptions,
} from "./figures.ts";

/** Ten public signals. */
const KIND = "spend";
const LATENCY_REQUESTS = 200;
const SCALING_CLAIMS = 512;
const UPDATE_SIZES = [1, 16, 64, 256] as const;
/** Where an old pool's updates begin: a frontier with nodes at most levels. */
const FROM_INDEX = 1_234_567n;

interface Proven {
  readonly claim: Claim;
  readonly request: AttestRequest;
}

export async function benchEnclave({ runs }: SuiteOptions): Promise<Figures> {
  const configuration = parseConfiguration(await developmentConfiguration());
  const proven = await prove();
  const figures = {
    ...(await benchVerifying(proven.claim, configuration.verificationKeys[KIND], configuration, runs)),
    ...(await benchScaling(proven.claim, configuration, runs)),
    ...(await benchLatency(proven.request)),
    ...(await benchSigning(configuration, runs)),
  };
  await releaseCurve();
  return figures;
}

async function prove(): Promise<Proven> {
  const prover = await developmentProver();
  const { statement, witness } = aStatement(KIND);
  const proof = parseSnarkjsProof(await prover.prove(statement, witness));
  await prover.close();
  if (proof === undefined) throw new Error("no proof was made");
  const { home, deadline, signals, extBytes } = statement;
  return {
    claim: { kind: KIND, proof, signals },
    request: {
      type: "attest",
      ...home,
      kindId: KINDS[KIND].id,
      deadline,
      proof: encodeProof(proof),
      signals,
      ext: extBytes,
    },
  };
}

/** One proof many times: no cost depends on its numbers, and the weights differ. */
async function benchVerifying(
  claim: Claim,
  key: VerificationKey,
  { verificationKeys }: Configuration,
  runs: number,
): Promise<Figures> {
  const ours = await buildGroth16(verificationKeys);
  const curve = await buildBn128(true);
  const keyJson: unknown = JSON.parse(
    await readFile(path.join(verificationKeysFolder, `${KIND}.json`), "utf8"),
  );
  const proofJson = toSnarkjsProof(claim.proof);
  const signalTexts = claim.signals.map(String);
  const batch = (size: number) => (): boolean =>
    ours
      .verdicts(new Array<Claim>(size).fill(claim), size > 1 ? randomBytes(16 * size) : undefined)
      .every((verdict) => verdict === "PROOF_HOLDS");
  const bad: Claim = { ...claim, signals: claim.signals.with(0, claim.signals[1]!) };
  const withOneBad = (size: number) => (): boolean =>
    ours
      .verdicts(new Array<Claim>(size).fill(claim).with(size >> 1, bad), randomBytes(16 * size))
      .every((verdict, i) => verdict === (i === size >> 1 ? "PROOF_INVALID" : "PROOF_HOLDS"));

  const candidates = {
    snarkjs_published: { proofs: 1, times: 1, run: () => groth16.verify(keyJson, signalTexts, proofJson) },
    snarkjs_baseline: { proofs: 1, times: 4, run: () => verifyAsSnarkjs(curve, key, claim) },
    verify_single: { proofs: 1, times: 8, run: batch(1) },
    verify_batch4: { proofs: 4, times: 2, run: batch(4) },
    verify_batch16: { proofs: 16, times: 1, run: batch(16) },
    verify_batch16_one_bad: { proofs: 16, times: 1, run: withOneBad(16) },
    verify_batch64: { proofs: 64, times: 1, run: batch(64) },
  };
  const costs = Object.entries(candidates).map(([name, { proofs, times, run }]) => {
    const judge = async (): Promise<void> => {
      if (!(await run())) throw new Error(`${name} judges wrongly`);
    };
    return [name, async () => (await cpuMs(times, judge)) / proofs] as const;
  });
  const ms = await byTurns(runs, Object.fromEntries(costs));
  const figures: Record<string, Figure> = {};
  for (const [name, each] of Object.entries(ms)) {
    figures[`${name}_ms`] = figure(each, "ms");
    figures[`${name}_per_s`] = figure(
      each.map((one) => 1000 / one),
      "1/s",
    );
    if (name !== "snarkjs_baseline")
      figures[`${name}_vs_snarkjs`] = figure(ratios(ms["snarkjs_baseline"]!, each), "x");
  }
  return tell(`one proof with ${String(claim.signals.length)} public signals, processor time`, figures);
}

/** What snarkjs 0.7.6 does in groth16.verify, with its curve built beforehand and without threads: the honest baseline. */
async function verifyAsSnarkjs(
  curve: Bn128,
  key: VerificationKey,
  { proof, signals }: Claim,
): Promise<boolean> {
  const { G1, G2 } = curve;
  const points = concatBytes(...key.ic.slice(1).map((point) => G1.fromObject(point)));
  const scalars = concatBytes(...signals.map((signal) => word(signal).reverse()));
  const x = G1.add(await G1.multiExpAffine(points, scalars), G1.fromObject(key.ic[0]!));
  const a = G1.fromObject(proof.a);
  const b = G2.fromObject(proof.b);
  const c = G1.fromObject(proof.c);
  if (!G1.isValid(a) || !G2.isValid(b) || !G1.isValid(c)) return false;
  const [beta, gamma, delta] = [key.beta, key.gamma, key.delta].map((point) => G2.fromObject(point));
  return curve.pairingEq(G1.neg(a), b, x, gamma!, c, delta!, G1.fromObject(key.alpha), beta!);
}

/** The same crowd of claims through one process of the built image and through two. */
async function benchScaling(
  claim: Claim,
  { verificationKeys }: Configuration,
  runs: number,
): Promise<Figures> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-bench-"));
  const verifiersPath = path.join(folder, "verifiers.sock");
  const launcher = verifierLauncher({ file: path.join(ENCLAVE_FOLDER, PROGRAMS.first.verifier) });
  launcher.listen(verifiersPath);
  await once(launcher, "listening");
  const started: VerifierProcess[] = [];
  const pool = (processes: number): Promise<Verify<Claim, Verdict>> => {
    const real = nitroPlatform({ listenPath: "", nsmPath: "", verifiersPath });
    const platform = {
      ...real,
      processors: processes,
      randomBytes: async (length: number) => new Uint8Array(randomBytes(length)),
      startVerifier: (events: VerifierEvents) => {
        const running = real.startVerifier(events);
        started.push(running);
        return running;
      },
    };
    return startPool(platform, verifierOf(verificationKeys), {
      ...POOL_LIMITS,
      waiting: SCALING_CLAIMS,
      pauseMs: 86_400_000,
    });
  };
  const rateOf = (verify: Verify<Claim, Verdict>) => async (): Promise<number> => {
    const start = performance.now();
    const answers = await Promise.all(Array.from({ length: SCALING_CLAIMS }, () => verify(claim)));
    if (answers.some((answer) => answer !== "PROOF_HOLDS")) throw new Error("a good proof was refused");
    return SCALING_CLAIMS / ((performance.now() - start) / 1e3);
  };
  const { one, two } = await byTurns(Math.min(runs, 7), {
    one: rateOf(await pool(1)),
    two: rateOf(await pool(2)),
  });
  for (const running of started) running.kill();
  launcher.close();
  await rm(folder, { recursive: true, force: true });
  return tell("two processes beside one, elapsed", {
    verify_one_process_per_s: figure(one, "1/s"),
    verify_two_processes_per_s: figure(two, "1/s"),
    verify_two_processes_scaling: figure(ratios(two, one), "x"),
  });
}

/** One request after the other on an idle enclave, as the proxy asks: handshake, frames, verifier, signature. */
async function benchLatency(request: AttestRequest): Promise<Figures> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-bench-"));
  const enclave = await startServingEnclave({ folder });
  const link = createLink({ path: enclave.vsockPath, port: ENCLAVE_PORT });
  const times: number[] = [];
  try {
    for (let i = -20; i < LATENCY_REQUESTS; i++) {
      const start = performance.now();
      const reply = await link.ask(request);
      if (reply.type !== "attest") throw new Error(`the enclave answered ${JSON.stringify(reply)}`);
      if (i >= 0) times.push(performance.now() - start);
    }
  } finally {
    link.close();
    await enclave.stop();
    await rm(folder, { recursive: true, force: true });
  }
  return tell("one attest over the socket, elapsed", {
    attest_p50_ms: figure(quantile(times, 0.5), "ms"),
    attest_p99_ms: figure(quantile(times, 0.99), "ms"),
  });
}

async function benchSigning(configuration: Configuration, runs: number): Promise<Figures> {
  const signer = openSigner(configuration);
  const digest = new Uint8Array(randomBytes(32));
  const measures: Record<string, () => Promise<number>> = {
    sign_ms: () => cpuMs(20, () => signer.sign(digest)),
  };
  const nodes = Array.from({ length: TREE_DEPTH }, (_, level) => digitAt(FROM_INDEX, level));
  const frontier = Array.from({ length: nodes.reduce((sum, count) => sum + count) }, randomField);
  for (const size of UPDATE_SIZES) {
    const request = {
      type: "attest-root" as const,
      chainId: 31_337n,
      pool: signer.address,
      fromIndex: FROM_INDEX,
      headBefore: ZERO_BYTES32,
      frontier,
      leaves: Array.from({ length: size }, randomField),
    };
    const update = (): void => {
      if (attestRoot(signer, request).type !== "attest-root") throw new Error("a root update was refused");
    };
    measures[`root_update_${String(size)}_ms`] = () => cpuMs(4, update);
  }
  const figures = Object.entries(await byTurns(runs, measures)).map(([name, ms]) => [name, figure(ms, "ms")]);
  return tell("signing and root updates, processor time", Object.fromEntries(figures) as Figures);
}

/** Any key, in the form that KMS releases it in. */
function openSigner(configuration: Configuration): Signer {
  const secret = new Uint8Array(randomBytes(32));
  const plaintext = concatBytes(
    new TextEncoder().encode("cloister-signing-key"),
    Uint8Array.of(1),
    mustFromHex(computeAddress(hexlify(secret))),
    mustFromHex(configuration.hash),
    secret,
  );
  const signer = Signer.open(plaintext, configuration);
  if (signer === undefined) throw new Error("the enclave's form of a sealed key has changed");
  return signer;
}

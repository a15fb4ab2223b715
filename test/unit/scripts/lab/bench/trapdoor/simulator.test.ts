// Simulated proofs must be what a verifier takes for real ones, and no more: each under its own key and for its own
// signals only. Judged by snarkjs, by noble as the watcher uses it, and by the enclave's verifier, alone and in batches.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { groth16 } from "snarkjs";
import type { Claim, Verdict } from "../../../../../../enclave/claims.ts";
import { buildGroth16, MAX_CLAIMS, type Groth16 } from "../../../../../../enclave/verify.ts";
import { trapdoorKeys } from "../../../../../../scripts/lab/bench/trapdoor/keys.ts";
import { openSimulator, type Simulator } from "../../../../../../scripts/lab/bench/trapdoor/simulator.ts";
import { verificationKeysFolder } from "../../../../../../scripts/build/circuits/artefacts.ts";
import { FIELD_ORDER, mustField, type Field } from "../../../../../../shared/protocol/brands.ts";
import {
  encodeProof,
  parseSnarkjsProof,
  toSnarkjsProof,
} from "../../../../../../shared/protocol/host/proofs.ts";
import { decodeProof } from "../../../../../../shared/protocol/proof.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../../../../shared/protocol/statements.ts";
import {
  parseVerificationKey,
  type VerificationKey,
} from "../../../../../../shared/protocol/verification-key.ts";
import { aField, below, someBytes } from "../../../../enclave/support/random.ts";
import { PROVEN } from "../../../../enclave/support/statements.ts";
import { holdsByNoble } from "../../../../enclave/support/toy-groth16.ts";

type KeysJson = Readonly<Record<Kind, object>>;

describe("scripts/lab/bench/trapdoor/simulator", function () {
  let simulator: Simulator;
  let keys: KeysJson;
  let real: KeysJson;
  let enclave: Groth16;
  let realEnclave: Groth16;
  before(async () => {
    [simulator, keys, real] = await Promise.all([openSimulator(), trapdoorKeys(), committedKeys()]);
    enclave = await buildGroth16(parsed(keys));
    realEnclave = await buildGroth16(parsed(real));
  });

  const aClaim = (kind: Kind): Claim => {
    const signals = Array.from({ length: signalCount(kind) }, aField);
    return { kind, signals, proof: simulator.prove(kind, signals) };
  };
  const bySnarkjs = (against: KeysJson, { kind, proof, signals }: Claim): Promise<boolean> =>
    groth16.verify(against[kind], signals.map(String), toSnarkjsProof(proof));
  const nextTo = (value: Field): Field => mustField((value + 1n) % FIELD_ORDER);

  for (const kind of KIND_NAMES) {
    it(`${kind}: any signals have proofs that all three verifiers accept, and none for other signals`, async () => {
      const extremes = [0n, 1n, FIELD_ORDER - 1n].map((value) => {
        const signals = Array.from({ length: signalCount(kind) }, () => mustField(value));
        return { kind, signals, proof: simulator.prove(kind, signals) };
      });
      for (const claim of [...extremes, aClaim(kind), aClaim(kind)]) {
        assert.equal(await bySnarkjs(keys, claim), true);
        assert.equal(holdsByNoble(parseVerificationKey(keys[kind]), claim.proof, claim.signals), true);
        assert.deepEqual(enclave.verdicts([claim]), ["PROOF_HOLDS"]);

        const place = below(claim.signals.length);
        const other = { ...claim, signals: claim.signals.with(place, nextTo(claim.signals[place]!)) };
        assert.equal(await bySnarkjs(keys, other), false);
        assert.equal(holdsByNoble(parseVerificationKey(keys[kind]), other.proof, other.signals), false);
        assert.deepEqual(enclave.verdicts([other]), ["PROOF_INVALID"]);
      }
    });
  }

  it("batches of them hold in the enclave, and one false among them is found", () => {
    const claims = Array.from({ length: MAX_CLAIMS }, (_, i) => aClaim(KIND_NAMES[i % KIND_NAMES.length]!));
    const good = claims.map((): Verdict => "PROOF_HOLDS");
    const randomness = someBytes(16 * claims.length);
    assert.deepEqual(enclave.verdicts(claims, randomness), good);
    const at = below(claims.length);
    const { signals, ...rest } = claims[at]!;
    const false_ = { ...rest, signals: signals.with(0, nextTo(signals[0]!)) };
    assert.deepEqual(enclave.verdicts(claims.with(at, false_), randomness), good.with(at, "PROOF_INVALID"));
  });

  for (const [kind, make] of PROVEN) {
    it(`${kind}: snarkjs's proof is good under the real key only, a simulated one of the same signals under the benchmark's only`, async () => {
      const { proof, request } = make();
      const signals = request.signals.map(mustField);
      const honest: Claim = { kind, signals, proof };
      const simulated: Claim = { kind, signals, proof: simulator.prove(kind, signals) };

      assert.deepEqual(realEnclave.verdicts([honest, simulated]), ["PROOF_HOLDS", "PROOF_INVALID"]);
      assert.deepEqual(enclave.verdicts([honest, simulated]), ["PROOF_INVALID", "PROOF_HOLDS"]);
      assert.deepEqual(await Promise.all([honest, simulated].map((claim) => bySnarkjs(real, claim))), [
        true,
        false,
      ]);
      assert.deepEqual(await Promise.all([honest, simulated].map((claim) => bySnarkjs(keys, claim))), [
        false,
        true,
      ]);
    });
  }

  it("a proof is for its own kind, and for keys of its own phrase", async () => {
    const signals = Array.from({ length: signalCount("spend") }, aField);
    const elsewhere = (await openSimulator("another phrase")).prove("spend", signals);
    assert.deepEqual(enclave.verdicts([{ kind: "spend", signals, proof: elsewhere }]), ["PROOF_INVALID"]);
    const shorter = signals.slice(0, signalCount("private-swap"));
    const proof = simulator.prove("spend", signals);
    assert.deepEqual(enclave.verdicts([{ kind: "private-swap", signals: shorter, proof }]), [
      "PROOF_INVALID",
    ]);
  });

  it("two proofs of one statement have no point in common, and both have the forms that go over the wire", () => {
    const signals = Array.from({ length: signalCount("spend") }, aField);
    const [one, other] = [simulator.prove("spend", signals), simulator.prove("spend", signals)];
    for (const part of ["a", "b", "c"] as const) assert.notDeepEqual(one[part], other[part]);
    for (const proof of [one, other]) {
      assert.deepEqual(decodeProof(encodeProof(proof)), proof);
      assert.deepEqual(parseSnarkjsProof(toSnarkjsProof(proof)), proof);
    }
  });

  it("throws for another number of signals than the kind has", () => {
    const signals = Array.from({ length: signalCount("spend") }, aField);
    assert.throws(() => simulator.prove("spend", signals.slice(1)), RangeError);
    assert.throws(() => simulator.prove("spend", [...signals, aField()]), RangeError);
  });
});

function parsed(keys: KeysJson): Record<Kind, VerificationKey> {
  return Object.fromEntries(KIND_NAMES.map((kind) => [kind, parseVerificationKey(keys[kind])])) as Record<
    Kind,
    VerificationKey
  >;
}

async function committedKeys(): Promise<KeysJson> {
  const read = async (kind: Kind): Promise<[Kind, object]> => [
    kind,
    JSON.parse(await readFile(path.join(verificationKeysFolder, `${kind}.json`), "utf8")) as object,
  ];
  return Object.fromEntries(await Promise.all(KIND_NAMES.map(read))) as Record<Kind, object>;
}

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { groth16, type Groth16Proof } from "snarkjs";
import { readCompressed, readManifest, verificationKeysFolder } from "../../../scripts/circuits/artefacts.ts";
import { releaseCurve } from "../../../scripts/circuits/ceremony.ts";
import type { CircuitName } from "../../../scripts/circuits/compile.ts";
import { signalCount, signalNames } from "../../../shared/protocol/statements.ts";
import { FIELD_ORDER } from "./r1cs.ts";
import { aDeposit, aSpend, depositInputs, Dice, madeNotes, spendInputs } from "./statements.ts";
import type { Inputs } from "./witness.ts";

const STATEMENTS: Readonly<Record<CircuitName, () => Inputs>> = {
  "deposit-shield": () => depositInputs(aDeposit(new Dice("groth16"))),
  spend: () => {
    const dice = new Dice("groth16");
    return spendInputs(aSpend(dice, { amountOut: 60n, made: madeNotes(dice, [5n, 33n, 1n, 1n]) }));
  },
};

describe("proofs with the committed keys", function () {
  this.timeout(180_000);

  after(releaseCurve);

  for (const name of Object.keys(STATEMENTS) as CircuitName[]) {
    describe(name, () => {
      let verificationKey: unknown;
      let proof: Groth16Proof;
      let signals: string[];

      before(async () => {
        const entry = (await readManifest())?.circuits[name];
        assert.ok(entry?.zkey);
        const wasm = await readCompressed(`${name}.wasm.br`, entry.wasm);
        const zkey = await readCompressed(`${name}.zkey.br`, entry.zkey);
        verificationKey = JSON.parse(
          await readFile(path.join(verificationKeysFolder, `${name}.json`), "utf8"),
        );
        ({ proof, publicSignals: signals } = await groth16.fullProve(
          STATEMENTS[name](),
          new Uint8Array(wasm),
          new Uint8Array(zkey),
        ));
      });

      it("verify, and carry the statement's own signals in the protocol's order", async () => {
        const inputs = STATEMENTS[name]();
        const told = signalNames(name).map((signal) => {
          const [, base = "", index] = /^(\w+)(?:\[(\d+)\])?$/.exec(signal) ?? [];
          const value = inputs[base];
          return String(index === undefined ? value : (value as readonly bigint[])[Number(index)]);
        });
        assert.deepEqual(signals, told);
        assert.equal(await groth16.verify(verificationKey, signals, proof), true);
      });

      for (let place = 0; place < signalCount(name); place++) {
        it(`are refused with another ${signalNames(name)[place] ?? ""}`, async () => {
          const changed = (change: bigint): string[] =>
            signals.map((signal, i) => (i === place ? String(BigInt(signal) + change) : signal));
          assert.equal(await groth16.verify(verificationKey, changed(1n), proof), false);
          // The same scalar under a second spelling; our own verifiers refuse it before the pairing too.
          assert.equal(await groth16.verify(verificationKey, changed(FIELD_ORDER), proof), false);
        });
      }

      it("are refused when the proof is changed", async () => {
        const negated = { ...proof, pi_a: [proof.pi_a[0] ?? "", negate(proof.pi_a[1] ?? ""), "1"] };
        assert.equal(await groth16.verify(verificationKey, signals, negated), false);
        const swapped = { ...proof, pi_a: proof.pi_c, pi_c: proof.pi_a };
        assert.equal(await groth16.verify(verificationKey, signals, swapped), false);
      });
    });
  }
});

const BASE_FIELD_ORDER = 0x30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47n;

/** The y of the opposite point. */
function negate(y: string): string {
  return String((BASE_FIELD_ORDER - BigInt(y)) % BASE_FIELD_ORDER);
}

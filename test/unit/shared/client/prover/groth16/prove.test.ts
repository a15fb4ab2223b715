// The prover itself: what it makes are proofs to anybody else's verifier, and no two of them are alike.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Bn128 } from "ffjavascript";
import * as snarkjs from "snarkjs";
import { aStatement } from "../../../../../../scripts/lab/bench/client/statements.ts";
import type { Artefacts } from "../../../../../../shared/client/prover/artefacts.ts";
import { provingCurve } from "../../../../../../shared/client/prover/groth16/engine.ts";
import { witnessFile } from "../../../../../../shared/client/prover/groth16/witness.ts";
import {
  proveGroth16,
  publicSignalsOf,
  readProvingKey,
  readWitness,
} from "../../../../../../shared/client/prover/groth16/prove.ts";
import { DEVELOPMENT_KEYS } from "../../../../../../shared/client/node/development.ts";
import { folderArtefacts } from "../../../../../../shared/client/node/index.ts";
import { curveFor } from "./curve.ts";
import type { Kind, Statement } from "../../../../../../shared/protocol/statements.ts";

describe("client: the Groth16 prover", () => {
  const verificationKeyOf = async (kind: Kind): Promise<unknown> =>
    JSON.parse(
      await readFile(
        new URL(`../../../../../../shared/protocol/verification-keys/${kind}.json`, import.meta.url),
        "utf8",
      ),
    ) as unknown;

  async function made(
    kind: Kind,
  ): Promise<{ statement: Statement; files: Artefacts; wires: Uint8Array; signals: string[] }> {
    const { statement, witness } = aStatement(kind);
    const files = await folderArtefacts(DEVELOPMENT_KEYS)(kind);
    const wires = readWitness(await witnessFile(witness, files.wasm));
    return { statement, files, wires, signals: statement.signals.map(String) };
  }

  let curve: Bn128;
  let end: () => Promise<void>;
  before(async () => {
    ({ curve, end } = await curveFor(2));
  });
  after(() => end());

  for (const kind of ["deposit-shield", "spend", "private-swap"] as const) {
    it(`makes proofs of ${kind} that snarkjs verifies, and for these signals only`, async () => {
      const { statement, files, wires, signals } = await made(kind);
      const key = readProvingKey(files.zkey);
      assert.deepEqual(publicSignalsOf(key, wires), [...statement.signals]);
      const said: number[] = [];
      const proof = await proveGroth16(curve, key, wires, (fraction) => said.push(fraction));
      const verificationKey = await verificationKeyOf(kind);
      assert.equal(await snarkjs.groth16.verify(verificationKey, signals, proof), true);
      const others = [...signals.slice(0, -1), "1"];
      assert.equal(await snarkjs.groth16.verify(verificationKey, others, proof), false);
      assert.ok(said.length > 10 && said.every((fraction, i) => fraction > (said[i - 1] ?? 0)));
      assert.ok(said.at(-1)! > 0.999 && said.at(-1)! <= 1);
    });
  }

  it("makes another proof each time, in one thread too", async () => {
    const { files, wires, signals } = await made("deposit-shield");
    const key = readProvingKey(files.zkey);
    const proofs = [
      await proveGroth16(curve, key, wires),
      await proveGroth16(curve, key, wires),
      await proveGroth16(await provingCurve(), key, wires),
    ];
    assert.equal(new Set(proofs.flatMap(({ pi_a, pi_c }) => [pi_a[0], pi_c[0]])).size, 6);
    const verificationKey = await verificationKeyOf("deposit-shield");
    for (const proof of proofs) {
      assert.equal(await snarkjs.groth16.verify(verificationKey, signals, proof), true);
    }
  });

  it("makes no valid proof of a witness in which one wire was changed", async () => {
    const { files, wires, signals } = await made("deposit-shield");
    const changed = wires.slice();
    changed[changed.length - 32] = (changed.at(-32) ?? 0) ^ 1;
    const proof = await proveGroth16(curve, readProvingKey(files.zkey), changed);
    assert.equal(
      await snarkjs.groth16.verify(await verificationKeyOf("deposit-shield"), signals, proof),
      false,
    );
  });

  it("refuses a witness of another circuit, and files that are no proving key", async () => {
    const { files, wires } = await made("deposit-shield");
    const key = readProvingKey(files.zkey);
    await assert.rejects(proveGroth16(curve, key, wires.slice(32)), /another circuit/);
    assert.throws(() => readProvingKey(files.wasm));
    assert.throws(() => readProvingKey(files.zkey.slice(0, 1000)));
    assert.throws(() => readProvingKey(new Uint8Array(0)));
  });
});

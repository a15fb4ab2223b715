import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { groth16 } from "snarkjs";
import {
  readCompressed,
  readManifest,
  verificationKeysFolder,
} from "../../../scripts/build/circuits/artefacts.ts";
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { decodeProof } from "../../../shared/protocol/proof.ts";
import { toSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { signalNames } from "../../../shared/protocol/host/statements.ts";
import { WitnessProgram, type Inputs } from "../circuits/witness.ts";
import { STATEMENTS } from "./story.ts";

type Texts = string | readonly Texts[];
type Numbers = bigint | readonly Numbers[];
const numbers = (value: Texts): Numbers => (typeof value === "string" ? BigInt(value) : value.map(numbers));

describe("vectors: the story in the circuits", function () {
  const programs = new Map<Kind, WitnessProgram>();

  before(async () => {
    const manifest = await readManifest();
    for (const kind of KIND_NAMES) {
      const entry = manifest?.circuits[kind];
      assert.ok(entry !== undefined);
      const wasm = new Uint8Array(await readCompressed(`${kind}.wasm.br`, entry.wasm));
      programs.set(kind, await WitnessProgram.load(wasm));
    }
  });

  for (const { name, kind, circuitInputs, signals, proof } of STATEMENTS) {
    it(`${name}: the witness program of ${kind} accepts the inputs and shows the signals`, async () => {
      const program = programs.get(kind);
      assert.ok(program !== undefined);
      const inputs = Object.fromEntries(
        Object.entries(circuitInputs).map(([input, value]) => [input, numbers(value)]),
      ) as Inputs;
      const witness = await program.honest(inputs);
      // Wire 0 is the constant 1; the public signals come next.
      assert.deepEqual(witness.slice(1, 1 + signalNames(kind).length).map(String), signals);
    });

    it(`${name}: the proof verifies under the committed key of ${kind}`, async () => {
      const decoded = decodeProof(mustFromHex(proof));
      assert.ok(decoded !== undefined);
      const key: unknown = JSON.parse(
        await readFile(path.join(verificationKeysFolder, `${kind}.json`), "utf8"),
      );
      assert.equal(await groth16.verify(key, [...signals], toSnarkjsProof(decoded)), true);
      const other = [...signals.slice(0, -1), String(BigInt(signals.at(-1) ?? "0") + 1n)];
      assert.equal(await groth16.verify(key, other, toSnarkjsProof(decoded)), false);
    });
  }
});

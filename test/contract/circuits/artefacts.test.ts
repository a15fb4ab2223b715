import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import {
  keysFolder,
  readCompressed,
  readManifest,
  verificationKeysFolder,
  type CircuitEntry,
  type Manifest,
} from "../../../scripts/build/circuits/artefacts.ts";
import {
  CIRCUITS,
  repositoryRoot,
  sha256Hex,
  type CircuitName,
} from "../../../scripts/build/circuits/compile.ts";
import { KIND_NAMES, KINDS } from "../../../shared/protocol/statements.ts";
import { signalNames } from "../../../shared/protocol/host/statements.ts";
import { compiled } from "./compiled.ts";

describe("the committed artefacts of the circuits", function () {
  let manifest: Manifest;

  before(async () => {
    const found = await readManifest();
    assert.ok(found, "there is a manifest");
    manifest = found;
  });

  function entry(name: CircuitName): CircuitEntry {
    const found = manifest.circuits[name];
    assert.ok(found, `${name} is in the manifest`);
    return found;
  }

  it("are marked as development only", () => {
    assert.equal(manifest.purpose, "development only");
    assert.match(manifest.warning, /Never use them with money/);
  });

  for (const name of CIRCUITS) {
    describe(name, () => {
      it("compiles to the committed r1cs", async () => {
        const { facts } = await compiled(name);
        const { constraints, wires, publicInputs } = facts.counts;
        const pinned = entry(name);
        assert.equal(facts.r1csSha256, pinned.r1cs.sha256);
        assert.deepEqual(
          { constraints, wires, publicInputs },
          { constraints: pinned.constraints, wires: pinned.wires, publicInputs: pinned.publicSignals },
        );
      });

      it("has its public signals in the order of the protocol's table, and no others", async () => {
        const { wires, facts } = await compiled(name);
        const byWire = [...wires].filter(([, wire]) => wire >= 1 && wire <= facts.counts.publicInputs);
        const inOrder = byWire.sort(([, a], [, b]) => a - b).map(([signal]) => signal);
        // A simplified signal may share the wire of a public one; the main component's own name is the first.
        const own = inOrder.filter((signal) => /^main\.[^.]+$/.test(signal));
        assert.deepEqual(
          own,
          signalNames(name).map((signal) => `main.${signal}`),
        );
      });

      it("has as many inputs and outputs as the protocol's table says", async () => {
        const { wires } = await compiled(name);
        const count = (signal: string): number =>
          [...wires.keys()].filter((known) => known.startsWith(`main.${signal}[`) && !known.includes("]["))
            .length;
        assert.deepEqual(
          [count("nullifiers"), count("commitments")],
          [KINDS[name].inputs, KINDS[name].outputs],
        );
        assert.deepEqual([count("inValues"), count("outValues")], [KINDS[name].inputs, KINDS[name].outputs]);
      });

      it("ships the pinned proving key, witness program and verification key", async () => {
        const { zkey, wasm, verificationKey } = entry(name);
        assert.ok(zkey && verificationKey, "keys were made for this circuit");
        assert.equal((await readCompressed(`${name}.zkey.br`, zkey)).length, zkey.bytes);
        assert.equal((await readCompressed(`${name}.wasm.br`, wasm)).length, wasm.bytes);
        const json = await readFile(path.join(verificationKeysFolder, `${name}.json`));
        assert.equal(sha256Hex(json), verificationKey.sha256);
      });
    });
  }

  it("are there for every kind, and for nothing else", async () => {
    assert.deepEqual(Object.keys(manifest.circuits), [...KIND_NAMES]);
    const files = KIND_NAMES.flatMap((kind) => [`${kind}.wasm.br`, `${kind}.zkey.br`]);
    assert.deepEqual((await readdir(keysFolder)).sort(), [...files, "README.md", "manifest.json"].sort());
    const keys = KIND_NAMES.map((kind) => `${kind}.json`);
    assert.deepEqual((await readdir(verificationKeysFolder)).sort(), keys.sort());
  });

  it("stay within their budgets: spend fits 2^14 and spend9 2^16 with everything, spend's key 6 MB", () => {
    // Groth16 takes one more row for each public signal and one for the constant.
    const rows = (name: CircuitName): number => entry(name).constraints + entry(name).publicSignals + 1;
    assert.ok(rows("spend") <= 1 << 14);
    assert.ok(rows("private-swap") <= 1 << 14);
    assert.ok(rows("spend9") <= 1 << 16);
    assert.ok((entry("spend").zkey?.compressedBytes ?? Infinity) <= 6_000_000);
  });

  it("have the constraint counts that the README tells", async () => {
    const readme = await readFile(path.join(repositoryRoot, "shared", "circuits", "README.md"), "utf8");
    const told = [...readme.matchAll(/^\| `([\w-]+)` +\| (\d) → (\d) \| ([\d,]+) +\| 2\^(\d+)/gm)].map(
      ([, name, inputs, outputs, count, exponent]) => [
        name,
        ...[inputs, outputs, count?.replace(",", ""), exponent].map(Number),
      ],
    );
    const domain = ({ constraints, publicSignals }: CircuitEntry): number =>
      Math.ceil(Math.log2(constraints + publicSignals + 1));
    assert.deepEqual(
      told,
      KIND_NAMES.map((kind) => [
        kind,
        KINDS[kind].inputs,
        KINDS[kind].outputs,
        entry(kind).constraints,
        domain(entry(kind)),
      ]),
    );
  });

  it("are refused when their bytes are not the pinned ones", async () => {
    const pin = { ...entry("deposit-shield").wasm, sha256: "0".repeat(64) };
    await assert.rejects(readCompressed("deposit-shield.wasm.br", pin), /not the file its manifest pins/);
  });
});

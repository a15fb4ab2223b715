import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { groth16, type Groth16Proof } from "snarkjs";
import { attest, type Attesting } from "../../../enclave/attest.ts";
import {
  readCompressed,
  readManifest,
  verificationKeysFolder,
} from "../../../scripts/build/circuits/artefacts.ts";
import { ZERO_ADDRESS } from "../../../shared/protocol/brands.ts";
import { toAddress } from "../../../shared/protocol/bytes.ts";
import type { EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import { encodeProof, parseSnarkjsProof } from "../../../shared/protocol/host/proofs.ts";
import {
  contextOf,
  KIND_NAMES,
  KINDS,
  signalCount,
  type Ext,
  type Home,
  type Kind,
} from "../../../shared/protocol/statements.ts";
import { encodeExt, readSignals, signalNames } from "../../../shared/protocol/host/statements.ts";
import { aSigner, CONFIGURATION } from "../../unit/enclave/support/key-life.ts";
import { verifierHere } from "../../unit/enclave/support/verifiers.ts";
import { FIELD_ORDER } from "./r1cs.ts";
import { aDeposit, aSpend, Dice } from "./statements.ts";
import { depositInputs, spendInputs } from "../../support/oracle.ts";
import type { Inputs } from "./witness.ts";
import { anySealed } from "../../support/sealed-notes.ts";

const HOME: Home = { chainId: 31_337n, pool: toAddress(new Uint8Array(20).fill(0xc1)) };
const SOMEBODY = toAddress(new Uint8Array(20).fill(0x5b));
const DEADLINE = 1_900_000_000n;

/** What a statement of each kind asks of the pool; value leaves in public wherever a kind lets it. */
function extOf(kind: Kind): Ext {
  const sealed = anySealed(kind);
  switch (kind) {
    case "deposit-shield":
      return { kind, depositor: SOMEBODY, validAfter: 0n, validBefore: DEADLINE, ...sealed };
    case "spend":
    case "spend9":
      return { kind, recipient: SOMEBODY, ...sealed };
    case "private-swap":
      return {
        kind,
        tokenOut: SOMEBODY,
        minAmountOut: 1n,
        npkOut: 1n,
        path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 },
        ...sealed,
      };
  }
}

function inputsOf(kind: Kind): Inputs {
  const dice = new Dice(`groth16: ${kind}`);
  const context = contextOf(HOME, kind, DEADLINE, encodeExt(extOf(kind)));
  return kind === "deposit-shield"
    ? depositInputs(aDeposit(dice, { context }))
    : spendInputs(aSpend(dice, kind, { context, amountOut: 60n }));
}

describe("proofs with the committed keys", function () {
  let enclave: Attesting;

  before(async () => {
    const { verifyingKeyHashes } = CONFIGURATION;
    enclave = { signer: aSigner(), verify: await verifierHere(), verifyingKeyHashes };
  });

  for (const name of KIND_NAMES) {
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
          inputsOf(name),
          new Uint8Array(wasm),
          new Uint8Array(zkey),
        ));
      });

      it("verify, and carry the statement's own signals in the protocol's order", async () => {
        const inputs = inputsOf(name);
        const told = signalNames(name).map((signal) => {
          const [, base = "", index] = /^(\w+)(?:\[(\d+)\])?$/.exec(signal) ?? [];
          const value = inputs[base];
          return String(index === undefined ? value : (value as readonly bigint[])[Number(index)]);
        });
        assert.deepEqual(signals, told);
        assert.equal(await groth16.verify(verificationKey, signals, proof), true);
      });

      const attested = (said: readonly bigint[]): Promise<EnclaveReply> => {
        const points = parseSnarkjsProof(proof);
        assert.ok(points);
        return attest(enclave, {
          type: "attest",
          ...HOME,
          kindId: KINDS[name].id,
          deadline: DEADLINE,
          proof: encodeProof(points),
          signals: said,
          ext: encodeExt(extOf(name)),
        });
      };

      it("are attested by the enclave as they are", async () => {
        assert.equal((await attested(signals.map(BigInt))).type, "attest");
      });

      for (let place = 0; place < signalCount(name); place++) {
        it(`are refused with another ${signalNames(name)[place] ?? ""}`, async () => {
          const changed = (change: bigint): string[] =>
            signals.map((signal, i) => (i === place ? String(BigInt(signal) + change) : signal));
          assert.equal(await groth16.verify(verificationKey, changed(1n), proof), false);
        });

        it(`are refused with ${signalNames(name)[place] ?? ""} spelled a second time`, async () => {
          // x + r is x to the pairing: a second nullifier for a note, a second hash for a statement.
          for (const other of [FIELD_ORDER, -FIELD_ORDER]) {
            const spelled = signals.map((signal, i) => BigInt(signal) + (i === place ? other : 0n));
            assert.equal(readSignals(name, spelled), "SIGNAL_RANGE");
            assert.deepEqual(await attested(spelled), { type: "refused", code: "SIGNAL_RANGE" });
          }
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

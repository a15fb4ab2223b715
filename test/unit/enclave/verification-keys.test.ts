import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { bn254 } from "@noble/curves/bn254.js";
import { AbiCoder, concat, keccak256 } from "ethers";
import {
  CONFIGURATION_HASH,
  loadVerificationKeys,
  VERIFYING_KEY_HASHES,
} from "../../../enclave/verification-keys.ts";
import { KIND_NAMES, KINDS, signalCount, type Kind } from "../../../shared/protocol/statements.ts";

const { Fp2 } = bn254.fields;

describe("enclave/verification-keys", () => {
  const files = {} as Record<Kind, Record<string, unknown>>;
  before(async () => {
    for (const kind of KIND_NAMES) {
      const file = new URL(`../../../shared/protocol/verification-keys/${kind}.json`, import.meta.url);
      files[kind] = JSON.parse(await readFile(file, "utf8"));
    }
  });

  it("loads the committed keys, one point more than signals each", () => {
    const keys = loadVerificationKeys();
    assert.deepEqual(Object.keys(keys), [...KIND_NAMES]);
    for (const kind of KIND_NAMES) assert.equal(keys[kind].ic.length, signalCount(kind) + 1);
    assert.deepEqual(loadVerificationKeys(files), keys);
  });

  it("pins every point of every key", () => {
    for (const kind of KIND_NAMES) {
      for (const name of ["vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC"]) {
        const other = structuredClone(files);
        const changed = JSON.stringify(other[kind][name]).replace(
          /"(\d{20,})"/,
          (_, text: string) => `"${String(BigInt(text) - 1n)}"`,
        );
        other[kind][name] = JSON.parse(changed);
        assert.throws(() => loadVerificationKeys(other), /pinned/, `${kind} ${name}`);
      }
    }
  });

  it("refuses one key in the place of the other, and what is no key", () => {
    assert.throws(() => loadVerificationKeys({ ...files, spend: files.spend9 }), /pinned/);
    assert.throws(() => loadVerificationKeys({ ...files, spend: {} }));
    assert.throws(() => loadVerificationKeys({ ...files, spend: { ...files.spend, nPublic: 3 } }));
  });

  it("has points of the prime-order groups only, by noble", () => {
    for (const key of Object.values(loadVerificationKeys())) {
      for (const [x, y] of [key.alpha, ...key.ic]) bn254.G1.Point.fromAffine({ x, y }).assertValidity();
      for (const [x, y] of [key.beta, key.gamma, key.delta]) {
        const point = bn254.G2.Point.fromAffine({ x: Fp2.fromBigTuple([...x]), y: Fp2.fromBigTuple([...y]) });
        point.assertValidity();
        assert.equal(point.isTorsionFree(), true);
      }
    }
  });

  it("has the hashes that ethers computes, and a configuration hash over them in order of kind id", () => {
    for (const kind of KIND_NAMES) {
      const { alpha, beta, gamma, delta, ic } = loadVerificationKeys()[kind];
      const words = [
        ...alpha,
        ...[beta, gamma, delta].flatMap(([x, y]) => [x[1], x[0], y[1], y[0]]),
        ...ic.flat(),
      ];
      const packed = AbiCoder.defaultAbiCoder().encode(
        words.map(() => "uint256"),
        words,
      );
      assert.equal(VERIFYING_KEY_HASHES[kind], keccak256(packed));
    }
    assert.deepEqual(
      KIND_NAMES.map((kind) => KINDS[kind].id),
      [1, 2, 3, 4],
    );
    const inOrder = KIND_NAMES.map((kind) => VERIFYING_KEY_HASHES[kind]);
    assert.equal(CONFIGURATION_HASH, keccak256(concat(inOrder)));
  });
});

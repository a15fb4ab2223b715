import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, type KeyObject } from "node:crypto";
import { bn254 } from "@noble/curves/bn254.js";
import { AbiCoder, concat, keccak256 } from "ethers";
import { parseConfiguration } from "../../../enclave/configuration.ts";
import { developmentKmsKey } from "../../../scripts/image/development-keys.ts";
import { developmentConfiguration } from "../../../scripts/image/configuration.ts";
import { KIND_NAMES, KINDS, signalCount, type Kind } from "../../../shared/protocol/statements.ts";

const { Fp2 } = bn254.fields;

interface File {
  attestationRoot: string;
  kmsPublicKey: string;
  verificationKeys: Record<Kind, Record<string, unknown>>;
}

describe("enclave/configuration", () => {
  let text: string;
  before(async () => {
    text = await developmentConfiguration();
  });
  const changed = (change: (file: File) => unknown): string => {
    const file = JSON.parse(text) as File;
    const other = change(file);
    return JSON.stringify(other ?? file);
  };
  const spki = (key: KeyObject): string => key.export({ type: "spki", format: "der" }).toString("base64");

  it("knows every circuit, one point more than signals each, in the prime-order groups by noble", () => {
    const { verificationKeys } = parseConfiguration(text);
    assert.deepEqual(Object.keys(verificationKeys), [...KIND_NAMES]);
    for (const kind of KIND_NAMES) {
      const key = verificationKeys[kind];
      assert.equal(key.ic.length, signalCount(kind) + 1);
      for (const [x, y] of [key.alpha, ...key.ic]) bn254.G1.Point.fromAffine({ x, y }).assertValidity();
      for (const [x, y] of [key.beta, key.gamma, key.delta]) {
        const point = bn254.G2.Point.fromAffine({ x: Fp2.fromBigTuple([...x]), y: Fp2.fromBigTuple([...y]) });
        point.assertValidity();
        assert.equal(point.isTorsionFree(), true);
      }
    }
  });

  it("names everything in it by hashes that ethers and node compute", () => {
    const configuration = parseConfiguration(text);
    for (const kind of KIND_NAMES) {
      const { alpha, beta, gamma, delta, ic } = configuration.verificationKeys[kind];
      const words = [
        ...alpha,
        ...[beta, gamma, delta].flatMap(([x, y]) => [x[1], x[0], y[1], y[0]]),
        ...ic.flat(),
      ];
      const packed = AbiCoder.defaultAbiCoder().encode(
        words.map(() => "uint256"),
        words,
      );
      assert.equal(configuration.verifyingKeyHashes[kind], keccak256(packed));
    }
    assert.deepEqual(
      KIND_NAMES.map((kind) => KINDS[kind].id),
      [1, 2, 3, 4],
    );
    const inOrder = KIND_NAMES.map((kind) => configuration.verifyingKeyHashes[kind]);
    assert.equal(configuration.circuitsHash, keccak256(concat(inOrder)));

    const key = developmentKmsKey().spki;
    assert.equal(configuration.kmsKeyHash, `0x${createHash("sha256").update(key).digest("hex")}`);
    assert.ok(configuration.kmsPublicKey.export({ type: "spki", format: "der" }).equals(key));
    const root = (JSON.parse(text) as File).attestationRoot;
    assert.equal(configuration.attestationRoot, root);
    const whole = [configuration.circuitsHash, keccak256(key), `0x${root}`];
    assert.equal(configuration.hash, keccak256(concat(whole)));
  });

  it("has another hash for another root, another KMS key, and any other point of a key", () => {
    const { hash, circuitsHash } = parseConfiguration(text);
    const other = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;
    for (const change of [
      (file: File) => (file.attestationRoot = "00".repeat(32)),
      (file: File) => (file.kmsPublicKey = spki(other)),
    ]) {
      const read = parseConfiguration(changed((file) => void change(file)));
      assert.notEqual(read.hash, hash);
      assert.equal(read.circuitsHash, circuitsHash);
    }
    for (const kind of KIND_NAMES) {
      for (const name of ["vk_alpha_1", "vk_beta_2", "vk_gamma_2", "vk_delta_2", "IC"]) {
        const bent = changed(({ verificationKeys }) => {
          const points = JSON.stringify(verificationKeys[kind][name]).replace(
            /"(\d{20,})"/,
            (_, digits: string) => `"${String(BigInt(digits) - 1n)}"`,
          );
          verificationKeys[kind][name] = JSON.parse(points);
        });
        const read = parseConfiguration(bent);
        assert.notEqual(read.hash, hash, `${kind} ${name}`);
        assert.notEqual(read.circuitsHash, circuitsHash, `${kind} ${name}`);
      }
    }
  });

  describe("throws for", () => {
    const throwing = (what: string, make: () => string): void => {
      it(what, () => {
        const bad = make();
        assert.notEqual(bad, text);
        assert.throws(() => parseConfiguration(bad));
      });
    };
    throwing("what is no JSON", () => text.slice(0, -3));
    throwing("nothing, and no object", () => "null");
    throwing("a member more", () => changed((file) => ({ ...file, debug: true })));
    for (const name of ["attestationRoot", "kmsPublicKey", "verificationKeys"]) {
      throwing(`no ${name}`, () =>
        changed((file) => Object.fromEntries(Object.entries(file).filter(([key]) => key !== name))),
      );
    }
    throwing("a root in capitals", () => changed((file) => ({ ...file, attestationRoot: "AB".repeat(32) })));
    throwing("half a root", () => changed((file) => ({ ...file, attestationRoot: "ab".repeat(16) })));
    throwing("a root and a line end", () =>
      changed((file) => ({ ...file, attestationRoot: `${file.attestationRoot}\n` })),
    );
    throwing("a KMS key that is no text", () => changed((file) => ({ ...file, kmsPublicKey: 1 })));
    throwing("an RSA key of another size", () =>
      changed((file) => ({
        ...file,
        kmsPublicKey: spki(generateKeyPairSync("rsa", { modulusLength: 3072 }).publicKey),
      })),
    );
    throwing("an RSA key of another exponent than KMS makes", () =>
      changed((file) => ({
        ...file,
        kmsPublicKey: spki(generateKeyPairSync("rsa", { modulusLength: 2048, publicExponent: 3 }).publicKey),
      })),
    );
    throwing("an RSA key that is for signatures only", () =>
      changed((file) => ({
        ...file,
        kmsPublicKey: spki(generateKeyPairSync("rsa-pss", { modulusLength: 2048 }).publicKey),
      })),
    );
    throwing("a key of a curve", () =>
      changed((file) => ({
        ...file,
        kmsPublicKey: spki(generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey),
      })),
    );
    throwing("a key with bytes behind it", () =>
      changed((file) => ({
        ...file,
        kmsPublicKey: Buffer.concat([Buffer.from(file.kmsPublicKey, "base64"), Buffer.of(0)]).toString(
          "base64",
        ),
      })),
    );
    throwing("one circuit's key in the place of another's", () =>
      changed(({ verificationKeys }) => void (verificationKeys.spend = verificationKeys.spend9)),
    );
    throwing("a circuit without a key", () =>
      changed(({ verificationKeys }) => void Reflect.deleteProperty(verificationKeys, "spend")),
    );
    throwing("a circuit that nobody knows", () =>
      changed(
        ({ verificationKeys }) =>
          void Object.assign(verificationKeys, { "exit-spend": verificationKeys.spend }),
      ),
    );
    throwing("a key that is none", () =>
      changed(({ verificationKeys }) => void (verificationKeys.spend = {})),
    );
    throwing("a key of another number of signals", () =>
      changed(({ verificationKeys }) => void (verificationKeys.spend["nPublic"] = 3)),
    );
  });
});

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { toHex } from "../../../../shared/protocol/bytes.ts";
import {
  parseVerificationKey,
  verificationKeyBytes,
  verificationKeyHash,
} from "../../../../shared/protocol/verification-key.ts";

const FILE = new URL("../../../../shared/protocol/verification-keys/spend.json", import.meta.url);

describe("shared/protocol/verification-key", () => {
  let json: Record<string, unknown>;
  before(async () => {
    json = JSON.parse(await readFile(FILE, "utf8"));
  });

  it("reads every point", () => {
    const key = parseVerificationKey(json);
    const ic = json["IC"] as string[][];
    assert.equal(key.ic.length, Number(json["nPublic"]) + 1);
    assert.deepEqual(
      key.ic.map(([x, y]) => [String(x), String(y)]),
      ic.map((point) => point.slice(0, 2)),
    );
    assert.deepEqual(
      key.beta.map((pair) => pair.map(String)),
      (json["vk_beta_2"] as string[][]).slice(0, 2),
    );
  });

  it("is hashed as 32-byte words, alpha to IC, of Fp2 the imaginary part first", () => {
    const text = json as Record<string, string[][]>;
    const g2 = (name: string): string[] =>
      text[name]!.slice(0, 2).flatMap(([real, imaginary]) => [imaginary!, real!]);
    const words = [
      ...(json["vk_alpha_1"] as string[]).slice(0, 2),
      ...["vk_beta_2", "vk_gamma_2", "vk_delta_2"].flatMap(g2),
      ...text["IC"]!.flatMap((point) => point.slice(0, 2)),
    ];
    const hex = words.map((word) => BigInt(word).toString(16).padStart(64, "0")).join("");
    assert.equal(toHex(verificationKeyBytes(parseVerificationKey(json))), `0x${hex}`);
  });

  it("has another hash for another key", () => {
    const key = parseVerificationKey(json);
    const hash = verificationKeyHash(key);
    assert.equal(verificationKeyHash(parseVerificationKey(structuredClone(json))), hash);
    assert.notEqual(verificationKeyHash({ ...key, gamma: key.delta }), hash);
    assert.notEqual(verificationKeyHash({ ...key, ic: key.ic.slice(1) }), hash);
  });

  it("throws on what is no key of ours", () => {
    const ic = json["IC"] as string[][];
    const bad: unknown[] = [
      {},
      { ...json, protocol: "plonk" },
      { ...json, curve: "bls12381" },
      { ...json, nPublic: 3 },
      { ...json, IC: ic.with(0, ["1", "2", "2"]) },
      { ...json, IC: ic.with(0, [(1n << 254n).toString(), "2", "1"]) },
      { ...json, vk_alpha_1: [1, "2", "1"] },
      {
        ...json,
        vk_beta_2: [
          ["1", "2"],
          ["3", "4"],
          ["1", "1"],
        ],
      },
      {
        ...json,
        vk_beta_2: [
          ["1", "-2"],
          ["3", "4"],
          ["1", "0"],
        ],
      },
    ];
    for (const key of bad) assert.throws(() => parseVerificationKey(key));
  });
});

// Benchmark keys look like a ceremony's to every parser and verifier; what tells them apart is tested with what
// refuses them: here the mark, beside it proxy, image and deployment.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import {
  benchmarkKeyAmong,
  developmentKeyAmong,
} from "../../../../../../proxy/base/chain/development-keys.ts";
import { loadCircuits } from "../../../../../../proxy/api/status/circuits.ts";
import {
  trapdoorKeys,
  trapdoorOf,
  writeTrapdoorKeys,
} from "../../../../../../scripts/lab/bench/trapdoor/keys.ts";
import { verificationKeysFolder } from "../../../../../../scripts/build/circuits/artefacts.ts";
import { readKeys } from "../../../../../../scripts/deploy/pool.ts";
import { FIELD_ORDER } from "../../../../../../shared/protocol/brands.ts";
import { KIND_NAMES, signalCount, type Kind } from "../../../../../../shared/protocol/statements.ts";
import {
  parseVerificationKey,
  verificationKeyHash,
} from "../../../../../../shared/protocol/verification-key.ts";
import { g1, g2 } from "../../../../enclave/support/toy-groth16.ts";

describe("scripts/lab/bench/trapdoor/keys", function () {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "cloister-trapdoor-"));
    await writeTrapdoorKeys(folder);
  });
  after(() => rm(folder, { recursive: true }));

  const hashesOf = (keys: Readonly<Record<Kind, object>>): Map<Kind, string> =>
    new Map(KIND_NAMES.map((kind) => [kind, verificationKeyHash(parseVerificationKey(keys[kind]))]));

  it("have the members of the committed keys, in their order and of their shapes", async () => {
    const shape = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shape);
      if (typeof value !== "object" || value === null) return typeof value;
      return Object.entries(value).map(([name, member]) => [name, shape(member)]);
    };
    for (const kind of KIND_NAMES) {
      const read = async (where: string): Promise<unknown> =>
        JSON.parse(await readFile(path.join(where, `${kind}.json`), "utf8"));
      assert.deepEqual(shape(await read(folder)), shape(await read(verificationKeysFolder)));
    }
  });

  it("are the points of their trapdoor, by another library", async () => {
    const keys = await readKeys(folder);
    for (const kind of KIND_NAMES) {
      const trapdoor = trapdoorOf(kind);
      assert.equal(trapdoor.ic.length, signalCount(kind) + 1);
      assert.deepEqual(keys[kind], {
        alpha: g1(trapdoor.alpha),
        beta: g2(trapdoor.beta),
        gamma: g2(trapdoor.gamma),
        delta: g2(trapdoor.delta),
        ic: trapdoor.ic.map(g1),
      });
    }
  });

  it("are the same from the same phrase, and no scalar comes twice, in another kind or from another phrase", async () => {
    assert.deepEqual(hashesOf(await trapdoorKeys()), hashesOf(await trapdoorKeys()));
    const drawn = ["one phrase", "another phrase"].flatMap((phrase) =>
      KIND_NAMES.flatMap((kind) => {
        const { alpha, beta, delta, ic } = trapdoorOf(kind, phrase);
        return [alpha, beta, delta, ...ic];
      }),
    );
    assert.equal(new Set(drawn).size, drawn.length);
    assert.ok(drawn.every((scalar) => scalar > 0n && scalar < FIELD_ORDER));
  });

  it("of the usual phrase are known by their hashes alone, each of them", async () => {
    for (const [kind, hash] of hashesOf(await trapdoorKeys()))
      assert.equal(developmentKeyAmong(new Map([[kind, hash]]), new Map()), kind);
  });

  it("of any phrase carry the mark, which no key of a ceremony has", async () => {
    const keys = await trapdoorKeys("a phrase that nobody listed");
    for (const kind of KIND_NAMES) {
      const key = parseVerificationKey(keys[kind]);
      const hashes = new Map([[kind, verificationKeyHash(key)]]);
      assert.equal(developmentKeyAmong(hashes, new Map()), undefined);
      assert.equal(benchmarkKeyAmong(new Map([[kind, key]])), kind);
    }
    assert.equal(
      benchmarkKeyAmong(new Map(Object.entries(await readKeys(verificationKeysFolder)))),
      undefined,
    );
  });

  it("come with a manifest that a proxy takes in development, and in production not even relabelled", async () => {
    const manifest = path.join(folder, "manifest.json");
    const keys = pathToFileURL(`${folder}/`);
    const circuits = await loadCircuits(manifest, keys, false);
    const hashes = hashesOf(await trapdoorKeys());
    assert.deepEqual(
      circuits.map(({ kind, verification_key_hash }) => [kind, verification_key_hash]),
      [...hashes],
    );
    await assert.rejects(loadCircuits(manifest, keys, true), /development only/);
  });
});

// Solidity against shared/protocol: the table of kinds, ext, the ABI file and the constants. See twins.tree.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Contract } from "ethers";
import { ABI_FILE, abiFileText, loadArtifact } from "../../../scripts/build-contracts.ts";
import { deployContract } from "../../../scripts/deploy-pool.ts";
import { drawBytes, drawField } from "../../../scripts/dev/statement-maker.ts";
import { POOL_ABI, TOKEN_ABI } from "../../../shared/contracts/abi.ts";
import { domainSeparator } from "../../../shared/protocol/attestation.ts";
import { FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { concatBytes, toHex } from "../../../shared/protocol/bytes.ts";
import {
  CIPHERTEXT_BYTES,
  decodeExt,
  KIND_NAMES,
  KINDS,
  readSignals,
  signalCount,
} from "../../../shared/protocol/statements.ts";
import { mustAddress, World } from "./world.ts";

describe("contracts: twins of shared/protocol", () => {
  let world: World;
  let harness: Contract;
  before(async () => {
    world = await World.start();
    const { address } = await deployContract(world.owner, "SignalsHarness", []);
    harness = new Contract(address, (await loadArtifact("SignalsHarness")).abi as never, world.owner);
  });
  after(() => world.stop());

  const extBytes = (kind: (typeof KIND_NAMES)[number]): number =>
    (KINDS[kind].inputs === 0 ? 36 : 20) + KINDS[kind].outputs * CIPHERTEXT_BYTES;

  it("the table of kinds has the same rows, and no other", async () => {
    const rows: unknown[] = [];
    for (let id = 0; id < 256; id++) {
      const [inputs, outputs, signals, ext] = await harness.getFunction("shapeOf")(id);
      if (outputs !== 0n) rows.push([id, inputs, outputs, signals, ext]);
    }
    const expected = KIND_NAMES.map((kind) =>
      [KINDS[kind].inputs, KINDS[kind].outputs, signalCount(kind), extBytes(kind)].map(BigInt),
    );
    assert.deepEqual(
      rows,
      expected.map((row, i) => [KINDS[KIND_NAMES[i]!].id, ...row]),
    );
  });

  for (const kind of KIND_NAMES) {
    it(`${kind}: every signal has the same name at the same place`, async () => {
      const signals = Array.from({ length: signalCount(kind) }, drawField);
      const facts = readSignals(kind, signals);
      assert.ok(typeof facts !== "string");
      const read = await harness.getFunction("read")(KINDS[kind].id, signals);
      assert.deepEqual(
        [read.context, read.root, read.asset, read.amount, [...read.nullifiers], [...read.commitments]],
        [facts.context, facts.root ?? 0n, facts.asset, facts.amount, facts.nullifiers, facts.commitments],
      );
    });

    it(`${kind}: every byte of ext means the same`, async () => {
      const bytes = drawBytes(extBytes(kind));
      const ext = decodeExt(kind, bytes);
      assert.ok(ext !== undefined);
      const read = await harness.getFunction("readExt")(KINDS[kind].id, bytes);
      assert.equal(mustAddress(read.party), ext.kind === "spend" ? ext.recipient : ext.depositor);
      assert.equal(read.ciphertexts, toHex(concatBytes(...ext.ciphertexts)));
      assert.deepEqual(
        [read.validAfter, read.validBefore],
        ext.kind === "spend" ? [0n, 0n] : [ext.validAfter, ext.validBefore],
      );
    });
  }

  it("the field's order is the same, and the range check finds the first fault", async () => {
    assert.equal(await harness.getFunction("fieldOrder")(), FIELD_ORDER);
    const find = harness.getFunction("firstOutOfRange");
    assert.equal(await find([]), 0n);
    assert.equal(await find([0n, FIELD_ORDER - 1n]), 2n);
    assert.equal(await find([0n, FIELD_ORDER, 2n ** 256n - 1n]), 1n);
    assert.equal(await find([2n ** 256n - 1n, 1n]), 0n);
  });

  it("the pool's domain is the one that enclaves sign for", async () => {
    assert.equal(
      await world.pool.getFunction("domainSeparator")(),
      toHex(domainSeparator(world.setting.home)),
    );
  });

  it("the pool names the circuits by the committed keys", async () => {
    const keyHash = world.pool.getFunction("verifyingKeyHash");
    for (const kind of KIND_NAMES)
      assert.equal(await keyHash(KINDS[kind].id), world.setting.verifyingKeyHashes[kind]);
    assert.equal(BigInt(await keyHash(3)), 0n);
  });

  it("shared/contracts/abi.ts is what the compiler says", async () => {
    const [pool, token, whole] = await Promise.all(["IPool", "IToken", "Pool"].map(loadArtifact));
    assert.deepEqual(POOL_ABI, pool!.abi);
    assert.deepEqual(TOKEN_ABI, token!.abi);
    const text = await abiFileText((name) => (name === "IPool" ? pool! : token!).abi);
    assert.equal(await readFile(ABI_FILE, "utf8"), text);
    // The contract adds its constructor and the door for itself, and nothing else.
    const listed = new Set(POOL_ABI.map((entry) => JSON.stringify(entry)));
    const beyond = whole!.abi.filter((entry) => !listed.has(JSON.stringify(entry)));
    assert.deepEqual(beyond.map(({ type, name }) => name ?? type).sort(), ["constructor", "executeMember"]);
  });
});

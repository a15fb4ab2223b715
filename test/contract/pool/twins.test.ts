// Solidity against shared/protocol: the table of kinds, ext, the ABI file and the constants. See twins.tree.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { Contract, Interface, type InterfaceAbi } from "ethers";
import {
  ABI_FILE,
  abiFileText,
  loadArtifact,
  PUBLISHED,
  SPEC_FILE,
  specText,
  type Artifact,
} from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { drawBytes, drawField } from "../../support/drafts.ts";
import { POOL_ABI } from "../../../shared/contracts/abi.ts";
import { domainSeparator } from "../../../shared/protocol/attestation.ts";
import { FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { concatBytes, toHex } from "../../../shared/protocol/bytes.ts";
import {
  CIPHERTEXT_BYTES,
  decodeExt,
  EPHEMERAL_KEY_BYTES,
  KIND_NAMES,
  KINDS,
  type Kind,
  signalCount,
} from "../../../shared/protocol/statements.ts";
import { readSignals } from "../../../shared/protocol/host/statements.ts";
import { mustAddress, World } from "./world.ts";

/** What the pool calls, by the name under which it says where they are. */
const MODULES = ["governance", "recovery", "treeHasher"];

describe("contracts: twins of shared/protocol", () => {
  let world: World;
  let harness: Contract;
  before(async () => {
    world = await World.start();
    const { address } = await deployContract(world.owner, "SignalsHarness", []);
    harness = new Contract(address, (await loadArtifact("SignalsHarness")).abi, world.owner);
  });
  after(() => world.stop());

  /** Of everything before the ephemeral key. */
  const HEAD_BYTES = { "deposit-shield": 36, spend: 20, spend9: 20, "private-swap": 94 };
  const extBytes = (kind: Kind): number =>
    HEAD_BYTES[kind] + EPHEMERAL_KEY_BYTES + KINDS[kind].leaves * CIPHERTEXT_BYTES;

  it("the table of kinds has the same rows, and no other", async () => {
    const rows: bigint[][] = [];
    for (let id = 0; id < 256; id++) {
      const row = [...((await harness.getFunction("shapeOf")(id)) as bigint[])];
      if (row[1] !== 0n) rows.push([BigInt(id), ...row]);
    }
    assert.deepEqual(
      rows,
      KIND_NAMES.map((kind) => {
        const { id, inputs, outputs, leaves } = KINDS[kind];
        return [id, inputs, outputs, leaves, signalCount(kind), extBytes(kind)].map(BigInt);
      }),
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
      assert.equal(
        await harness.getFunction("ciphertexts")(KINDS[kind].id, bytes),
        toHex(concatBytes(ext.ephemeralKey, ...ext.ciphertexts)),
      );
      switch (ext.kind) {
        case "deposit-shield": {
          const read = await harness.getFunction("readDeposit")(bytes);
          assert.deepEqual(
            [mustAddress(read.depositor), read.validAfter, read.validBefore],
            [ext.depositor, ext.validAfter, ext.validBefore],
          );
          break;
        }
        case "spend":
        case "spend9":
          assert.equal(mustAddress(await harness.getFunction("readSpend")(bytes)), ext.recipient);
          break;
        case "private-swap": {
          const read = await harness.getFunction("readSwap")(bytes);
          assert.deepEqual(
            [mustAddress(read.tokenOut), read.minAmountOut, read.npkOut],
            [ext.tokenOut, ext.minAmountOut, ext.npkOut],
          );
          assert.deepEqual(
            [read.feeFirst, mustAddress(read.middle), read.feeSecond],
            [BigInt(ext.path.feeFirst), ext.path.middle, BigInt(ext.path.feeSecond)],
          );
          break;
        }
      }
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

  it("the pool names the circuits by the committed keys, and has nothing for any other kind", async () => {
    const [keyHash, verifier, memberGas] = ["verifyingKeyHash", "verifier", "memberGas"].map((name) =>
      world.pool.getFunction(name),
    );
    for (const kind of KIND_NAMES) {
      const { id } = KINDS[kind];
      assert.equal(await keyHash!(id), world.setting.verifyingKeyHashes[kind]);
      const { abi } = await loadArtifact("Groth16Verifier");
      const behind = new Contract(await verifier!(id), abi, world.provider);
      assert.equal(await behind.getFunction("verifyingKeyHash")(), world.setting.verifyingKeyHashes[kind]);
      assert.equal(await memberGas!(id), kind === "private-swap" ? 1_000_000n : 500_000n);
    }
    for (const id of [0, 5, 6, 255]) {
      for (const read of [keyHash, verifier, memberGas]) assert.equal(BigInt(await read!(id)), 0n);
    }
  });

  it("every contract fits into EIP-170's 24,576 bytes, with what it keeps in its code", async () => {
    const addresses = [
      world.setting.home.pool,
      await world.pool.getFunction("noteHasher")(),
      ...(await Promise.all(MODULES.map((name) => world.pool.getFunction(name)()))),
      await world.pool.getFunction("verifier")(KINDS.spend9.id),
      (await deployContract(world.owner, "UniswapV3Executor", [world.usdcAddress])).address,
    ];
    for (const address of addresses) {
      const size = ((await world.provider.getCode(address)).length - 2) / 2;
      assert.ok(size > 0 && size <= 24_576, `${size} bytes`);
    }
  });

  it("shared/contracts/abi.ts is what the compiler says", async () => {
    const names = new Set(["Pool", ...PUBLISHED.map(({ contract }) => contract)]);
    const artifacts = new Map(
      await Promise.all([...names].map(async (name) => [name, await loadArtifact(name)] as const)),
    );
    const text = await abiFileText((name) => artifacts.get(name)!.abi);
    assert.equal(await readFile(ABI_FILE, "utf8"), text);
    // The contract adds its constructor and the door for itself, and nothing else.
    // (What is passed on to a module has no names for its arguments there.)
    const said = (abi: InterfaceAbi) =>
      new Interface(abi).fragments.map((fragment) => fragment.format("minimal"));
    const listed = new Set(said(POOL_ABI));
    const whole = said(artifacts.get("Pool")!.abi);
    const beyond = whole.filter((entry) => !listed.has(entry));
    assert.deepEqual(beyond.map((entry) => entry.split("(")[0]).sort(), [
      "constructor",
      "function executeMember",
    ]);
    assert.equal(whole.length, listed.size + 2);
  });

  it("SPEC.md has every line of it, and the pool's configuration in its order", async () => {
    const spec = await readFile(SPEC_FILE, "utf8");
    const abis = new Map<string, Artifact["abi"]>();
    for (const contract of ["Pool", "IPool", "INitroAttestations", "IForwarders"])
      abis.set(contract, (await loadArtifact(contract)).abi);
    assert.equal(
      specText(spec, (contract) => abis.get(contract)!),
      spec,
    );
    for (const contract of [...abis.keys()].slice(1)) {
      const [, lines] = new RegExp(`<!-- ${contract} -->\n\n\`\`\`text\n([^\`]*)`).exec(spec)!;
      assert.deepEqual(lines!.trim().split("\n"), new Interface(abis.get(contract)!).format());
    }
    const [configuration] = new Interface(abis.get("Pool")!).deploy.inputs;
    const order = configuration!.components!.map(({ type, name }) => `${type} ${name}`).join(", ");
    assert.ok(spec.replaceAll(/\s+/g, " ").includes(`in this order: ${order}.`));
  });
});

// The pool's Poseidon against shared/protocol/hash.ts, and its numbers against the generator of the paper. See note-hasher.tree.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { Contract, JsonRpcProvider } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { drawField } from "../../support/drafts.ts";
import { FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { poseidon3 } from "../../../shared/protocol/host/poseidon.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { poseidonRecurrence, tableNumbers } from "../../support/poseidon-recurrence.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

describe("contracts: note hasher", () => {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let hasher: Contract;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    const owner = await provider.getSigner(0);
    const { address } = await deployContract(owner, "PoseidonNoteHasher", []);
    hasher = new Contract(address, (await loadArtifact("PoseidonNoteHasher")).abi, owner);
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  const hash = (a: bigint, b: bigint, c: bigint): Promise<bigint> => hasher.getFunction("hash")(a, b, c);

  it("has the generator's numbers, or numbers derived from them, every one", async () => {
    const numbersIn = async (file: string, pattern: RegExp): Promise<bigint[]> => {
      const text = await readFile(path.join(PROJECT_ROOT, "shared/contracts/proofs", file), "utf8");
      return [...text.matchAll(pattern)].map(([, digits = ""]) => BigInt(`0x${digits}`));
    };
    const constants = (name: string): Promise<bigint[]> =>
      numbersIn("PoseidonNoteHasher.sol", new RegExp(`constant ${name} = 0x([0-9a-f]{64});`, "g"));
    const recurrence = poseidonRecurrence(3);
    assert.deepEqual(
      await numbersIn("PoseidonNoteTable.sol", /hex"([0-9a-f]{64})"/g),
      tableNumbers(recurrence),
    );
    assert.deepEqual(await constants("M\\d\\d"), recurrence.drawn.matrix.flat());
    assert.deepEqual(await constants("A\\d"), recurrence.feedback);
    assert.deepEqual(await constants("B\\d"), recurrence.input);
    assert.deepEqual(await constants("R"), [FIELD_ORDER]);
  });

  it("hashes as client, enclave and circuits do: ends of the range, and at random", async () => {
    const ends = [0n, 1n, 2n ** 128n - 1n, 2n ** 160n - 1n, FIELD_ORDER - 1n];
    for (const a of ends) for (const b of ends) assert.equal(await hash(a, b, a), poseidon3(a, b, a));
    for (let i = 0; i < 50; i++) {
      const [a, b, c] = [drawField(), drawField(), drawField()];
      assert.equal(await hash(a, b, c), poseidon3(a, b, c));
    }
  });

  it("counts a number at or above r as its remainder, as its interface says", async () => {
    assert.equal(await hash(FIELD_ORDER, FIELD_ORDER + 1n, 2n), poseidon3(0n, 1n, 2n));
    const most = 2n ** 256n - 1n;
    assert.equal(
      await hash(most, most, most),
      poseidon3(...([0, 1, 2].map(() => most % FIELD_ORDER) as [bigint, bigint, bigint])),
    );
  });

  it("costs at most 26,000 gas a hash, call included", async () => {
    const data = hasher.interface.encodeFunctionData("hash", [drawField(), drawField(), drawField()]);
    const owner = await provider.getSigner(0);
    const receipt = await (await owner.sendTransaction({ to: hasher.target, data })).wait();
    const calldata = [...Buffer.from(data.slice(2), "hex")].reduce(
      (sum, byte) => sum + (byte === 0 ? 4 : 16),
      0,
    );
    const used = Number(receipt!.gasUsed) - 21_000 - calldata;
    assert.ok(used <= 26_000, `${used} gas`);
  });
});

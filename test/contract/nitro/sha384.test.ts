// SHA-384 on chain against node:crypto. See sha384.tree.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Contract, JsonRpcProvider } from "ethers";
import { loadArtifact } from "../../../scripts/build/contracts.ts";
import { deployContract } from "../../../scripts/deploy/pool.ts";
import { concatBytes, mustFromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { startAnvil, type Anvil } from "../../support/chain.ts";
import { drawBytes } from "../../support/drafts.ts";

const DIGEST_BYTES = 48;
const BLOCK_BYTES = 128;
const sha384 = (message: Uint8Array): Uint8Array => createHash("sha384").update(message).digest();

describe("contracts: SHA-384", () => {
  let anvil: Anvil;
  let provider: JsonRpcProvider;
  let harness: Contract;
  before(async () => {
    anvil = await startAnvil();
    provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, pollingInterval: 10 });
    const { address } = await deployContract(await provider.getSigner(0), "Sha384Harness", []);
    harness = new Contract(address, (await loadArtifact("Sha384Harness")).abi, provider);
  });
  after(async () => {
    provider.destroy();
    await anvil.stop();
  });

  async function hash(message: Uint8Array): Promise<Uint8Array> {
    const [hi, lo] = (await harness.getFunction("hash")(message)) as [string, string];
    return concatBytes(mustFromHex(hi), mustFromHex(lo));
  }

  it("hashes the standard's example", async () => {
    // FIPS 180-4 examples: SHA-384 of "abc".
    assert.equal(
      toHex(await hash(Buffer.from("abc"))),
      "0xcb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    );
  });

  it("hashes every length of 0 to 300 bytes as node:crypto does", async () => {
    // Over the borders of two blocks, and the lengths at which the padding takes a block of its own.
    for (const message of [drawBytes(300), new Uint8Array(300), new Uint8Array(300).fill(0xff)]) {
      const digests = mustFromHex((await harness.getFunction("hashes")(message, 0, 300)) as string);
      assert.equal(digests.length, 301 * DIGEST_BYTES);
      for (let length = 0; length <= 300; length++) {
        const digest = digests.subarray(length * DIGEST_BYTES, (length + 1) * DIGEST_BYTES);
        assert.equal(toHex(digest), toHex(sha384(message.subarray(0, length))), `${length} bytes`);
      }
    }
  });

  it("hashes what is as long as a document", async () => {
    for (const length of [4_999, 5_000, 16_384]) {
      const message = drawBytes(length);
      assert.equal(toHex(await hash(message)), toHex(sha384(message)));
    }
  });

  it("costs at most 38,000 gas a block", async () => {
    const gasOf = async (blocks: number): Promise<bigint> =>
      (await harness.getFunction("gasOf")(drawBytes(blocks * BLOCK_BYTES))) as bigint;
    const perBlock = Number((await gasOf(41)) - (await gasOf(1))) / 40;
    assert.ok(perBlock <= 38_000, `${perBlock} gas`);
  });
});

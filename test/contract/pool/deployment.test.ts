// What scripts/deploy/pool.ts refuses before anything is paid for, run as an operator runs it. See deployment.tree.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Contract, HDNodeWallet, JsonRpcProvider } from "ethers";
import { developmentRoot } from "../../../scripts/image/development-keys.ts";
import { ATTESTATIONS_ABI, POOL_ABI } from "../../../shared/contracts/abi.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../support/chain.ts";
import { runProgram } from "../../support/program.ts";

const DAY_SECS = 86_400;
const deployer = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC);
const IMAGE = `0x${"1a".repeat(32)}`;
const [first, second, otherFirst] = [
  `first:${IMAGE}`,
  `second:0x${"2b".repeat(32)}`,
  `first:0x${"3c".repeat(32)}`,
] as const;
const ASSET = "0x1111111111111111111111111111111111111111";

describe("pool: deployment", function () {
  const chains: Anvil[] = [];
  before(async () => {
    for (const chainId of [1, 31_337]) chains.push(await startAnvil({ chainId }));
  });
  after(async () => {
    for (const chain of chains) await chain.stop();
  });

  async function deploy(
    chain: Anvil,
    ...words: string[]
  ): Promise<{ code: number | null; out: string; error: string; paid: boolean }> {
    const provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
    try {
      const before = await provider.getTransactionCount(deployer.address);
      const { code, out, err } = await runProgram(
        "scripts/deploy/pool.ts",
        ["--rpc", chain.url, "--development", ...words],
        { env: { DEPLOYER_KEY: deployer.privateKey } },
      );
      const paid = (await provider.getTransactionCount(deployer.address)) !== before;
      return { code, out, error: err, paid };
    } finally {
      provider.destroy();
    }
  }

  it("refuses a short delay where money can be, also for development, and spends nothing", async () => {
    const delays = (proved: number, change: number) => [
      ...["--proved-delay", String(proved)],
      ...["--change-delay", String(change)],
    ];
    for (const [proved, change, reason] of [
      [0, 7 * DAY_SECS, /--proved-delay must be at least 172800 on chain 1/],
      [2 * DAY_SECS - 1, 7 * DAY_SECS, /--proved-delay must be at least 172800 on chain 1/],
      [2 * DAY_SECS, 0, /--change-delay must be at least 345600 on chain 1/],
      [2 * DAY_SECS, 4 * DAY_SECS - 1, /--change-delay must be at least 345600 on chain 1/],
      [3 * DAY_SECS, 5 * DAY_SECS - 1, /--change-delay must be at least 432000 on chain 1/],
    ] as const) {
      const { code, error, paid } = await deploy(chains[0]!, ...delays(proved, change));
      assert.deepEqual([code, paid], [1, false], error);
      assert.match(error, reason);
    }
    const { code, error } = await deploy(chains[0]!, ...delays(2 * DAY_SECS, 4 * DAY_SECS));
    assert.equal(code, 0, error);
  });

  it("takes none on a chain for development", async () => {
    const { code, out, error } = await deploy(chains[1]!, "--change-delay", "0", "--proved-delay", "0");
    assert.equal(code, 0, error);
    assert.equal((JSON.parse(out) as { chain_id: string }).chain_id, "31337");
  });

  it("refuses a threshold that the images cannot give, an image of no kind and a cap too few, and spends nothing", async () => {
    for (const [words, reason] of [
      [["--threshold", "0"], /--threshold must be at least 1/],
      [["--threshold", "2", "--image", first], /both kinds of verifier; name an --image of each/],
      [["--threshold", "2", "--image", first, "--image", otherFirst], /both kinds of verifier/],
      [["--image", first, "--image", first], /names an image twice/],
      [["--image", IMAGE], /first:HASH or second:HASH/],
      [["--image", "third:0x00"], /first:HASH or second:HASH/],
      [["--image", "first:0x00"], /--image is not 32 bytes/],
      [["--asset", ASSET], /0 times --minimum-cap for 1 times --asset/],
      [["--attestations", ASSET], /./],
    ] as const) {
      const { code, error, paid } = await deploy(chains[1]!, ...words);
      assert.deepEqual([code, paid], [1, false], error);
      assert.match(error, reason);
    }
  });

  it("makes a pool of images, without signers; what verifies documents serves a second one too, under its root alone", async () => {
    const chain = chains[1]!;
    const both = await deploy(chain, "--threshold", "2", "--image", first, "--image", second);
    assert.equal(both.code, 0, both.error);
    const made = JSON.parse(both.out) as { pool: string; attestations: string };
    const provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
    try {
      const pool = new Contract(made.pool, POOL_ABI, provider);
      assert.deepEqual([...(await pool.getFunction("imageRecord")(IMAGE))], [true, 1n, 0n]);
      const attestations = new Contract(made.attestations, ATTESTATIONS_ABI, provider);
      const root = createHash("sha256").update(developmentRoot().certificate).digest("hex");
      assert.equal(await attestations.getFunction("rootHash")(), `0x${root}`);
      assert.equal(await attestations.getFunction("revoker")(), deployer.address);
    } finally {
      provider.destroy();
    }
    const again = await deploy(chain, "--image", first, "--attestations", made.attestations);
    assert.equal(again.code, 0, again.error);
    assert.equal((JSON.parse(again.out) as typeof made).attestations, made.attestations);
  });
});

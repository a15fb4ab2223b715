// What scripts/product/deploy.ts refuses before anything is paid for, run as an operator runs it. See deployment.tree.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { HDNodeWallet, JsonRpcProvider } from "ethers";
import { attester } from "../../../scripts/stack/pool-transaction.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../support/chain.ts";
import { PROJECT_ROOT } from "../../support/tree.ts";

const DAY_SECS = 86_400;
const deployer = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC);
const IMAGE = `0x${"1a".repeat(32)}`;
const [first, second] = [attester(1).address, attester(2).address];

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
    const child = spawn(
      process.execPath,
      ["--import", "tsx", "scripts/product/deploy.ts", "--rpc", chain.url, "--development", ...words],
      { cwd: PROJECT_ROOT, env: { ...process.env, DEPLOYER_KEY: deployer.privateKey } },
    );
    let [out, error] = ["", ""];
    child.stdout.on("data", (chunk: Buffer) => (out += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (error += chunk.toString()));
    const provider = new JsonRpcProvider(chain.url, chain.chainId, { staticNetwork: true, cacheTimeout: -1 });
    try {
      const before = await provider.getTransactionCount(deployer.address);
      const [code] = (await once(child, "close")) as [number | null];
      const paid = (await provider.getTransactionCount(deployer.address)) !== before;
      return { code, out, error, paid };
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

  it("refuses a threshold that the signers cannot give, an image too many and a cap too few, and spends nothing", async () => {
    for (const [words, reason] of [
      [["--threshold", "0"], /--threshold must be at least 1/],
      [["--threshold", "2", "--signer", first], /more than the 1 signers can give/],
      [["--threshold", "3", "--signer", first, "--signer", second], /more than the 2 signers can give/],
      [["--threshold", "2", "--signer", first, "--signer", first], /names an address twice/],
      [["--signer", first, "--image", IMAGE, "--image", IMAGE], /2 times --image for 1 times --signer/],
      [["--asset", first], /0 times --minimum-cap for 1 times --asset/],
    ] as const) {
      const { code, error, paid } = await deploy(chains[1]!, ...words);
      assert.deepEqual([code, paid], [1, false], error);
      assert.match(error, reason);
    }
    const both = await deploy(chains[1]!, "--threshold", "2", "--signer", first, "--signer", second);
    assert.equal(both.code, 0, both.error);
  });
});

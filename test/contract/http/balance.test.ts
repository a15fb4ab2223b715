// GET /balance/usdc against a real token on a real local chain, and when that chain is unreachable.
import assert from "node:assert/strict";
import { Contract, HDNodeWallet, JsonRpcProvider } from "ethers";
import { createChain } from "../../../proxy/base/chain/provider.ts";
import { createTokens } from "../../../proxy/base/chain/token.ts";
import { createBalances } from "../../../proxy/api/balances/balances.service.ts";
import { deployTestUsdc } from "../../../scripts/deploy/pool.ts";
import { balance } from "../../../shared/api/data.ts";
import { DEVELOPMENT_MNEMONIC, startAnvil, type Anvil } from "../../support/chain.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

const HOLDER = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

describe("GET /balance/usdc", () => {
  let anvil: Anvil;
  let edge: Edge | undefined;
  let token: string;
  before(async () => {
    anvil = await startAnvil();
    // Without a cache: two transactions in a row must not read the same nonce.
    const provider = new JsonRpcProvider(anvil.url, anvil.chainId, { staticNetwork: true, cacheTimeout: -1 });
    const wallet = HDNodeWallet.fromPhrase(DEVELOPMENT_MNEMONIC).connect(provider);
    const usdc = await deployTestUsdc(wallet);
    token = usdc.address;
    const contract = new Contract(token, ["function mint(address to, uint256 value)"], wallet);
    const sent = await contract.getFunction("mint").send(HOLDER, 123_456_789n);
    await sent.wait();
    provider.destroy();
    const chain = createChain(anvil.url, BigInt(anvil.chainId));
    const asset = { address: usdc.address, symbol: "USDC", decimals: 6 };
    edge = await startEdge({ assets: [asset], balances: createBalances(chain, createTokens(chain), asset) });
  });
  after(async () => {
    await edge?.stop();
    await anvil.stop();
  });

  it("answers the balance in smallest units with its block, addresses checksummed", async () => {
    const { status, body } = await edge!.call("GET", `/balance/usdc?address=${HOLDER.toLowerCase()}`);
    assert.equal(status, 200, JSON.stringify(body));
    balance.parse(body);
    assert.equal(body.address, HOLDER);
    assert.equal(body.token.toLowerCase(), token.toLowerCase());
    assert.equal(body.balance, "123456789");
    assert.equal(body.decimals, 6);
    assert.equal(body.block_number, 2);
  });

  it("an empty account has 0, and a session may ask", async () => {
    const session = await edge!.session({ perms: ["read"] });
    const { body } = await edge!.call("GET", `/balance/usdc?address=0x${"00".repeat(19)}01`, { session });
    assert.equal(body.balance, "0");
  });

  it("is CHAIN_UNAVAILABLE with Retry-After while the chain is unreachable, and says nothing of its address", async () => {
    await anvil.stop();
    const answer = await edge!.call("GET", `/balance/usdc?address=${HOLDER}`);
    assert.equal(answer.status, 503);
    assert.equal(answer.body.code, "CHAIN_UNAVAILABLE");
    assert.equal(answer.body.retryable, true);
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
    assert.ok(!JSON.stringify(answer.body).includes("127.0.0.1"));
  });
});

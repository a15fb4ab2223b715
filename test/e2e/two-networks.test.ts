/**
 * Two networks of one operator, side by side: what is good on one means nothing on the other, whoever carries it
 * across, and each says itself what it offers.
 */
import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { ClientError, type Wallet } from "../../shared/client/index.ts";
import type { SpendBody } from "../../shared/api/transactions.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import { documentedFetch } from "../support/documented.ts";
import { capture, capturing } from "../support/captured.ts";
import { startTestStack, type TestNetwork, type TestStack } from "../support/stack.ts";

const AMOUNT = 20n * TestUsdc.unit;

describe("two networks", function () {
  this.timeout(300_000);
  let on: TestStack;
  let first: TestNetwork;
  let second: TestNetwork;

  before(async () => {
    on = await startTestStack({ networks: ["first", "second"] });
    first = on.network("first");
    second = on.network("second");
  });
  after(() => on.stop());

  interface Answer {
    readonly status: number;
    readonly code: string | undefined;
    readonly body: Record<string, unknown>;
  }

  async function call(
    to: TestNetwork,
    path: string,
    credential: Record<string, string>,
    body?: unknown,
  ): Promise<Answer> {
    const response = await documentedFetch(to.entry.base_url)(to.entry.base_url + path, {
      headers: { ...credential, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Record<string, unknown>;
    return { status: response.status, code: answer["code"] as string | undefined, body: answer };
  }

  const key = (): Record<string, string> => ({ "x-api-key": on.stack.file.api_key });

  async function session(at: TestNetwork): Promise<Record<string, string>> {
    const wanted = { sub: "user-1", perms: ["read", "write"], ttl_secs: 900 };
    const { status, body } = await call(at, "/session", key(), wanted);
    assert.equal(status, 201);
    return { authorization: `Bearer ${String(body["token"])}` };
  }

  it("have chains, pools, enclaves, addresses and ports of their own, and one API key", async () => {
    for (const field of ["base_url", "chain_rpc", "chain_id", "address_prefix"] as const)
      assert.notEqual(first.entry[field], second.entry[field], field);
    assert.notDeepEqual(first.entry.enclave_signers, second.entry.enclave_signers);
    for (const network of [first, second]) {
      const { status, body } = await call(network, "/info", key());
      assert.equal(status, 200);
      assert.equal(body["chain_id"], network.entry.chain_id);
      assert.equal(body["network"], network.local.name);
      assert.deepEqual((body["features"] as { swaps: boolean }).swaps, network === second);
      const assets = (body["assets"] as { symbol: string }[]).map(({ symbol }) => symbol);
      assert.deepEqual(assets, network === second ? ["USDC", "EURC", "WETH"] : ["USDC"]);
    }
  });

  it("refuse each other's session tokens", async () => {
    const ofFirst = await session(first);
    const ofSecond = await session(second);
    assert.equal((await call(first, "/whoami", ofFirst)).status, 200);
    assert.equal((await call(second, "/whoami", ofSecond)).status, 200);
    for (const [network, foreign] of [
      [first, ofSecond],
      [second, ofFirst],
    ] as const) {
      const { status, code } = await call(network, "/whoami", foreign);
      assert.deepEqual([status, code], [401, "INVALID_CREDENTIAL"]);
    }
  });

  it("refuse them even when an operator gave both the same keys by mistake", async () => {
    await copyFile(
      first.local.folder.secrets.path("session-keys.json"),
      second.local.folder.secrets.path("session-keys.json"),
    );
    await second.local.proxy().stop();
    await second.local.restartProxy();
    assert.equal((await call(second, "/whoami", await session(second))).status, 200);
    const { status, code } = await call(second, "/whoami", await session(first));
    assert.deepEqual([status, code], [401, "INVALID_CREDENTIAL"]);
  });

  it("refuse each other's statements: the chain is in what was proved", async () => {
    const wallet: Wallet = await second.wallet();
    await wallet.deposit(AMOUNT, await second.depositor(AMOUNT));
    const seed = new Uint8Array(32).fill(3);
    const payer = await second.wallet({ seed, through: capturing(second.client) });
    await (await second.wallet({ seed })).deposit(AMOUNT, await second.depositor(AMOUNT));
    const body = await capture<SpendBody>(payer, (from) => from.pay(wallet.address, TestUsdc.unit));
    const { status, code } = await call(first, "/sequence/spend", key(), body);
    assert.equal(status, 422);
    // The first network knows neither the root nor the chain in it; which it looks at first is its own affair.
    assert.ok(["CONTEXT_MISMATCH", "ROOT_UNKNOWN"].includes(code ?? ""), code);
    assert.equal((await call(second, "/sequence/spend", key(), body)).status, 202);
  });

  it("are told apart by their addresses", async () => {
    const [here, there] = [await first.wallet(), await second.wallet()];
    await assert.rejects(here.pay(there.address, 1n), { code: "ADDRESS_INVALID" });
    await assert.rejects(there.pay(here.address, 1n), { code: "ADDRESS_INVALID" });
  });

  it("of which the first swaps nothing: SWAPS_DISABLED before anything is read", async () => {
    for (const path of ["/sequence/private-swap", "/attest/private-swap", "/swap/quote"]) {
      const off = await call(first, path, key(), { nothing: "of a swap" });
      assert.deepEqual([off.status, off.code], [403, "SWAPS_DISABLED"], path);
      const on = await call(second, path, key(), { nothing: "of a swap" });
      assert.deepEqual([on.status, on.code], [400, "INVALID_REQUEST"], path);
    }
    const wallet = await first.wallet();
    await assert.rejects(
      wallet.swap({
        ...{ tokenIn: first.entry.usdc, tokenOut: first.entry.usdc, amount: 1n, floor: 1n },
        path: "0x",
      }),
      (error: unknown) => error instanceof ClientError,
    );
  });
});

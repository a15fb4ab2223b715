// A node that answers for Uniswap as a script says: what is a pool's fault, what is the node's, and what is rubbish.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import { ChainUnreachable, ChainRefused } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { CallRequest, Chain } from "../../../../../proxy/base/chain/provider.ts";
import { createConcurrencyLimit } from "../../../../../proxy/base/chain/concurrency-limit.ts";
import {
  UniswapVenue,
  VENUE_ABI,
  type Venue,
  type Market,
  type Moment,
} from "../../../../../proxy/api/swap/venue.ts";
import { ZERO_ADDRESS, type Address, type Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";

const address = (digit: string): Address => asAddress(`0x${digit.repeat(40)}`) as Address;
const [FACTORY, QUOTER, A, B, POOL] = ["1", "2", "3", "4", "5"].map(address) as [
  Address,
  Address,
  Address,
  Address,
  Address,
];
const BLOCK = `0x${"ab".repeat(32)}` as Bytes32;
const moment: Moment = { block: BLOCK, signal: new AbortController().signal };
const ABI = new Interface(VENUE_ABI);
const PRICE = 1n << 96n;
const MARKET: Market = {
  ...{ pool: POOL, tier: 500, tokenIn: A, tokenOut: B },
  ...{ sqrtPriceX96: PRICE, stock: 1_000n },
};

type Script = Readonly<Record<string, (args: readonly unknown[]) => readonly unknown[] | string | Error>>;

/** One pool of A and B at tier 500, in good health. */
const HEALTHY: Script = {
  feeAmountTickSpacing: ([tier]) => [tier === 10_000n ? 0n : 10n],
  getPool: ([, , tier]) => [tier === 500n ? POOL : ZERO_ADDRESS],
  slot0: () => [PRICE, 0, 0, 0, 0, 0, true],
  balanceOf: () => [1_000n],
  quoteExactInputSingle: () => [900n, PRICE, 0, 80_000n],
};

function venueOf(change: Script = {}): { venue: Venue; asked: string[] } {
  const script = { ...HEALTHY, ...change };
  const asked: string[] = [];
  const call: Chain["call"] = async ({ data }: CallRequest, at) => {
    const parsed = ABI.parseTransaction({ data });
    if (parsed === null) throw new Error("an unknown question");
    assert.equal(at, BLOCK);
    asked.push(`${parsed.name} ${String(parsed.args.at(-1))}`);
    const answer = script[parsed.name]!([...(parsed.args as Iterable<unknown>)]);
    if (answer instanceof Error) throw answer;
    return typeof answer === "string" ? answer : ABI.encodeFunctionResult(parsed.name, answer);
  };
  return {
    venue: new UniswapVenue({ factory: FACTORY, quoter: QUOTER }, { call }, createConcurrencyLimit(4, 100)),
    asked,
  };
}

const refusedBy =
  (message: string, code = -32_000): Script[string] =>
  () =>
    new ChainRefused(code, message, "0x");
const quote = (script: Script, market = MARKET) =>
  venueOf(script).venue.quote(market, 1_000n, 100_000n, moment);

describe("api/swap/venue", () => {
  it("finds the pools of a pair, and does not ask again what cannot change", async () => {
    const { venue, asked } = venueOf();
    assert.deepEqual(await venue.markets(A, B, moment), [MARKET]);
    const first = asked.length;
    assert.ok(!asked.includes("getPool 10000"), "a tier that the factory does not have");
    assert.deepEqual(await venue.markets(B, A, moment), [{ ...MARKET, tokenIn: B, tokenOut: A }]);
    const again = asked.slice(first);
    assert.ok(!again.includes("getPool 500") && !again.includes("feeAmountTickSpacing 500"), again.join());
    assert.ok(again.includes("getPool 3000") && again.includes("feeAmountTickSpacing 10000"), again.join());
  });

  const broken: [string, Script][] = [
    ["has no price", { slot0: () => [0n, 0, 0, 0, 0, 0, true] }],
    ["has nothing to give", { balanceOf: () => [0n] }],
    ["is not there", { slot0: () => "0x" }],
    ["answers too little", { slot0: () => `0x${"ff".repeat(32)}` }],
    ["reverts", { slot0: refusedBy("execution reverted", 3) }],
    ["belongs to a token that reverts", { balanceOf: refusedBy("execution reverted", 3) }],
    // The words of geth and Nethermind, of reth, and of anvil.
    ["burns its gas", { slot0: refusedBy("out of gas") }],
    ["burns its gas at reth", { slot0: refusedBy("EVM error: OutOfGas", -32_003) }],
    ["burns its gas at anvil", { slot0: refusedBy("EVM error OutOfGas", -32_603) }],
    ["jumps into nothing", { slot0: refusedBy("invalid jump destination") }],
    ["is no code", { slot0: refusedBy("invalid opcode: INVALID") }],
  ];
  for (const [what, script] of broken) {
    it(`leaves out a pool that ${what}`, async () => {
      assert.deepEqual(await venueOf(script).venue.markets(A, B, moment), []);
    });
  }

  const unreachable: [string, Script][] = [
    ["does not answer", { slot0: () => new ChainUnreachable("unreachable") }],
    ["does not know the block", { slot0: refusedBy("header not found") }],
    ["does not know it in anvil's words", { balanceOf: refusedBy("Resource not found", -32_001) }],
    ["lacks the state", { slot0: refusedBy("missing trie node") }],
    ["has no factory there", { getPool: () => "0x" }],
    ["has a factory that reverts", { feeAmountTickSpacing: refusedBy("execution reverted", 3) }],
  ];
  for (const [what, script] of unreachable) {
    it(`does not call a pool missing when the node ${what}`, async () => {
      await assert.rejects(venueOf(script).venue.markets(A, B, moment), ChainUnreachable);
    });
  }

  it("quotes what the quoter says", async () => {
    assert.deepEqual(await quote({}), { amountOut: 900n, gas: 80_000n });
  });

  const LOWEST = 4_295_128_740n;
  const HIGHEST = 1_461_446_703_485_210_103_287_273_052_203_988_822_378_723_970_341n;
  const unusable: [string, readonly unknown[]][] = [
    ["that ended at the lowest price, with a part of the input", [900n, LOWEST, 0, 80_000n]],
    ["that ended at the highest price", [900n, HIGHEST, 0, 80_000n]],
    ["of more than the pool holds", [1_001n, PRICE, 0, 80_000n]],
    ["that needs more gas than there is", [900n, PRICE, 0, 100_001n]],
    ["of zeros, which a pool without code leaves", [0n, 0n, 0, 0n]],
  ];
  for (const [what, answer] of unusable) {
    it(`takes no quote ${what}`, async () => {
      assert.equal(await quote({ quoteExactInputSingle: () => answer }), undefined);
    });
  }

  it("takes one just inside those bounds", async () => {
    for (const answer of [
      [1_000n, LOWEST + 1n, 0, 100_000n],
      [1_000n, HIGHEST - 1n, 0, 100_000n],
    ]) {
      const found = await quote({ quoteExactInputSingle: () => answer });
      assert.deepEqual(found, { amountOut: 1_000n, gas: 100_000n });
    }
  });

  it("tells a pool that fails from a node that does", async () => {
    assert.equal(await quote({ quoteExactInputSingle: refusedBy("execution reverted: SPL", 3) }), undefined);
    await assert.rejects(quote({ quoteExactInputSingle: refusedBy("header not found") }), ChainUnreachable);
    await assert.rejects(
      quote({ quoteExactInputSingle: () => new ChainUnreachable("429") }),
      ChainUnreachable,
    );
  });
});

// A path has one spelling, and what is spelt otherwise is no path.
import assert from "node:assert/strict";
import { solidityPacked } from "ethers";
import fc from "fast-check";
import { decodeUniswapPath, encodeUniswapPath } from "../../../../shared/api/uniswap-path.ts";
import { ZERO_ADDRESS, type Address } from "../../../../shared/protocol/brands.ts";
import { FEE_TIERS } from "../../../../shared/protocol/statements.ts";

const A = `0x${"aa".repeat(20)}` as Address;
const B = `0x${"bb".repeat(20)}` as Address;
const C = `0x${"cc".repeat(20)}` as Address;
const packed = (...parts: (string | number)[]): string =>
  solidityPacked(
    parts.map((part) => (typeof part === "number" ? "uint24" : "address")),
    parts,
  );

describe("shared/api/uniswap-path", () => {
  it("spells one pool and two as Solidity packs them", () => {
    const one = { tokenIn: A, path: { feeFirst: 500, middle: ZERO_ADDRESS, feeSecond: 0 }, tokenOut: B };
    assert.equal(encodeUniswapPath(one), packed(A, 500, B));
    const two = { tokenIn: A, path: { feeFirst: 100, middle: C, feeSecond: 10_000 }, tokenOut: B };
    assert.equal(encodeUniswapPath(two), packed(A, 100, C, 10_000, B));
  });

  it("reads back what it wrote, for any tokens and tiers", () => {
    const token = fc
      .uint8Array({ minLength: 20, maxLength: 20 })
      .map((bytes) => `0x${Buffer.from(bytes).toString("hex")}` as Address)
      .filter((address) => address !== ZERO_ADDRESS);
    const tier = fc.constantFrom(...FEE_TIERS);
    const tokens = fc.uniqueArray(token, { minLength: 3, maxLength: 3 });
    fc.assert(
      fc.property(
        tokens,
        tier,
        tier,
        fc.boolean(),
        ([tokenIn, middle, tokenOut], first, second, isOneHop) => {
          const path = isOneHop
            ? { feeFirst: first, middle: ZERO_ADDRESS, feeSecond: 0 }
            : { feeFirst: first, middle: middle!, feeSecond: second };
          const whole = { tokenIn: tokenIn!, path, tokenOut: tokenOut! };
          const text = encodeUniswapPath(whole);
          assert.deepEqual(decodeUniswapPath(text), whole);
          assert.deepEqual(decodeUniswapPath(`0x${text.slice(2).toUpperCase()}`), whole);
        },
      ),
    );
  });

  const refused: [string, string, string][] = [
    ["nothing", "0x", "PATH_LENGTH"],
    ["no hex", "0xzz", "PATH_LENGTH"],
    ["one token", A, "PATH_LENGTH"],
    ["a byte too many", `${packed(A, 500, B)}00`, "PATH_LENGTH"],
    ["a byte too few", packed(A, 500, B).slice(0, -2), "PATH_LENGTH"],
    ["three pools", packed(A, 500, B, 500, C, 500, A), "PATH_LENGTH"],
    ["a tier of nothing", packed(A, 0, B), "PATH_FEE_TIER"],
    ["an unknown tier", packed(A, 501, B), "PATH_FEE_TIER"],
    ["an unknown second tier", packed(A, 500, C, 0, B), "PATH_FEE_TIER"],
    ["a zero token first", packed(ZERO_ADDRESS, 500, B), "PATH_TOKENS"],
    ["a zero token last", packed(A, 500, ZERO_ADDRESS), "PATH_TOKENS"],
    [
      "a zero token between, which would read as one pool",
      packed(A, 500, ZERO_ADDRESS, 500, B),
      "PATH_TOKENS",
    ],
    ["one token at both ends", packed(A, 500, A), "PATH_TOKENS"],
    ["the first token between", packed(A, 500, A, 500, B), "PATH_TOKENS"],
    ["the last token between", packed(A, 500, B, 500, B), "PATH_TOKENS"],
  ];
  for (const [what, text, fault] of refused) {
    it(`refuses ${what}`, () => assert.equal(decodeUniswapPath(text), fault));
  }

  it("writes nothing that it would not read", () => {
    const write =
      (feeFirst: number, middle: Address, feeSecond: number, tokenOut = B) =>
      () =>
        encodeUniswapPath({ tokenIn: A, path: { feeFirst, middle, feeSecond }, tokenOut });
    assert.throws(write(500, ZERO_ADDRESS, 500), RangeError);
    assert.throws(write(500, C, 0), RangeError);
    assert.throws(write(501, ZERO_ADDRESS, 0), RangeError);
    assert.throws(write(500, C, 500, C), RangeError);
  });
});

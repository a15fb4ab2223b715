// Tokens of several makes: with authorizations, without, and a node that cannot say.
import assert from "node:assert/strict";
import { ChainUnreachable, ChainRefused } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { Chain } from "../../../../../proxy/base/chain/provider.ts";
import { createTokens, type Tokens } from "../../../../../proxy/base/chain/token.ts";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";

const TOKEN = `0x${"11".repeat(20)}` as Address;
const NONCE = toHex(word(7n)) as Bytes32;

function answering(answer: string | Error): Tokens {
  const call = async (): Promise<string> => {
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return createTokens({ call } as unknown as Chain);
}
const isUsed = (tokens: Tokens): Promise<boolean | undefined> =>
  tokens.isAuthorizationUsed(TOKEN, TOKEN, NONCE);

describe("base/chain/token", () => {
  it("reads what a token with authorizations says", async () => {
    assert.equal(await isUsed(answering(toHex(word(1n)))), true);
    assert.equal(await isUsed(answering(toHex(word(0n)))), false);
    assert.equal(await answering(toHex(word(9n))).domainSeparator(TOKEN), toHex(word(9n)));
    assert.equal(await answering(toHex(word(9n))).balanceOf(TOKEN, TOKEN), 9n);
  });

  const without: [string, string | Error][] = [
    ["reverts", new ChainRefused(3, "execution reverted", "0x")],
    ["answers nothing, as a fallback does", "0x"],
  ];
  for (const [what, answer] of without) {
    it(`knows a token without authorizations: one that ${what}`, async () => {
      assert.equal(await isUsed(answering(answer)), undefined);
      assert.equal(await answering(answer).domainSeparator(TOKEN), undefined);
      await assert.rejects(answering(answer).balanceOf(TOKEN, TOKEN), ChainUnreachable);
    });
  }

  it("does not take a node in trouble for a token without authorizations", async () => {
    for (const fault of [new ChainUnreachable("gone"), new ChainRefused(-32_000, "header not found", "0x")]) {
      await assert.rejects(isUsed(answering(fault)), (error) => error === fault);
      await assert.rejects(answering(fault).domainSeparator(TOKEN), (error) => error === fault);
    }
    await assert.rejects(isUsed(answering("0x12")), ChainUnreachable);
  });
});

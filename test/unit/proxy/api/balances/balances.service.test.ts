import assert from "node:assert/strict";
import { createBalances } from "../../../../../proxy/api/balances/balances.service.ts";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import type { Header } from "../../../../../proxy/base/chain/provider.ts";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { asAddress, asBytes32 } from "../../../../../shared/protocol/host/text.ts";

const USDC = asAddress("0xe7f1725e7734ce288f8367e1bb143e90bb3f0512") as Address;
const HASH = asBytes32(`0x${"00".repeat(32)}`) as Bytes32;
const head: Header = { number: 9, hash: HASH, parentHash: HASH, timestamp: 0, baseFee: 0n };
const asset = { address: USDC, symbol: "USDC", decimals: 6 };

describe("balances service", () => {
  it("reads the balance at the block it names", async () => {
    const asked: unknown[] = [];
    const balances = createBalances(
      { header: async () => head },
      {
        balanceOf: async (...question) => {
          asked.push(question);
          return 7n;
        },
      },
      asset,
    );
    assert.deepEqual(await balances.usdc(USDC), {
      address: "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
      token: "0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512",
      balance: "7",
      decimals: 6,
      block_number: 9,
    });
    assert.deepEqual(asked, [[USDC, USDC, 9]]);
  });

  it("a node that is unreachable or has no head is CHAIN_UNAVAILABLE, a fault of ours is not hidden", async () => {
    const isUnreachable = (error: unknown): boolean =>
      error instanceof ApiError && error.code === "CHAIN_UNAVAILABLE";
    const balanceOf = async (): Promise<bigint> => 0n;
    await assert.rejects(
      createBalances({ header: async () => undefined }, { balanceOf }, asset).usdc(USDC),
      isUnreachable,
    );
    const unreachable = { header: () => Promise.reject(new ChainUnreachable("gone")) };
    await assert.rejects(createBalances(unreachable, { balanceOf }, asset).usdc(USDC), isUnreachable);
    const fault = new TypeError("ours");
    const broken = { header: () => Promise.reject(fault) };
    await assert.rejects(createBalances(broken, { balanceOf }, asset).usdc(USDC), (error) => error === fault);
  });
});

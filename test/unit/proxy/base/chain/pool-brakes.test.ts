import assert from "node:assert/strict";
import { brakesOfBlock } from "../../../../../proxy/base/chain/pool-brakes.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";

const USDC = `0x${"11".repeat(20)}` as Address;
const WETH = `0x${"22".repeat(20)}` as Address;

describe("base/chain/pool-brakes", () => {
  let tip: string | undefined;
  let asked: string[];
  let fault: Error | undefined;
  let attestedFrom: number;
  const pool = {
    async brakes() {
      asked.push("brakes");
      if (fault !== undefined) throw fault;
      return { attestedFrom, isUnsound: false, advanceableFrom: 0 };
    },
    async room(asset: Address) {
      asked.push(asset);
      if (fault !== undefined) throw fault;
      return { attested: BigInt(asked.length), proved: 0n };
    },
  };
  const open = () => brakesOfBlock(pool, () => tip);

  beforeEach(() => {
    [tip, asked, fault, attestedFrom] = ["a", [], undefined, 0];
  });

  it("asks once a block, also for those who ask at the same moment", async () => {
    const { brakes } = open();
    await Promise.all([brakes(), brakes()]);
    await brakes();
    assert.deepEqual(asked, ["brakes"]);
  });

  it("shows what the next block says", async () => {
    const { brakes } = open();
    await brakes();
    [tip, attestedFrom] = ["b", 7];
    assert.equal((await brakes()).attestedFrom, 7);
  });

  it("asks for each asset by itself", async () => {
    const { room } = open();
    const rooms = [];
    for (const asset of [USDC, WETH, USDC]) rooms.push((await room(asset)).attested);
    assert.deepEqual(rooms, [1n, 2n, 1n]);
  });

  it("asks each time while nobody knows the newest block", async () => {
    tip = undefined;
    const { brakes, room } = open();
    for (let i = 0; i < 2; i++) {
      await brakes();
      await room(USDC);
    }
    assert.equal(asked.length, 4);
  });

  it("keeps no failure", async () => {
    const { brakes } = open();
    fault = new Error("away");
    await assert.rejects(brakes());
    fault = undefined;
    assert.equal((await brakes()).attestedFrom, 0);
    assert.equal(asked.length, 2);
  });
});

// What the checker excuses must be what happened: the members of a call that failed as a whole, and nobody else.
import assert from "node:assert/strict";
import { Interface, Wallet } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { ZERO_ADDRESS, ZERO_BYTES32 } from "../../shared/protocol/brands.ts";
import { ChainMoves } from "./seeded/chain-moves.ts";
import type { World } from "./seeded/world.ts";

const POOL = new Interface(POOL_ABI);
const callOf = (...ids: readonly bigint[]): string =>
  POOL.encodeFunctionData("execute", [
    ids.map((id) => [0, 9n, [id, id + 1n], "0x01", "0x02", "0x", "0x03"]),
    [0n, 0n, 0n, 0n, ZERO_BYTES32, ZERO_BYTES32, "0x"],
  ]);

describe("faults: what the chain refused", () => {
  for (const [what, status, expected] of [
    ["failed as a whole", "0x0", ["one", "two"]],
    ["was executed", "0x1", []],
    ["is in no block", undefined, []],
  ] as const)
    it(`of a call that ${what}`, async () => {
      const wallet = Wallet.createRandom();
      const raw = await wallet.signTransaction({ to: ZERO_ADDRESS, data: callOf(10n, 20n), chainId: 1 });
      const world = {
        height: 0,
        entry: { pool: ZERO_ADDRESS },
        foreign: [],
        prebuilt: [
          { statement: "one", call: callOf(10n) },
          { statement: "two", call: callOf(20n) },
          { statement: "another", call: callOf(30n) },
        ],
        rpc: (method: string) => Promise.resolve(method === "eth_getLogs" ? [] : status && { status }),
      };
      const moves = new ChainMoves(world as unknown as World, () => new Map([["0xhash", raw]]));
      await moves.noteRejected();
      assert.deepEqual([...moves.rejected], expected);
    });
});

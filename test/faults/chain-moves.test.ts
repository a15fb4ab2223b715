// What the checker excuses must be what happened: the members of a call that failed as a whole, and nobody else. And what
// is final must stay, or the suite asks what it does not promise.
import assert from "node:assert/strict";
import { Interface, Wallet } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { ZERO_ADDRESS, ZERO_BYTES32 } from "../../shared/protocol/brands.ts";
import { ChainMoves } from "./seeded/chain-moves.ts";
import { CONFIRMATIONS, type World } from "./seeded/world.ts";

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

describe("faults: how far the chain goes back", () => {
  /** A chain of which only the height is asked; it loses blocks in a rollback. */
  function standing(at: number, worldHeight: number) {
    const chain = { height: at, taken: [] as number[] };
    const rpc = (method: string, params: readonly unknown[] = []): Promise<unknown> => {
      if (method === "eth_blockNumber") return Promise.resolve(`0x${chain.height.toString(16)}`);
      if (method === "eth_getLogs") return Promise.resolve([]);
      if (method === "anvil_mine") chain.height += Number(params[0]);
      if (method === "anvil_rollback") chain.height -= Number(params[0]);
      if (method === "anvil_rollback" || method === "anvil_reorg") chain.taken.push(Number(params[0]));
      return Promise.resolve(null);
    };
    const world = { height: worldHeight, entry: { pool: ZERO_ADDRESS }, foreign: [], prebuilt: [], rpc };
    return { chain, moves: new ChainMoves(world as unknown as World, () => new Map()) };
  }

  it("never to what had its confirmations, however often it does", async () => {
    const { chain, moves } = standing(100, 0);
    assert.equal(await moves.rollback(4), true);
    assert.equal(await moves.reorganise(5, "empty"), true);
    assert.equal(await moves.rollback(6), true);
    assert.equal(await moves.reorganise(1, "empty"), false, "nothing is left to take");
    assert.deepEqual(chain.taken, [4, 2, 2]);
    assert.equal(chain.height, 100 - (CONFIRMATIONS - 1));
    await moves.mine(9);
    assert.equal(await moves.reorganise(6, "empty"), true);
    assert.equal(chain.taken.at(-1), 6, "what has grown again can be taken again");
  });

  it("never to what the world began with", async () => {
    const { chain, moves } = standing(100, 98);
    assert.equal(await moves.rollback(5), true);
    assert.deepEqual(chain.taken, [2]);
  });
});

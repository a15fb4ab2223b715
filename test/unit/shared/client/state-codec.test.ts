import assert from "node:assert/strict";
import { openState, sealState } from "../../../../shared/client/state-codec.ts";
import { WalletState } from "../../../../shared/client/state.ts";
import { mustField, type Address, type Bytes32 } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";

const HOME = { chainId: 7n, pool: "0x00000000000000000000000000000000000000aa" as Address };
const KEY = new Uint8Array(32).fill(1);
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

function aState(): WalletState {
  const state = new WalletState();
  for (let i = 0; i < 9; i++) state.addLeaf(mustField(BigInt(i + 1)), 3);
  state.addNote({
    asset: HOME.pool,
    value: (1n << 128n) - 1n,
    blinding: mustField(5n),
    leafIndex: 2,
    commitment: mustField(3n),
    nullifier: mustField(8n),
    source: "deposit",
    block: 3,
    txHash: toHex(word(1n)),
    spent: { block: 4, txHash: toHex(word(2n)) },
  });
  state.addRoot({ root: state.tree.root(), leafCount: 9, block: 3 });
  const statement = toHex(word(6n)) as Bytes32;
  state.reservations.set(statement, {
    statement,
    commitments: [mustField(3n), mustField(4n)],
    refused: true,
    leafIndexes: [2],
    deadline: 99,
    change: 4n,
    asset: HOME.pool,
  });
  state.lastEventId = "3-f-1-0";
  return state;
}

describe("stored wallet state", () => {
  it("comes back whole", async () => {
    const state = aState();
    const back = await openState(await sealState(state, HOME, KEY), HOME, KEY);
    assert.deepEqual(back, state);
    assert.equal(back.noteOf(mustField(8n))?.leafIndex, 2);
    assert.equal(back.tree.root(), state.tree.root());
  });

  it("tells damage, another key, another pool and another version apart, and never gives an empty wallet", async () => {
    const bytes = await sealState(aState(), HOME, KEY);
    for (const at of [0, 9, 41, 70, bytes.length - 1]) {
      const damaged = bytes.slice();
      damaged[at]! ^= 1;
      await assert.rejects(openState(damaged, HOME, KEY), code("STORAGE_CORRUPT"), `byte ${at}`);
    }
    for (const length of [0, 5, 40, bytes.length - 1]) {
      await assert.rejects(openState(bytes.slice(0, length), HOME, KEY), code("STORAGE_CORRUPT"));
    }
    const version = bytes.slice();
    version[8] = 1;
    await assert.rejects(openState(version, HOME, KEY), code("STORAGE_CORRUPT"));
    await assert.rejects(openState(bytes, HOME, KEY.slice().fill(2)), code("STORAGE_FOREIGN"));
    await assert.rejects(openState(bytes, { ...HOME, chainId: 8n }, KEY), code("STORAGE_FOREIGN"));
  });

  it("shows nothing of its contents", async () => {
    const text = Buffer.from(await sealState(aState(), HOME, KEY)).toString("latin1");
    assert.ok(!text.includes("leafIndex") && !text.includes("aa".repeat(3)));
  });
});

import assert from "node:assert/strict";
import { holdsNotes } from "../../../../../shared/client/state/exposure.ts";
import { mergeState } from "../../../../../shared/client/state/merging.ts";
import { WalletState, type OwnedNote, type Reservation } from "../../../../../shared/client/state/state.ts";
import { mustField, type Address, type Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";

const ASSET = "0x00000000000000000000000000000000000000aa" as Address;
const name = (number: bigint): Bytes32 => toHex(word(number)) as Bytes32;

function aReservation(number: bigint, changes: Partial<Reservation> = {}): Reservation {
  const leafIndexes = [Number(number)];
  const commitments = [mustField(100n + number)];
  return {
    ...{ statement: name(number), commitments, refused: false, leafIndexes },
    ...{ deadline: 99, change: 0n, asset: ASSET },
    ...changes,
  };
}
function aNote(leafIndex: number, blinding = 5n): OwnedNote {
  return {
    ...{ asset: ASSET, value: 7n, blinding: mustField(blinding), leafIndex },
    ...{ commitment: mustField(BigInt(leafIndex + 1)), nullifier: mustField(BigInt(leafIndex + 1000)) },
    ...{ source: "spend", block: 3, txHash: "" },
  };
}
function aState(leaves: number, reservations: readonly Reservation[] = []): WalletState {
  const state = new WalletState();
  for (let i = 0; i < leaves; i++) state.addLeaf(mustField(BigInt(i + 1)), 3);
  state.addRoot({ root: state.tree.root(), leafCount: leaves, block: 3 });
  state.lastEventId = `3-${leaves}`;
  for (const one of reservations) state.reservations.set(one.statement, one);
  return state;
}
const promised = (state: WalletState): [Bytes32, boolean][] =>
  [...state.reservations.values()].map(({ statement, refused }) => [statement, refused]);

describe("merging what two tabs know", () => {
  it("another's promise stays, and this tab's own is added", () => {
    const mine = aState(2);
    const own = aReservation(1n);
    mergeState(mine, aState(2, [aReservation(2n)]), new Map([[own.statement, own]]), true);
    assert.deepEqual(promised(mine).sort(), [
      [name(1n), false],
      [name(2n), false],
    ]);
  });

  it("what one tab gave back is free for both, though the other had seen it promised", () => {
    const released = (number: bigint): Reservation => aReservation(number, { released: true });
    const mine = aState(3, [aReservation(1n)]);
    const theirs = aState(3, [released(1n), aReservation(2n)]);
    mergeState(mine, theirs, new Map([[name(2n), released(2n)]]), true);
    for (const one of mine.reservations.values()) assert.ok(!holdsNotes(one, 0));
    assert.equal(mine.reservations.size, 2);
  });

  it("an older copy of the storage, put back while a tab is open, drops no promise", () => {
    const mine = aState(2, [aReservation(1n), aReservation(2n, { refused: true })]);
    mergeState(mine, aState(1, []), new Map(), true);
    assert.deepEqual(promised(mine), [
      [name(1n), false],
      [name(2n), true],
    ]);
  });

  it("a refusal that either tab heard holds, and so does its having been told as executed", () => {
    const mine = aState(2, [aReservation(1n), aReservation(2n), aReservation(3n, { refused: true })]);
    const theirs = aState(2, [
      aReservation(1n, { refused: true }),
      aReservation(2n),
      aReservation(3n, { refused: true }),
    ]);
    const changes = new Map([
      [name(2n), aReservation(2n, { refused: true })],
      [name(3n), aReservation(3n, { refused: false })],
    ]);
    mergeState(mine, theirs, changes, true);
    assert.deepEqual(promised(mine), [
      [name(1n), true],
      [name(2n), true],
      [name(3n), false],
    ]);
  });

  it("the longer copy of the chain stays, with the notes of both that no stream tells", () => {
    for (const [own, other] of [
      [3, 5],
      [5, 3],
      [4, 4],
    ] as const) {
      const [mine, theirs] = [aState(own), aState(other)];
      mine.addNote(aNote(0));
      theirs.addNote(aNote(other - 1));
      const isReplaced = mergeState(mine, theirs, new Map(), true);
      assert.equal(isReplaced, other > own);
      const longer = Math.max(own, other);
      assert.equal(mine.tree.leafCount, longer);
      assert.equal(mine.lastEventId, `3-${longer}`);
      assert.equal(mine.latestRoot?.root, mine.tree.root());
      assert.deepEqual([...mine.notes.keys()].sort(), [0, other - 1]);
      assert.equal(mine.noteOf(aNote(0).nullifier)?.leafIndex, 0);
    }
  });

  it("no note comes along whose leaf is another one here, and while it is read again nothing is replaced", () => {
    const mine = aState(2);
    const theirs = aState(3);
    theirs.addNote(aNote(2));
    theirs.addNote({ ...aNote(1), commitment: mustField(77n) });
    assert.equal(mergeState(mine, theirs, new Map(), false), false);
    assert.equal(mine.tree.leafCount, 2);
    assert.deepEqual([...mine.notes.keys()], []);
  });

  it("a confirmation lasts as far as both copies have the same leaves", () => {
    for (const isSame of [true, false]) {
      const mine = aState(2);
      mine.confirmedLeaves = 2;
      const theirs = new WalletState();
      for (const leaf of [1n, isSame ? 2n : 9n, 3n]) theirs.addLeaf(mustField(leaf), 3);
      mergeState(mine, theirs, new Map(), true);
      assert.equal(mine.confirmedLeaves, isSame ? 2 : 0);
    }
  });

  it("a note of one tab in what the other has folded comes along with the leaves around it, if they are the same", () => {
    for (const longer of [0, 3])
      for (const isSame of [true, false]) {
        const [mine, theirs] = [aState(300), aState(300 + longer)];
        if (!isSame) theirs.tree.replace(9, mustField(4_444n));
        theirs.addNote(aNote(7));
        mine.addNote(aNote(280));
        mine.tree.fold(0);
        mine.blocks.fold(0);
        mergeState(mine, theirs, new Map(), true);
        // Where theirs is the longer copy it is taken as it is; here nothing of this tab's is missing in it.
        const comes = longer > 0 || isSame;
        assert.equal(mine.notes.has(7), comes);
        assert.equal(mine.tree.isFolded(7), !comes);
        assert.ok(mine.notes.has(280));
      }
  });

  it("what this tab had unfolded for a note is unfolded in a longer copy, too", () => {
    const [mine, theirs] = [aState(300), aState(303)];
    mine.addNote(aNote(7));
    theirs.tree.fold(0);
    theirs.blocks.fold(0);
    assert.equal(mergeState(mine, theirs, new Map(), true), true);
    assert.ok(mine.notes.has(7));
    assert.deepEqual(mine.tree.path(7, 303), aState(303).tree.path(7, 303));
  });
});

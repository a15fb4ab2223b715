import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  bundled,
  openState,
  sealState,
  type OpenedState,
  type SealedState,
} from "../../../../../shared/client/state/state-codec.ts";
import { WalletState } from "../../../../../shared/client/state/state.ts";
import { SUBTREE_LEAVES } from "../../../../../shared/notes/merkle.ts";
import { mustField } from "../../../../../shared/protocol/brands.ts";
import {
  addBlock,
  hashOf,
  HOME,
  leafOf,
  noteAt,
  paymentOf,
  wholeState,
} from "../../../../support/whole-state.ts";

const KEY = new Uint8Array(32).fill(1);
const KEYS = { home: HOME, key: KEY };
const LEAVES = 3 * SUBTREE_LEAVES + 8;
const code = (expected: string) => (error: unknown) => (error as { code?: string }).code === expected;

/** As a storage that holds parts gives them. */
const openFrom = (head: Uint8Array, parts: ReadonlyMap<string, Uint8Array>): Promise<OpenedState> =>
  openState(head, KEYS, () => Promise.resolve(parts));
const openPiece = (bytes: Uint8Array, keys = KEYS): Promise<OpenedState> =>
  openState(bytes, keys, () => Promise.reject(new Error("it asked for a part")));

/** What each part is of. */
function placesOf({ kept }: SealedState): Map<string, string> {
  return new Map([...kept].map(([place, { name }]) => [name, place]));
}
const bytesIn = ({ head, added }: SealedState): number =>
  [...added.values()].reduce((sum, part) => sum + part.length, head.length);
const own = (state: WalletState) => [state.reservations, state.payments, state.contacts, state.bridges];
const history = ({ tree, blocks, notes, roots, ...state }: WalletState) => ({
  tree: tree.packed(),
  blocks: [blocks.firsts(), tree.openSubtrees().map((place) => blocks.inside(place))],
  ...{ notes, roots, last: state.lastEventId, origin: state.origin },
  ...{ voidedIn: state.voidedIn, rootsDropped: state.rootsDropped },
});

describe("stored wallet state", () => {
  it("comes back whole, in one piece or in parts, folded or not", async () => {
    for (const places of [[], [1], [0, 1, 2]]) {
      const state = wholeState(LEAVES);
      for (const place of places) {
        state.tree.fold(place);
        state.blocks.fold(place);
      }
      state.voidedIn = 12;
      state.rootsDropped = true;
      const root = state.tree.root();
      const sealed = await sealState(state, KEYS);
      for (const opened of [await openFrom(sealed.head, sealed.added), await openPiece(bundled(sealed))]) {
        assert.equal(opened.isDamaged, false);
        assert.deepEqual(history(opened.state), history(state));
        assert.deepEqual(own(opened.state), own(state));
        assert.equal(opened.state.noteOf(noteAt(9).nullifier)?.leafIndex, 9);
        assert.equal(opened.state.tree.root(), root);
      }
    }
    const empty = await sealState(new WalletState(), KEYS);
    assert.deepEqual((await openPiece(bundled(empty))).state, new WalletState());
  });

  it("opens what earlier releases wrote", async () => {
    const { versions } = JSON.parse(
      readFileSync(new URL("../../../../support/vectors/earlier-wallets.json", import.meta.url), "utf8"),
    ) as { versions: Record<"3" | "4", string> };
    const expected = wholeState(264);
    for (const version of ["4", "3"] as const) {
      const bytes = Uint8Array.from(Buffer.from(versions[version], "base64"));
      const { state, isDamaged } = await openPiece(bytes);
      assert.equal(isDamaged, false);
      assert.deepEqual(history(state), history(expected));
      assert.equal(state.tree.root(), expected.tree.root());
      if (version === "3") {
        expected.payments.clear();
        expected.contacts.clear();
      }
      assert.deepEqual(own(state), own(expected));
      await assert.rejects(openPiece(bytes.slice(0, -1)), code("STORAGE_CORRUPT"));
      await assert.rejects(openPiece(bytes, { ...KEYS, key: KEY.slice().fill(2) }), code("STORAGE_FOREIGN"));
      await assert.rejects(
        openPiece(bytes, { ...KEYS, home: { ...HOME, chainId: 8n } }),
        code("STORAGE_FOREIGN"),
      );
      const relabelled = bytes.with(8, version === "4" ? 3 : 4);
      await assert.rejects(openPiece(relabelled), code("STORAGE_FOREIGN"));
    }
  });

  it("tells damage, another key, another pool and another version apart, and never gives an empty wallet", async () => {
    const sealed = await sealState(wholeState(LEAVES), KEYS);
    const bytes = bundled(sealed);
    for (const at of [0, 9, 44, 70, sealed.head.length - 1])
      await assert.rejects(openPiece(bytes.with(at, bytes[at]! ^ 1)), code("STORAGE_CORRUPT"), `byte ${at}`);
    for (const length of [0, 5, 40, sealed.head.length - 1, sealed.head.length])
      await assert.rejects(
        openState(bytes.slice(0, length), KEYS, () => Promise.resolve(new Map())),
        code("STORAGE_CORRUPT"),
        `${length} bytes`,
      );
    await assert.rejects(openPiece(bytes.with(8, 1)), code("STORAGE_CORRUPT"));
    await assert.rejects(openPiece(bytes, { ...KEYS, key: KEY.slice().fill(2) }), code("STORAGE_FOREIGN"));
    await assert.rejects(
      openPiece(bytes, { ...KEYS, home: { ...HOME, chainId: 8n } }),
      code("STORAGE_FOREIGN"),
    );
  });

  it("damage to the history costs the history alone, and damage to what is the wallet's own is never passed over", async () => {
    const state = wholeState(LEAVES);
    const sealed = await sealState(state, KEYS);
    const places = placesOf(sealed);
    const isOwn = (place: string): boolean => /^(reservations|bridges|payments|contacts)/.test(place);
    assert.deepEqual(
      [...places.values()]
        .map((place) => place.replace(/\/.*/, ""))
        .filter((place, i, all) => all.indexOf(place) === i),
      ["reservations", "bridges", "payments", "contacts", "nodes", "subtree", "roots", "notes", "history"],
    );
    for (const [name, place] of places) {
      const part = sealed.added.get(name)!;
      for (const damage of [undefined, part.with(0, part[0]! ^ 1), part.slice(0, -1), new Uint8Array(0)]) {
        const parts = new Map(sealed.added);
        if (damage === undefined) parts.delete(name);
        else parts.set(name, damage);
        if (isOwn(place)) {
          await assert.rejects(openFrom(sealed.head, parts), code("STORAGE_CORRUPT"), place);
          continue;
        }
        const opened = await openFrom(sealed.head, parts);
        assert.equal(opened.isDamaged, true, place);
        assert.deepEqual(own(opened.state), own(state));
        assert.deepEqual(history(opened.state), history(new WalletState()));
        // What is saved after that is whole again.
        const again = await sealState(opened.state, KEYS, opened.kept);
        const whole = await openFrom(again.head, new Map([...parts, ...again.added]));
        assert.equal(whole.isDamaged, false);
      }
    }
  });

  it("takes no part of an older save, of another place or of another wallet for one that its head names", async () => {
    const state = wholeState(LEAVES);
    const older = await sealState(state, KEYS);
    addBlock(state);
    state.addNote(noteAt(20));
    state.reservations.clear();
    const newer = await sealState(state, KEYS, older.kept);
    const all = new Map([...older.added, ...newer.added]);
    assert.equal((await openFrom(newer.head, all)).isDamaged, false);
    const nameOf = ({ kept }: SealedState, place: string): string => kept.get(place)!.name;
    for (const place of ["roots", "notes/0", "subtree/3", "history"]) {
      const mixed = new Map(all).set(nameOf(newer, place), older.added.get(nameOf(older, place))!);
      assert.equal((await openFrom(newer.head, mixed)).isDamaged, true, place);
    }
    const mixed = new Map(all).set(
      nameOf(newer, "reservations"),
      older.added.get(nameOf(older, "reservations"))!,
    );
    await assert.rejects(openFrom(newer.head, mixed), code("STORAGE_CORRUPT"));
    const elsewhere = new Map(all).set(
      nameOf(newer, "subtree/0"),
      older.added.get(nameOf(older, "subtree/1"))!,
    );
    assert.equal((await openFrom(newer.head, elsewhere)).isDamaged, true);
    const stranger = await sealState(state, { ...KEYS, key: KEY.slice().fill(2) });
    const strange = new Map(all).set(nameOf(newer, "roots"), stranger.added.get(nameOf(stranger, "roots"))!);
    assert.equal((await openFrom(newer.head, strange)).isDamaged, true);

    // An older head with its own parts is an older copy; without them it is noticed.
    assert.deepEqual(history((await openFrom(older.head, older.added)).state), history(wholeState(LEAVES)));
    const left = new Map([...all].filter(([name]) => newer.named.has(name)));
    await assert.rejects(openFrom(older.head, left), code("STORAGE_CORRUPT"));
  });

  it("seals again only what has changed, by whomever it was read", async () => {
    const state = wholeState(LEAVES);
    const first = await sealState(state, KEYS);
    const changed = async (change: (state: WalletState) => void): Promise<string[]> => {
      for (const from of [{ state, kept: first.kept }, await openFrom(first.head, first.added)]) {
        change(from.state);
        const next = await sealState(from.state, KEYS, from.kept);
        const all = new Map([...first.added, ...next.added]);
        assert.deepEqual(history((await openFrom(next.head, all)).state), history(from.state));
        const places = placesOf(next);
        results.push([...next.added.keys()].map((name) => places.get(name)!));
        undo();
      }
      const [one, ...others] = results.splice(0);
      for (const other of others) assert.deepEqual(other, one);
      return one!;
    };
    const results: string[][] = [];
    let undo = (): void => undefined;
    assert.deepEqual(await changed(() => undefined), []);
    assert.deepEqual(
      await changed((one) => {
        one.payments.set(hashOf(601), paymentOf(601));
        undo = () => state.payments.delete(hashOf(601));
      }),
      ["payments/0"],
    );
    assert.deepEqual(
      await changed((one) => {
        const note = one.notes.get(9)!;
        one.notes.set(9, { ...note, spent: { block: 40, txHash: hashOf(40) } });
        undo = () => one.notes.set(9, note);
      }),
      ["notes/0", "history"],
    );
    undo = () => undefined;
    assert.deepEqual(await changed(addBlock), ["subtree/3", "roots", "history"]);
    // What came in one piece is nowhere else.
    const piece = await openPiece(bundled(first));
    assert.equal((await sealState(piece.state, KEYS, piece.kept)).added.size, first.added.size);
  });

  it("seals again what became void, went back and came again, though it is as long as before", async () => {
    const state = wholeState(LEAVES);
    let saved = await sealState(state, KEYS);
    const parts = new Map(saved.added);
    for (const change of [
      () => state.voidStatement(300, 2, [], { block: 400, txHash: hashOf(400) }),
      () => {
        state.voidedIn = undefined;
        const { leafCount } = state.tree;
        assert.equal(state.rollBack(state.blocks.of(700)!), true);
        while (state.tree.leafCount < leafCount) state.addLeaf(mustField(7n), 1_000);
      },
      () => state.tree.fold(0),
    ]) {
      change();
      saved = await sealState(state, KEYS, saved.kept);
      for (const [name, part] of saved.added) parts.set(name, part);
      assert.deepEqual(history((await openFrom(saved.head, parts)).state).tree, state.tree.packed());
    }
  });

  it("writes little for one payment, however many leaves and records there are", async () => {
    const sizes: number[] = [];
    for (const leaves of [8 * SUBTREE_LEAVES, 64 * SUBTREE_LEAVES]) {
      const state = wholeState(leaves);
      for (let i = 0; i < leaves / 64; i++) {
        state.addNote(noteAt(i));
        state.payments.set(hashOf(1_000 + i), paymentOf(1_000 + i));
      }
      state.rootsDropped = true;
      state.fold();
      const { kept } = await sealState(state, KEYS);
      addBlock(state);
      state.notes.set(1, { ...noteAt(1), spent: { block: 900, txHash: hashOf(900) } });
      state.addNote(noteAt(leaves));
      state.payments.set(hashOf(9), paymentOf(9));
      sizes.push(bytesIn(await sealState(state, KEYS, kept)));
    }
    assert.ok(sizes[1]! < 2 * sizes[0]! && sizes[1]! < 120_000, `${sizes.join(", ")} bytes`);
  });

  it("shows nothing of its contents", async () => {
    const text = Buffer.from(bundled(await sealState(wholeState(LEAVES), KEYS))).toString("latin1");
    assert.ok(!text.includes("leafIndex") && !text.includes("aa".repeat(3)));
    assert.ok(
      !text.includes(Buffer.from(leafOf(1).toString(16).padStart(64, "0"), "hex").toString("latin1")),
    );
  });
});

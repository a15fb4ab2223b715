import fc from "fast-check";
import assert from "node:assert/strict";
import type { StreamEvent } from "../../../../../shared/api/data.ts";
import { ClientError } from "../../../../../shared/client/base/errors.ts";
import { applyEvent, verifiedRoot } from "../../../../../shared/client/history/scanner.ts";
import { WalletState } from "../../../../../shared/client/state/state.ts";
import { nobody, OutputSealer } from "../../../../../shared/notes/encryption.ts";
import { SpendingKey } from "../../../../../shared/notes/keys.ts";
import { commitmentOf, noteCommitment, npkOf, nullifierOf } from "../../../../../shared/notes/note.ts";
import { mustField, type Address, type Field } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { balanceOf, stateOfNote } from "../../../../../shared/client/state/balances.ts";
import { emptyFrontier } from "../../../../../shared/protocol/host/frontier.ts";
import { sealNote } from "../../../../support/sealed-notes.ts";
import { storedAndOpened } from "../../../../support/stored-state.ts";

const ASSET = "0x00000000000000000000000000000000000000bb" as Address;
const HOME = { chainId: 1n, pool: ASSET };
const keys = SpendingKey.fromSeed(new Uint8Array(32).fill(4));
const me = keys.viewing;
const hex = (value: bigint): string => toHex(word(value));
const TX = hex(1n);

type Logged = Extract<StreamEvent, { kind: "leaf" | "nullifier" | "root" }>;

// Made once: encryption is the slow part of a random history.
const ours = Array.from({ length: 24 }, (_, i) => made(me.address, i));
const theirs = Array.from({ length: 24 }, (_, i) => made(nobody(), i));

function made(to: ReturnType<typeof nobody>, i: number) {
  const { note, told } = sealNote(to, ASSET, BigInt(i + 1), i % 4);
  return { commitment: noteCommitment(to.owner, note), told };
}

type Step = { type: "ours" | "theirs" | "spend" | "root"; pick: number };

/** A chain that grows by random steps, one log a step, a few steps a block. */
class Chain {
  blocks: { number: number; events: Logged[] }[] = [];
  #fork = 0;

  get events(): Logged[] {
    return this.blocks.flatMap(({ events }) => events);
  }
  leaves(): { commitment: Field; own: boolean }[] {
    return this.events.flatMap((event) =>
      event.kind === "leaf"
        ? [
            {
              commitment: mustField(BigInt(event.data.commitment)),
              own: ours.some(({ commitment }) => hex(commitment) === event.data.commitment),
            },
          ]
        : [],
    );
  }
  grow(steps: readonly Step[]): void {
    const number = (this.blocks.at(-1)?.number ?? 0) + 1;
    const block = { number, events: [] as Logged[] };
    this.blocks.push(block);
    for (const { type, pick } of steps) {
      const id = `${number}-f${this.#fork}-${block.events.length}-0`;
      const leaves = this.leaves();
      if (type === "ours" || type === "theirs") {
        const { commitment, told } = (type === "ours" ? ours : theirs)[pick % 24]!;
        const data = {
          index: leaves.length,
          commitment: hex(commitment),
          ...told,
          source: "spend" as const,
          tx_hash: TX,
          block_number: number,
        };
        block.events.push({ kind: "leaf", id, data });
      } else if (type === "root") {
        const frontier = emptyFrontier();
        for (const { commitment } of leaves) frontier.append(commitment);
        block.events.push({
          kind: "root",
          id,
          data: { root: hex(frontier.root()), leaf_count: leaves.length, block_number: number },
        });
      } else {
        const own = leaves.flatMap(({ commitment, own }, index) => (own ? [{ commitment, index }] : []));
        const note = own[pick % Math.max(own.length, 1)];
        const nullifier =
          note === undefined ? BigInt(pick) : nullifierOf(me.nullifierKey, note.commitment, note.index);
        block.events.push({
          kind: "nullifier",
          id,
          data: { nullifier: hex(nullifier), tx_hash: TX, block_number: number },
        });
      }
    }
  }
  /** The last blocks vanish; says where the stream goes back to. */
  reorg(depth: number): string | null {
    this.blocks.splice(Math.max(0, this.blocks.length - depth));
    this.#fork += 1;
    return this.events.at(-1)?.id ?? null;
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  type: fc.constantFrom("ours", "theirs", "spend", "root"),
  pick: fc.nat(23),
});
const act = fc.oneof(
  { weight: 4, arbitrary: fc.record({ grow: fc.array(step, { maxLength: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ reorg: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 1, arbitrary: fc.record({ restart: fc.constant(true) }) },
);

const view = (state: WalletState): unknown => ({
  notes: [...state.notes.values()].sort((a, b) => a.leafIndex - b.leafIndex),
  roots: state.roots,
  blocks: state.blocks,
  tree: state.tree.packed(),
  last: state.lastEventId,
});

describe("scanner", () => {
  it("after any history of blocks, reorganisations and restarts it is where a fresh scan is", async function () {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 14 }), async (acts) => {
        const chain = new Chain();
        let state = new WalletState();
        for (const one of acts) {
          if ("restart" in one) {
            state = await storedAndOpened(state, HOME, keys.storageKey());
            continue;
          }
          if ("reorg" in one) {
            const from_id = chain.reorg(one.reorg);
            applyEvent(state, me, { kind: "reorg", id: undefined, data: { from_id } });
            continue;
          }
          const seen = chain.events.length;
          chain.grow(one.grow);
          for (const event of chain.events.slice(seen)) applyEvent(state, me, event);
          verifiedRoot(state);
        }
        const fresh = new WalletState();
        for (const event of chain.events) applyEvent(fresh, me, event);
        assert.deepEqual(view(state), view(fresh));
      }),
      { numRuns: 60 },
    );
  });

  it("an event sent twice counts once", () => {
    const chain = new Chain();
    chain.grow([
      { type: "ours", pick: 1 },
      { type: "spend", pick: 0 },
      { type: "root", pick: 0 },
    ]);
    const once = new WalletState();
    const twice = new WalletState();
    for (const event of chain.events) applyEvent(once, me, event);
    for (let round = 0; round < 2; round++) for (const event of chain.events) applyEvent(twice, me, event);
    assert.deepEqual(view(twice), view(once));
  });

  const leaf = (data: Partial<Extract<Logged, { kind: "leaf" }>["data"]>): StreamEvent => ({
    kind: "leaf",
    id: "1-f-0",
    data: {
      index: 0,
      commitment: hex(1n),
      ...{ ephemeral_key: "0x", output: 0, ciphertext: "0x" },
      source: "spend",
      tx_hash: TX,
      block_number: 1,
      ...data,
    },
  });

  it("does not believe a note whose commitment is another one", () => {
    const state = new WalletState();
    const lie = { commitment: hex(77n), ...sealNote(me.address, ASSET, 5n).told };
    assert.equal(applyEvent(state, me, leaf(lie)).type, "nothing");
    assert.equal(state.notes.size, 0);
    assert.equal(state.tree.leafCount, 1);
  });

  it("takes value and asset from the event where the pool hashed the note itself", () => {
    const { note, told } = sealNote(me.address, ASSET, 0n, 3);
    const npk = npkOf(me.owner, note.blinding);
    const event = {
      ...told,
      npk: hex(npk),
      asset: ASSET,
      value: "900",
      commitment: hex(commitmentOf(npk, ASSET, 900n)),
      source: "swap" as const,
    };
    const state = new WalletState();
    assert.equal(applyEvent(state, me, leaf(event)).type, "received");
    assert.equal(state.notes.get(0)?.value, 900n);
    const another = new WalletState();
    assert.equal(applyEvent(another, me, leaf({ ...event, value: "901" })).type, "nothing");
    assert.equal(applyEvent(new WalletState(), me, leaf({ ...event, npk: hex(3n) })).type, "nothing");
  });

  it("finds both where a hostile sender gives one ephemeral key twice", () => {
    const secret = new Uint8Array(32).fill(7);
    const [once, again] = [new OutputSealer(secret), new OutputSealer(secret)];
    const [first, second] = [once.seal(me.address, ASSET, 5n), again.seal(me.address, ASSET, 6n)];
    assert.equal(first.blinding, second.blinding);
    const state = new WalletState();
    for (const [index, [sealer, note]] of (
      [
        [once, first],
        [again, second],
      ] as const
    ).entries()) {
      const event = leaf({
        index,
        commitment: hex(noteCommitment(me.owner, note)),
        ...{ ephemeral_key: toHex(sealer.ephemeralKey), ciphertext: toHex(sealer.ciphertexts[0]!) },
      });
      assert.equal(applyEvent(state, me, event).type, "received");
    }
    const found = [...state.notes.values()];
    assert.deepEqual(
      found.map(({ value }) => value),
      [5n, 6n],
    );
    assert.equal(new Set(found.map(({ nullifier }) => nullifier)).size, 2, "each can be spent");
  });

  it("finds equal notes of one transaction at both places", () => {
    const sealer = new OutputSealer();
    const notes = [sealer.seal(me.address, ASSET, 5n), sealer.seal(me.address, ASSET, 5n)];
    const state = new WalletState();
    notes.forEach((note, output) => {
      const told = { ephemeral_key: toHex(sealer.ephemeralKey), output };
      const ciphertext = toHex(sealer.ciphertexts[output]!);
      const commitment = hex(noteCommitment(me.owner, note));
      applyEvent(state, me, leaf({ index: output, commitment, ...told, ciphertext }));
    });
    assert.equal(state.notes.size, 2);
  });

  it("offers nothing that is void or under a revoked root, and takes back what a refuted statement spent", () => {
    const state = new WalletState();
    const [first, second] = [ours[0]!, ours[1]!];
    const own = ({ commitment, told }: (typeof ours)[number], index: number): StreamEvent =>
      leaf({ index, commitment: hex(commitment), ...told, block_number: index + 1 });
    const rootOver = (leaf_count: number, block_number: number): StreamEvent => ({
      kind: "root",
      id: `${String(block_number)}-f-1`,
      data: { root: hex(state.tree.root(leaf_count)), leaf_count, block_number },
    });
    const states = (): string[] => [...state.notes.values()].map((note) => stateOfNote(state, note, 0));
    applyEvent(state, me, own(first, 0));
    applyEvent(state, me, rootOver(1, 1));
    applyEvent(state, me, own(second, 1));
    applyEvent(state, me, rootOver(2, 2));
    const nullifier = hex(nullifierOf(me.nullifierKey, first.commitment, 0));
    applyEvent(state, me, {
      kind: "nullifier",
      id: "3-f-0",
      data: { nullifier, tx_hash: TX, block_number: 3 },
    });
    state.confirmedLeaves = 2;
    assert.deepEqual(states(), ["spent", "spendable"]);

    const seen = { tx_hash: TX, block_number: 4 };
    const voided = { first_leaf_index: 1, count: 1, nullifiers: [nullifier], ...seen };
    assert.equal(applyEvent(state, me, { kind: "void", id: "4-f-0", data: voided }).type, "voided");
    assert.equal(applyEvent(state, me, rootOver(1, 4)).type, "rooted");
    assert.deepEqual(states(), ["spendable", "void"]);
    assert.equal(state.confirmedLeaves, 1);
    assert.deepEqual(verifiedRoot(state)?.leafCount, 1);
    const empty = emptyFrontier();
    for (const each of [first.commitment, mustField(0n)]) empty.append(each);
    assert.equal(state.tree.root(2), empty.root());
    assert.equal(balanceOf(state, ASSET, 0).total, state.notes.get(0)!.value);

    // Sent again, as after a reorganisation inside its block.
    assert.equal(applyEvent(state, me, own(second, 1)).type, "nothing");
    const far = { ...voided, first_leaf_index: 2 };
    assert.throws(() => applyEvent(state, me, { kind: "void", id: "5-f-0", data: far }), {
      code: "STREAM_INCONSISTENT",
    });
    // What stood in the leaves is forgotten: from before the refutation the stream is read anew.
    const back = { kind: "reorg" as const, id: undefined, data: { from_id: "3-f-0" } };
    assert.equal(applyEvent(state, me, back).type, "rolled-back");
    assert.deepEqual([state.tree.leafCount, state.notes.size, state.voidedIn], [0, 0, undefined]);
  });

  it("survives a garbage ciphertext and refuses a missing or contradicting leaf and impossible roots", () => {
    const state = new WalletState();
    applyEvent(state, me, leaf({ ciphertext: "0xzz" }));
    const inconsistent = (error: unknown): boolean =>
      error instanceof ClientError && error.code === "STREAM_INCONSISTENT";
    assert.throws(() => applyEvent(state, me, leaf({ commitment: hex(2n) })), inconsistent);
    assert.throws(() => applyEvent(state, me, leaf({ index: 2 })), inconsistent);
    const root = (leaf_count: number): StreamEvent => ({
      kind: "root",
      id: "2-f-0",
      data: { root: hex(9n), leaf_count, block_number: 2 },
    });
    assert.throws(() => applyEvent(state, me, root(2)), inconsistent);
    applyEvent(state, me, root(1));
    assert.throws(() => verifiedRoot(state), inconsistent);
  });
});

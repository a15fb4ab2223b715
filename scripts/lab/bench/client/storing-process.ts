// A wallet of a large pool in a process of its own: opened from files, and saved after a payment. Way "parts" is the client
// library as applications use it: what is not the wallet's own is folded, and a save writes what has changed. Way "whole"
// is what it would be without either: every leaf, in one piece. Nodes are random: nothing here looks at what they hash to.
import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import { LeafBlocks } from "../../../../shared/client/state/leaf-blocks.ts";
import { fileStorage } from "../../../../shared/client/node/index.ts";
import type { WalletStorage } from "../../../../shared/client/state/storage.ts";
import { StateStore } from "../../../../shared/client/state/state-store.ts";
import { KEPT_ROOTS, WalletState, type OwnedNote } from "../../../../shared/client/state/state.ts";
import { NODE_BYTES, NoteTree, SUBTREE_LEAVES, subtreeOf } from "../../../../shared/notes/merkle.ts";
import { randomField } from "../../../../shared/notes/note.ts";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../shared/protocol/bytes.ts";
import { KINDS } from "../../../../shared/protocol/statements.ts";
import { answer } from "../answering.ts";

export type Way = "parts" | "whole";
export type StoreQuestion =
  | { readonly type: "make"; readonly folder: string; readonly way: Way; readonly leaves: number }
  | { readonly type: "open"; readonly folder: string; readonly way: Way }
  | { readonly type: "pay" };

export interface Stored {
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** That this save wrote. */
  readonly bytes: number;
  /** Of all files. */
  readonly storedBytes: number;
  /** Of this process since it began. */
  readonly peakMb: number;
}

const OWN_NOTES = 100;
const PAYMENTS = 100;
/** Leaves of a block, and as many under each root as under the one before it and this. */
const BLOCK_LEAVES = 40;
const IN_STATEMENT = KINDS.spend.leaves;
const ASSET = `0x${"bb".repeat(20)}` as Address;
const KEYS = { home: { chainId: 31_337n, pool: ASSET }, key: new Uint8Array(32).fill(4) };

const blockOf = (leaf: number): number => 1 + Math.floor(leaf / BLOCK_LEAVES);
const randomHash = (): Bytes32 => toHex(crypto.getRandomValues(new Uint8Array(32))) as Bytes32;

let folder = "";
let way: Way = "parts";
let store: StateStore;
let state: WalletState;

answer(async (question: StoreQuestion): Promise<Stored> => {
  switch (question.type) {
    case "make": {
      ({ folder, way } = question);
      state = aWallet(question.leaves);
      if (way === "parts") state.fold();
      store = storeOf(way);
      return measured(saveNow);
    }
    case "open":
      ({ folder, way } = question);
      store = storeOf(way);
      return measured(async () => {
        const found = await store.load();
        if (found === undefined || found.isDamaged) throw new Error("it was not found whole");
        state = found.state;
      });
    case "pay":
      pay();
      return measured(saveNow);
  }
});

async function saveNow(): Promise<void> {
  if (!(await store.save(state))) throw new Error("it was not saved");
}

function storeOf(wanted: Way): StateStore {
  const { parts, ...piece } = fileStorage(path.join(folder, "wallet"));
  const storage: WalletStorage = wanted === "parts" && parts !== undefined ? { ...piece, parts } : piece;
  return new StateStore(storage, KEYS);
}

async function measured(work: () => Promise<void>): Promise<Stored> {
  const before = await files();
  const cpu = process.cpuUsage();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1e3;
  const { user, system } = process.cpuUsage(cpu);
  const after = await files();
  const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);
  return {
    ...{
      seconds,
      cpuSeconds: (user + system) / 1e6,
      storedBytes: sum([...after.values()].map(({ size }) => size)),
    },
    bytes: sum(
      [...after].filter(([name, { made }]) => before.get(name)?.made !== made).map(([, { size }]) => size),
    ),
    peakMb: (process.resourceUsage().maxRSS * 1024) / 1e6,
  };
}

async function files(): Promise<Map<string, { readonly size: number; readonly made: number }>> {
  const found = new Map<string, { size: number; made: number }>();
  for (const name of await readdir(folder, { recursive: true })) {
    const at = await stat(path.join(folder, name));
    if (at.isFile()) found.set(name, { size: at.size, made: at.ino });
  }
  return found;
}

function aWallet(leaves: number): WalletState {
  const made = new WalletState();
  const places = subtreeOf(leaves);
  const rest = leaves % SUBTREE_LEAVES;
  const tree = NoteTree.from({
    nodes: randomNodes(places),
    leaves: new Map(Array.from({ length: places }, (_, place) => [place, randomNodes(SUBTREE_LEAVES)])),
    rest: randomNodes(rest),
  });
  if (tree === undefined) throw new Error("no tree");
  made.tree = tree;
  made.blocks = new LeafBlocks();
  for (let leaf = 0; leaf < leaves; leaf++) made.blocks.push(blockOf(leaf));
  for (let i = 0; i < OWN_NOTES; i++) made.addNote(aNote(made, Math.floor((leaves / OWN_NOTES) * i)));
  for (let i = 0; i <= KEPT_ROOTS; i++) {
    const leafCount = leaves - (KEPT_ROOTS - i) * BLOCK_LEAVES;
    made.addRoot({ root: randomField(), leafCount, block: blockOf(leafCount - 1) });
  }
  for (let i = 0; i < PAYMENTS; i++) addPayment(made);
  return made;
}

/** A spend of this wallet's in a block of its own, with change, under a root. */
function pay(): void {
  const { tree, notes } = state;
  const first = tree.leafCount;
  const block = (state.blocks.newest ?? 0) + 1;
  for (let i = 0; i < IN_STATEMENT; i++) state.addLeaf(randomField(), block);
  state.addRoot({ root: randomField(), leafCount: tree.leafCount, block });
  const spent = [...notes.values()].find((note) => note.spent === undefined)!;
  const change = aNote(state, first + 1);
  state.notes.set(spent.leafIndex, { ...spent, spent: { block, txHash: change.txHash } });
  state.addNote(change);
  addPayment(state);
  state.lastEventId = `${String(block)}-abcdef01-7.4`;
  if (way === "parts") state.fold();
}

function aNote({ tree, blocks }: WalletState, leafIndex: number): OwnedNote {
  return {
    ...{ asset: ASSET, value: 1_000_000n, blinding: randomField(), leafIndex },
    ...{ commitment: tree.leaf(leafIndex)!, nullifier: randomField(), source: "spend" },
    ...{ block: blocks.of(leafIndex)!, txHash: randomHash() },
    sealed: { ephemeralKey: randomHash(), output: 1 },
  };
}

function addPayment({ payments, reservations, tree }: WalletState): void {
  const statement = randomHash();
  const common = { statement, asset: ASSET, deadline: 4_000_000_000, leafIndexes: [1] };
  const commitments = Array.from({ length: IN_STATEMENT }, randomField);
  payments.set(statement, {
    ...common,
    ...{ kind: "transfer", amount: 1_000_000n, fees: 2_000n, to: `cldev1${"q".repeat(110)}`, memo: "rent" },
    ...{ madeAt: 1_800_000_000, madeAfter: tree.leafCount, commitments, derivation: { change: 5n, salt: 1 } },
  });
  // Those of an hour ago are dead and forgotten.
  reservations.clear();
  reservations.set(statement, { ...common, commitments, refused: false, change: 5n });
}

/** Below the order, since the first byte is none. */
function randomNodes(count: number): Uint8Array {
  const nodes = new Uint8Array(count * NODE_BYTES);
  for (let at = 0; at < nodes.length; at += 65_536) crypto.getRandomValues(nodes.subarray(at, at + 65_536));
  for (let at = 0; at < nodes.length; at += NODE_BYTES) nodes[at] = 0;
  return nodes;
}

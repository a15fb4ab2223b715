/**
 * Wallet state as earlier releases wrote it: one sealed text with every node of the tree. Version 3 is without payments and
 * contacts. Read only: what is saved from it has the form of today.
 *
 * Sealed: length[4] of the JSON part, JSON, nodes[32 each] level by level.
 */
import { bytesToUint } from "../../protocol/bytes.ts";
import type { Home } from "../../protocol/statements.ts";
import { NODE_BYTES, NoteTree, SUBTREE_LEAVES, SUBTREE_LEVELS, subtreeOf } from "../../notes/merkle.ts";
import type { StoredRecord } from "./bridge-record.ts";
import type { StoredContact } from "./contact-record.ts";
import { ClientError } from "../base/errors.ts";
import { LeafBlocks } from "./leaf-blocks.ts";
import { corrupt, openBegun, requireHome } from "./sealing.ts";
import {
  addRestoredPayment,
  must,
  restoreBridge,
  restoreNote,
  restoreReservation,
  restoreRoot,
} from "./state-sections.ts";
import { WalletState, type Origin, type OwnedNote, type Reservation, type RootMark } from "./state.ts";
import type { StoredPayment } from "./stored-payment.ts";
import type { Text } from "./stored-text.ts";
import type { Turns } from "../base/turns.ts";

export const EARLIER_VERSIONS: readonly number[] = [3, 4];
/** Of the JSON part's length. */
const LENGTH_BYTES = 4;

interface Stored {
  readonly chainId: string;
  readonly pool: string;
  readonly lastEventId: string | null;
  /** Absent in what older ones wrote. */
  readonly origin?: Origin;
  readonly voidedIn: number | null;
  readonly notes: readonly Text<OwnedNote>[];
  readonly roots: readonly Text<RootMark>[];
  readonly rootsDropped: boolean;
  /** First leaf of each block that has leaves, ascending. */
  readonly blocks: readonly { readonly block: number; readonly firstLeaf: number }[];
  readonly reservations: readonly Text<Reservation>[];
  readonly bridges?: readonly StoredRecord[];
  /** Absent in version 3. */
  readonly payments?: readonly StoredPayment[];
  readonly contacts?: readonly StoredContact[];
  /** Complete nodes by level. */
  readonly rows: readonly number[];
}

/** Throws STORAGE_CORRUPT or STORAGE_FOREIGN. */
export async function openEarlier(
  bytes: Uint8Array,
  home: Home,
  key: Uint8Array,
  turns: Turns,
): Promise<WalletState> {
  const plain = await openBegun(bytes, key, turns);
  const jsonEnd = LENGTH_BYTES + Number(bytesToUint(plain.slice(0, LENGTH_BYTES)));
  // What opens was written by us, so from here on a surprise is a fault of ours; it is still no empty wallet.
  try {
    const stored = JSON.parse(new TextDecoder().decode(plain.subarray(LENGTH_BYTES, jsonEnd))) as Stored;
    requireHome(stored, home);
    return restore(stored, plain.subarray(jsonEnd));
  } catch (cause) {
    throw cause instanceof ClientError ? cause : corrupt("unreadable", cause);
  }
}

function restore(stored: Stored, nodes: Uint8Array): WalletState {
  const state = new WalletState();
  state.tree = treeOf(stored.rows, nodes);
  state.blocks = blocksOf(stored.blocks, state.tree.leafCount);
  for (const note of stored.notes) restoreNote(state, note);
  state.roots = stored.roots.map(restoreRoot);
  state.rootsDropped = stored.rootsDropped;
  state.lastEventId = stored.lastEventId ?? undefined;
  state.origin = stored.origin ?? "service";
  state.voidedIn = stored.voidedIn ?? undefined;
  for (const reservation of stored.reservations) restoreReservation(state, reservation);
  for (const payment of stored.payments ?? []) addRestoredPayment(state, payment);
  for (const contact of stored.contacts ?? []) state.contacts.set(contact.address, contact);
  for (const bridge of stored.bridges ?? []) restoreBridge(state, bridge);
  return state;
}

/** The leaves come first; of the nodes above them level 4 is enough. */
function treeOf([leafCount = 0, ...above]: readonly number[], bytes: Uint8Array): NoteTree {
  const sum = (rows: readonly number[]): number => rows.reduce((all, count) => all + count, leafCount);
  const places = subtreeOf(leafCount);
  const nodesAt = sum(above.slice(0, SUBTREE_LEVELS - 1));
  const size = (count: number): number => count * NODE_BYTES;
  if (above[SUBTREE_LEVELS - 1] !== places || bytes.length !== size(sum(above)))
    throw corrupt("its tree has another size");
  const leavesOf = (place: number): Uint8Array =>
    bytes.subarray(size(place * SUBTREE_LEAVES), size(Math.min((place + 1) * SUBTREE_LEAVES, leafCount)));
  return must(
    NoteTree.from({
      nodes: bytes.subarray(size(nodesAt), size(nodesAt + places)),
      leaves: new Map(Array.from({ length: places }, (_, place) => [place, leavesOf(place)])),
      rest: leavesOf(places),
    }),
  );
}

function blocksOf(stored: Stored["blocks"], leafCount: number): LeafBlocks {
  const blocks = new LeafBlocks();
  for (const [i, { block }] of stored.entries())
    while (blocks.leafCount < (stored[i + 1]?.firstLeaf ?? leafCount)) blocks.push(block);
  return blocks;
}

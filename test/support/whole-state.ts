// A wallet's state with something of everything in it.
import type { BridgeRecord } from "../../shared/client/state/bridge-record.ts";
import { recordKey } from "../../shared/client/state/bridge-record.ts";
import type { PaymentRecord } from "../../shared/client/state/payment-record.ts";
import { WalletState, type OwnedNote, type Reservation } from "../../shared/client/state/state.ts";
import { mustField, type Address, type Bytes32 } from "../../shared/protocol/brands.ts";
import { toHex, word } from "../../shared/protocol/bytes.ts";

const ASSET = `0x${"aa".repeat(20)}` as Address;
export const HOME = { chainId: 7n, pool: ASSET };
export const KEY = new Uint8Array(32).fill(1);
export const hashOf = (number: number): Bytes32 => toHex(word(BigInt(number))) as Bytes32;
export const leafOf = (index: number) => mustField(BigInt(1_000 + index));
const LEAVES_IN_BLOCK = 4;
const blockOf = (index: number): number => 10 + Math.floor(index / LEAVES_IN_BLOCK);

export function noteAt(leafIndex: number, spentIn?: number): OwnedNote {
  return {
    ...{ asset: ASSET, value: (1n << 128n) - 1n, blinding: mustField(5n), leafIndex },
    ...{ commitment: leafOf(leafIndex), nullifier: mustField(BigInt(9_000_000 + leafIndex)) },
    ...{ source: "spend", block: blockOf(leafIndex), txHash: hashOf(blockOf(leafIndex)) },
    sealed: { ephemeralKey: toHex(word(77n)), output: 1 },
    ...(spentIn === undefined ? {} : { spent: { block: spentIn, txHash: hashOf(spentIn) } }),
  };
}

export function paymentOf(number: number): PaymentRecord {
  return {
    ...{ statement: hashOf(number), kind: "transfer", asset: ASSET, amount: 30n, fees: 2n },
    ...{ to: "clodev1bob", memo: "rent", madeAt: 5_000, madeAfter: 3, deadline: 5_100 },
    ...{ commitments: [leafOf(number)], leafIndexes: [0], derivation: { change: 68n, salt: 9 } },
  };
}

export function reservationOf(number: number): Reservation {
  return {
    ...{ statement: hashOf(number), commitments: [leafOf(number)], refused: true, leafIndexes: [2] },
    ...{ deadline: 99, change: 4n, asset: ASSET },
  };
}

export function addBlock(state: WalletState): void {
  const first = state.tree.leafCount;
  for (let index = first; index < first + LEAVES_IN_BLOCK; index++)
    state.addLeaf(leafOf(index), blockOf(first));
  const leafCount = first + LEAVES_IN_BLOCK;
  state.addRoot({ root: leafOf(leafCount), leafCount, block: blockOf(first) });
  state.lastEventId = `${blockOf(first)}-f-1-0`;
}

/** `leaves` is a multiple of four. */
export function wholeState(leaves: number): WalletState {
  const state = new WalletState();
  while (state.tree.leafCount < leaves) addBlock(state);
  for (const note of [noteAt(1, blockOf(8)), noteAt(9), noteAt(leaves - 2)]) state.addNote(note);
  state.reservations.set(hashOf(500), reservationOf(500));
  state.payments.set(hashOf(600), paymentOf(600));
  const contact = { address: "clodev1bob", label: "Bob", at: 3 };
  state.contacts.set(contact.address, contact);
  const bridge: BridgeRecord = {
    ...{ kind: "in", index: 0, venue: "chain", asset: ASSET, minimum: 5n, feeCeiling: 6n, createdAt: 7 },
    ...{ collector: ASSET, refund: ASSET, lanes: [], bridgeId: "one" },
  };
  state.bridges.set(recordKey(bridge), bridge);
  return state;
}

/** After one more block, in which a note was spent. */
export function paid(state: WalletState): void {
  addBlock(state);
  const block = state.blocks.newest!;
  state.notes.set(9, { ...state.notes.get(9)!, spent: { block, txHash: hashOf(block) } });
  state.addNote(noteAt(state.tree.leafCount - 1));
  state.payments.set(hashOf(700), paymentOf(700));
  state.reservations.set(hashOf(700), reservationOf(700));
}

/** All that a storage keeps of it. */
export function contentsOf({ tree, blocks, notes, roots, ...state }: WalletState): unknown {
  return {
    tree: tree.packed(),
    blocks: [blocks.firsts(), tree.openSubtrees().map((place) => blocks.inside(place))],
    ...{ notes, roots, last: state.lastEventId, origin: state.origin },
    ...{ voidedIn: state.voidedIn, rootsDropped: state.rootsDropped },
    own: [state.reservations, state.payments, state.contacts, state.bridges],
  };
}

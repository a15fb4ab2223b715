/**
 * Turns events into wallet state. The stream is untrusted: a note counts only if the commitment that the
 * wallet computes itself equals the leaf, and a root only if the wallet's own tree has it.
 */
import type { StreamEvent } from "../../api/data.ts";
import { asField, type Field } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { mustFromHex } from "../../protocol/bytes.ts";
import { emptyNode } from "../../protocol/tree.ts";
import { openOutput } from "../../notes/encryption.ts";
import type { FullViewingKey } from "../../notes/keys.ts";
import { completeNote } from "../../notes/measured-note.ts";
import { noteCommitment, nullifierOf, type Note } from "../../notes/note.ts";
import { ClientError } from "../base/errors.ts";
import type { RootMark, WalletState } from "../state/state.ts";

type LeafData = Extract<StreamEvent, { kind: "leaf" }>["data"];

/** What an event meant for this wallet. */
export interface Finding {
  readonly type: "received" | "spent" | "rooted" | "voided" | "rolled-back" | "nothing";
}

const NOTHING: Finding = { type: "nothing" };

/** Before `applyEvent` of the same event, where waiting is allowed: most of its work done by the platform. */
export async function prepareEvent(keys: FullViewingKey, event: StreamEvent): Promise<void> {
  if (event.kind === "leaf") await keys.prepare(mustFromHexOrEmpty(event.data.ephemeral_key));
}

export function applyEvent(state: WalletState, keys: FullViewingKey, event: StreamEvent): Finding {
  const finding = apply(state, keys, event);
  if (event.kind !== "reorg" && event.id !== undefined) state.lastEventId = event.id;
  return finding;
}

function apply(state: WalletState, keys: FullViewingKey, event: StreamEvent): Finding {
  switch (event.kind) {
    case "leaf":
      return applyLeaf(state, keys, event.data);
    case "nullifier": {
      const note = state.noteOf(field(event.data.nullifier));
      if (note === undefined || note.spent !== undefined) return NOTHING;
      const { block_number: block, tx_hash: txHash } = event.data;
      state.notes.set(note.leafIndex, { ...note, spent: { block, txHash } });
      return { type: "spent" };
    }
    case "root": {
      const mark = {
        root: field(event.data.root),
        leafCount: event.data.leaf_count,
        block: event.data.block_number,
      };
      if (mark.leafCount > state.tree.leafCount) throw inconsistent("a root covers leaves that never came");
      // Only the newest: one that was there before is the newest again where those behind it are revoked.
      const newest = state.latestRoot;
      if (newest?.leafCount === mark.leafCount && newest.root === mark.root) return NOTHING;
      state.addRoot(mark);
      return { type: "rooted" };
    }
    case "void": {
      const { first_leaf_index: first, count, nullifiers } = event.data;
      if (first + count > state.tree.leafCount) throw inconsistent("leaves are void that never came");
      const { block_number: block, tx_hash: txHash } = event.data;
      state.voidStatement(first, count, nullifiers.map(field), { block, txHash });
      return { type: "voided" };
    }
    case "reorg": {
      const { from_id: id } = event.data;
      const block = id === null ? undefined : blockOf(id);
      if (id !== null && block !== undefined && state.rollBack(block)) state.lastEventId = id;
      // From nothing again: the feed asks for the whole history.
      else state.clear();
      return { type: "rolled-back" };
    }
    case "ready":
    case "synced":
    case "ticket":
    case "bridge":
    case "session_expired":
    case "credential_revoked":
      return NOTHING;
  }
}

function applyLeaf(state: WalletState, keys: FullViewingKey, data: LeafData): Finding {
  const commitment = field(data.commitment);
  const known = state.tree.leaf(data.index);
  if (known !== undefined) {
    // Sent again after it became void, by a reorganisation that began inside its block.
    if (known !== commitment && known !== emptyNode(0)) throw inconsistent("two leaves claim one place");
    return NOTHING;
  }
  if (data.index !== state.tree.leafCount) throw inconsistent("a leaf is missing");
  state.addLeaf(commitment, data.block_number);

  const note = readNote(keys, data, commitment);
  if (note === undefined || note.value === 0n) return NOTHING;
  state.addNote({
    ...note,
    leafIndex: data.index,
    commitment,
    nullifier: nullifierOf(keys.nullifierKey, commitment, data.index),
    source: data.source,
    sealed: { ephemeralKey: data.ephemeral_key.toLowerCase(), output: data.output },
    block: data.block_number,
    txHash: data.tx_hash,
  });
  return { type: "received" };
}

/** Own notes that give this very leaf, whatever the service says about it. */
function readNote(keys: FullViewingKey, data: LeafData, commitment: Field): Note | undefined {
  const opened = openOutput(keys, {
    ephemeralKey: mustFromHexOrEmpty(data.ephemeral_key),
    output: data.output,
    ciphertext: mustFromHexOrEmpty(data.ciphertext),
  });
  if (opened === undefined) return undefined;
  if (data.npk === undefined) return noteCommitment(keys.owner, opened) === commitment ? opened : undefined;
  const asset = asAddress(data.asset);
  if (asset === undefined || data.value === undefined) return undefined;
  const measured = { npk: field(data.npk), asset, value: BigInt(data.value) };
  return completeNote(keys.owner, opened.blinding, measured, commitment);
}

/** The newest root that this wallet's own leaves lead to. Throws when the stream named a root they do not give. */
export function verifiedRoot(state: WalletState): RootMark | undefined {
  const mark = state.latestRoot;
  if (mark !== undefined && state.tree.root(mark.leafCount) !== mark.root) {
    throw inconsistent("the leaves do not give the pool's root");
  }
  return mark;
}

/** Event ids begin with their block number. */
function blockOf(id: string): number | undefined {
  const digits = /^([0-9]{1,15})(?![0-9])/.exec(id)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

function field(hex: string): Field {
  const value = asField(BigInt(hex));
  if (value === undefined) throw inconsistent("a number is not below the field order");
  return value;
}

function mustFromHexOrEmpty(hex: string): Uint8Array {
  // A ciphertext is its sender's: garbage in it is a note for nobody, not a fault of the stream.
  return /^0x([0-9a-fA-F]{2})*$/.test(hex) ? mustFromHex(hex) : new Uint8Array(0);
}

function inconsistent(detail: string): ClientError {
  return new ClientError("STREAM_INCONSISTENT", detail);
}

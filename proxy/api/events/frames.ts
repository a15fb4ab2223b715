/** Stream events as the bytes of text/event-stream (WHATWG HTML, section 9.2). Each is made once, however many readers get it. */
import { checksumAddress } from "../../../shared/api/checksum.ts";
import type { EventKind, StreamEvent } from "../../../shared/api/data.ts";
import { toHex, word } from "../../../shared/protocol/bytes.ts";
import type { LoggedEvent } from "../../base/store/chain-data.ts";
import { idOf } from "./position.ts";

const RETRY_MS = 3_000;

/** First bytes of every stream. */
export const PREAMBLE = Buffer.from(`retry: ${String(RETRY_MS)}\n\n`);
/** Keeps a connection alive through the hops in between, and finds out whether it still is. */
export const COMMENT = Buffer.from(":\n\n");
/** A new token, and the stream goes on. */
export const SESSION_EXPIRED = frameOf({ kind: "session_expired", id: undefined, data: {} });
/** Not the same: a request with this credential receives INVALID_CREDENTIAL, not that it is merely old. */
export const CREDENTIAL_REVOKED = frameOf({
  kind: "credential_revoked",
  id: undefined,
  data: { code: "INVALID_CREDENTIAL" },
});

/** JSON escapes line ends and ids are ours, so no field of an event can begin another line. */
export function frameOf({ kind, id, data }: StreamEvent): Buffer {
  const idLine = id === undefined ? "" : `id: ${id}\n`;
  return Buffer.from(`event: ${kind}\n${idLine}data: ${JSON.stringify(data)}\n\n`);
}

/** Undefined for what no stream shows. */
export function frameOfLogged(
  logged: LoggedEvent,
): { readonly kind: EventKind; readonly bytes: Buffer } | undefined {
  const event = streamEvent(logged);
  return event === undefined ? undefined : { kind: event.kind, bytes: frameOf(event) };
}

function streamEvent(logged: LoggedEvent): StreamEvent | undefined {
  const { event, position, txHash } = logged;
  const id = idOf(logged);
  switch (event.kind) {
    case "leaf":
      return {
        kind: "leaf",
        id,
        data: {
          index: event.index,
          commitment: toHex(word(event.commitment)),
          ephemeral_key: toHex(event.sealed.ephemeralKey),
          output: event.sealed.output,
          ciphertext: toHex(event.sealed.ciphertext),
          source: event.source,
          ...(event.opening === undefined
            ? {}
            : {
                npk: toHex(word(event.opening.npk)),
                asset: checksumAddress(event.opening.asset),
                value: String(event.opening.value),
              }),
          tx_hash: txHash,
          block_number: position.block,
        },
      };
    case "nullifier":
      return {
        kind: "nullifier",
        id,
        data: { nullifier: toHex(word(event.nullifier)), tx_hash: txHash, block_number: position.block },
      };
    case "voided":
      return {
        kind: "void",
        id,
        data: {
          first_leaf_index: event.firstLeafIndex,
          count: event.leafCount,
          nullifiers: event.nullifiers.map((nullifier) => toHex(word(nullifier))),
          tx_hash: txHash,
          block_number: position.block,
        },
      };
    // Of a revocation a reader needs what is left: the tree is back at that root.
    case "revoked":
    case "root":
      return {
        kind: "root",
        id,
        data: { root: toHex(word(event.root)), leaf_count: event.leafCount, block_number: position.block },
      };
    case "executed":
    case "rejected":
      return undefined;
  }
}

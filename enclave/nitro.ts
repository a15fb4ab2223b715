/**
 * The one implementation of the platform: three Unix sockets. In an image the init program bridges the first to AF_VSOCK
 * and the second to /dev/nsm, and starts a verifying process for each connection to the third. All peers are outside:
 * what comes through the first is hostile, and so is what a verifier says, which reads hostile bytes; the second is
 * trusted for randomness and documents, but not to be well-formed or quick.
 */
import { createConnection, createServer } from "node:net";
import { availableParallelism } from "node:os";
import { bytesToUint, concatBytes, uintToBytes } from "../shared/protocol/bytes.ts";
import {
  decodeAttestationReply,
  decodeRandomReply,
  encodeAttestationRequest,
  encodeRandomRequest,
  MAX_NSM_BYTES,
} from "./nsm.ts";
import type { Platform } from "./platform.ts";
import { framed, MessageSplitter } from "./stream.ts";

/** A module that keeps still would otherwise hold the queue without end. */
const NSM_TIMEOUT_MS = 10_000;

/** Verdicts on a whole batch are some 3 KiB at most. */
const MAX_ANSWER_BYTES = 16_384;

export interface NitroSockets {
  readonly listenPath: string;
  readonly nsmPath: string;
  /** Gives a verifying process to each connection, and ends it with the connection. */
  readonly verifiersPath: string;
  readonly nsmTimeoutMs?: number;
}

export function nitroPlatform({
  listenPath,
  nsmPath,
  verifiersPath,
  nsmTimeoutMs = NSM_TIMEOUT_MS,
}: NitroSockets): Platform {
  const terms = { nsmPath, timeoutMs: nsmTimeoutMs };
  return {
    randomBytes: (length) =>
      askOnce(terms, encodeRandomRequest(), (reply) => decodeRandomReply(reply, length)),
    attestationDocument: (request) =>
      askOnce(terms, encodeAttestationRequest(request), decodeAttestationReply),
    listen(onConnection) {
      return new Promise((resolve, reject) => {
        createServer(onConnection).once("error", reject).listen(listenPath, resolve);
      });
    },
    turn() {
      return new Promise((resolve) => void setImmediate(resolve));
    },
    processors: availableParallelism(),
    startVerifier({ answered, ended }) {
      const socket = createConnection(verifiersPath);
      const splitter = new MessageSplitter(MAX_ANSWER_BYTES);
      socket.on("data", (chunk) => {
        const messages = splitter.push(chunk);
        if (messages === undefined) socket.destroy();
        // Nothing more is heard of one that was killed, perhaps for the message before.
        for (const message of messages ?? []) if (!socket.destroyed) answered(message);
      });
      // Once it answers, a verifier is no reason for this program to live on: a listening socket is.
      socket.once("data", () => socket.unref());
      // One that could not be had is an error; "close" follows, as it does on every end.
      socket.on("error", () => undefined).once("close", ended);
      return {
        send: (message) => void socket.write(framed(message)),
        kill: () => void socket.destroy(),
      };
    },
    after(ms, then) {
      const timer = setTimeout(then, ms).unref();
      return () => clearTimeout(timer);
    },
  };
}

/**
 * One connection a request, so that a late answer can never be taken for the next one's. Both ways:
 * length[4] big-endian, then that many bytes of CBOR. What was received is wiped, whatever comes of it: it may be what
 * a key was drawn from. Undefined for every fault alike.
 */
async function askOnce(
  { nsmPath, timeoutMs }: { readonly nsmPath: string; readonly timeoutMs: number },
  request: Uint8Array,
  read: (reply: Uint8Array) => Uint8Array | undefined,
): Promise<Uint8Array | undefined> {
  const socket = createConnection(nsmPath);
  socket.setTimeout(timeoutMs, () => socket.destroy());
  // Those before the loop below and after it: in it, they end it.
  socket.on("error", () => undefined);
  socket.write(concatBytes(uintToBytes(BigInt(request.length), 4), request));
  let received: Uint8Array = new Uint8Array(0);
  try {
    for await (const chunk of socket as AsyncIterable<Buffer>) {
      const before = received;
      received = concatBytes(before, chunk);
      before.fill(0);
      chunk.fill(0);
      if (received.length < 4) continue;
      const expected = 4 + Number(bytesToUint(received.subarray(0, 4)));
      if (received.length === expected) return read(received.subarray(4));
      if (received.length > expected || expected > 4 + MAX_NSM_BYTES) return undefined;
    }
    return undefined;
  } catch {
    return undefined;
  } finally {
    received.fill(0);
    socket.destroy();
  }
}

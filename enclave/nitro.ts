/**
 * The one implementation of the platform: two Unix sockets, and processes of its own program. In an image the
 * init program bridges the first socket to AF_VSOCK and the second to /dev/nsm. Both peers are outside: what
 * comes through the first is hostile; the second is trusted for randomness and documents, but not to be
 * well-formed or quick.
 */
import { fork } from "node:child_process";
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

/** A module that keeps still would otherwise hold the queue without end. */
const NSM_TIMEOUT_MS = 10_000;

/** As this program's own, whose flags a verifier inherits, and a bound for its heap. */
const VERIFIER_FLAGS = ["--disallow-code-generation-from-strings", "--max-old-space-size=128"];

export interface NitroSockets {
  readonly listenPath: string;
  readonly nsmPath: string;
  /** The file of verifier.ts. */
  readonly verifierPath: string;
  readonly nsmTimeoutMs?: number;
}

export function nitroPlatform({
  listenPath,
  nsmPath,
  verifierPath,
  nsmTimeoutMs = NSM_TIMEOUT_MS,
}: NitroSockets): Platform {
  const ask = (request: Uint8Array): Promise<Uint8Array | undefined> =>
    askOnce(nsmPath, request, nsmTimeoutMs);
  return {
    async randomBytes(length) {
      const reply = await ask(encodeRandomRequest());
      return reply === undefined ? undefined : decodeRandomReply(reply, length);
    },
    async attestationDocument(request) {
      const reply = await ask(encodeAttestationRequest(request));
      return reply === undefined ? undefined : decodeAttestationReply(reply);
    },
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
      const child = fork(verifierPath, [], {
        env: {},
        execArgv: [...process.execArgv, ...VERIFIER_FLAGS],
        serialization: "advanced",
        stdio: ["ignore", "ignore", "ignore", "ipc"],
      });
      // Once it answers, a verifier is no reason for this program to live on: a listening socket is.
      child.once("message", () => {
        child.unref();
        child.channel?.unref();
      });
      child.on("message", answered);
      // An error is that it could not start, or that a message could not be sent; "exit" may not follow.
      let over = false;
      const end = (): void => {
        child.kill("SIGKILL");
        if (!over) ended();
        over = true;
      };
      child.once("exit", end).on("error", end);
      return {
        send: (message) => void child.send(message as object),
        kill: () => void child.kill("SIGKILL"),
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
 * length[4] big-endian, then that many bytes of CBOR.
 */
function askOnce(nsmPath: string, request: Uint8Array, timeoutMs: number): Promise<Uint8Array | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection(nsmPath);
    let received: Uint8Array = new Uint8Array(0);
    socket.setTimeout(timeoutMs, () => socket.destroy());
    socket.on("data", (chunk) => {
      received = concatBytes(received, chunk);
      if (received.length < 4) return;
      const expected = 4 + Number(bytesToUint(received.slice(0, 4)));
      if (received.length < expected && expected <= 4 + MAX_NSM_BYTES) return;
      resolve(received.length === expected ? received.slice(4) : undefined);
      socket.destroy();
    });
    // Every failure ends in "close"; after an answer this resolve changes nothing.
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(undefined));
    socket.write(concatBytes(uintToBytes(BigInt(request.length), 4), request));
  });
}

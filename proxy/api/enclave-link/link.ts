/**
 * One connection to one enclave: Firecracker's host handshake, then pipelined frames. The other end may be
 * unreachable, slow or a stranger, so every request has a deadline, a reply is matched by its id alone, and nothing
 * a reply says is believed here; `attestor.ts` checks it.
 */
import { connect, type Socket } from "node:net";
import {
  FrameSplitter,
  type EnclaveReply,
  type EnclaveRequest,
} from "../../../shared/protocol/enclave-messages.ts";
import { decodeReply, encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import type { EnclaveAddress } from "../config.ts";

/** No reply: not connected, connection lost, or the deadline passed. */
export class EnclaveUnreachable extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "EnclaveUnreachable";
  }
}

export interface EnclaveLink {
  /**
   * One reply for one request. Every request is a pure question (the enclave keeps no state), so one that
   * was cut off by a lost connection is asked once more on a new one.
   */
  ask(request: EnclaveRequest): Promise<EnclaveReply>;
  close(): void;
}

export interface LinkOptions {
  /** For connecting and for each request. */
  readonly timeoutMs?: number;
  /** Requests under way at once; beyond that the enclave counts as unreachable (it would answer BUSY). */
  readonly maxPending?: number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_PENDING = 256;
/** "OK 4294967295\n" and room to spare; more without a line end is no handshake. */
const MAX_HANDSHAKE_BYTES = 64;

interface Waiting {
  readonly resolve: (reply: EnclaveReply) => void;
  readonly reject: (error: EnclaveUnreachable) => void;
}

interface Connection {
  readonly send: (request: EnclaveRequest) => Promise<EnclaveReply>;
  readonly close: (reason: string) => void;
  readonly isOpen: () => boolean;
}

export function createLink(address: EnclaveAddress, options: LinkOptions = {}): EnclaveLink {
  const timeoutMs = options.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const maxPending = options.maxPending ?? DEFAULT_MAX_PENDING;
  let current: Promise<Connection> | undefined;
  let isClosed = false;

  async function connection(): Promise<Connection> {
    const existing = await current?.catch(() => undefined);
    if (existing?.isOpen() === true) return existing;
    if (isClosed) throw new EnclaveUnreachable("the link is closed");
    // Another caller may have begun to connect while we looked at the old one.
    const begun = current;
    const alive = await begun?.catch(() => undefined);
    if (begun !== undefined && alive?.isOpen() === true) return alive;
    if (begun === current) current = openConnection(address, timeoutMs, maxPending);
    return current as Promise<Connection>;
  }

  return {
    async ask(request) {
      const first = await connection();
      try {
        return await first.send(request);
      } catch (error) {
        // A deadline that passed on a living connection is the enclave's own slowness: asking again doubles it.
        if (first.isOpen() || isClosed) throw error;
        return (await connection()).send(request);
      }
    },
    close() {
      isClosed = true;
      void current?.then(
        (open) => open.close("the link is closed"),
        () => undefined,
      );
    },
  };
}

async function openConnection(
  address: EnclaveAddress,
  timeoutMs: number,
  maxPending: number,
): Promise<Connection> {
  const socket = connect({ path: address.path });
  try {
    const rest = await handshake(socket, address.port, timeoutMs);
    return speak(socket, rest, timeoutMs, maxPending);
  } catch (cause) {
    socket.destroy();
    throw cause instanceof EnclaveUnreachable
      ? cause
      : new EnclaveUnreachable("the enclave cannot be reached", { cause });
  }
}

/** `CONNECT <port>\n` → `OK <host port>\n`. Resolves with what came after that line. */
function handshake(socket: Socket, port: number, timeoutMs: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let held = Buffer.alloc(0);
    const timer = setTimeout(
      () => fail(new EnclaveUnreachable("the enclave did not answer the handshake")),
      timeoutMs,
    );
    const stop = (): void => {
      clearTimeout(timer);
      socket.off("data", onData).off("error", fail).off("close", onClose);
    };
    const fail = (error: Error): void => {
      stop();
      reject(error);
    };
    const onClose = (): void => fail(new EnclaveUnreachable("the enclave closed the connection"));
    const onData = (chunk: Buffer): void => {
      held = Buffer.concat([held, chunk]);
      const end = held.indexOf(0x0a);
      if (end < 0 && held.length <= MAX_HANDSHAKE_BYTES) return;
      if (end < 0 || !/^OK [0-9]{1,10}$/.test(held.subarray(0, end).toString("latin1"))) {
        fail(new EnclaveUnreachable("something else than an enclave answered"));
        return;
      }
      stop();
      socket.pause();
      resolve(held.subarray(end + 1));
    };
    socket.on("data", onData).once("error", fail).once("close", onClose);
    socket.once("connect", () => socket.write(`CONNECT ${String(port)}\n`));
  });
}

function speak(socket: Socket, rest: Uint8Array, timeoutMs: number, maxPending: number): Connection {
  const waiting = new Map<number, Waiting>();
  const splitter = new FrameSplitter();
  let isOpen = true;
  let lastId = 0;

  const close = (reason: string): void => {
    if (!isOpen) return;
    isOpen = false;
    socket.destroy();
    const left = [...waiting.values()];
    waiting.clear();
    for (const { reject } of left) reject(new EnclaveUnreachable(reason));
  };

  const onData = (chunk: Uint8Array): void => {
    const payloads = splitter.push(chunk);
    if (payloads === undefined) {
      close("the enclave sent a malformed frame");
      return;
    }
    for (const payload of payloads) {
      const reply = decodeReply(payload);
      if (reply === undefined) {
        close("the enclave sent a malformed reply");
        return;
      }
      // A reply to a request that has given up is no fault.
      waiting.get(reply.requestId)?.resolve(reply.message);
    }
  };

  socket.on("data", onData);
  socket.once("error", () => close("the connection to the enclave broke"));
  socket.once("close", () => close("the enclave closed the connection"));
  if (rest.length > 0) onData(rest);
  socket.resume();

  return {
    isOpen: () => isOpen,
    close,
    send: (request) =>
      new Promise<EnclaveReply>((resolve, reject) => {
        if (!isOpen) {
          reject(new EnclaveUnreachable("the enclave is not connected"));
          return;
        }
        if (waiting.size >= maxPending) {
          reject(new EnclaveUnreachable("too many requests wait for the enclave"));
          return;
        }
        do lastId = (lastId + 1) >>> 0;
        while (waiting.has(lastId));
        const id = lastId;
        const timer = setTimeout(
          () => settle(() => reject(new EnclaveUnreachable("the enclave did not answer in time"))),
          timeoutMs,
        );
        const settle = (finish: () => void): void => {
          clearTimeout(timer);
          waiting.delete(id);
          finish();
        };
        waiting.set(id, {
          resolve: (reply) => settle(() => resolve(reply)),
          reject: (error) => settle(() => reject(error)),
        });
        socket.write(encodeRequest(id, request));
      }),
  };
}

/**
 * Connections to requests and back: frames of bounded length, one reply each. Attestations are worked on
 * together, since other processes do the work; a status question, which costs nothing, waits for nobody; everything
 * else one after the other. Whoever connects is hostile: the worst it can do is to have its own connection closed and
 * to be told BUSY. Nothing it sends is kept beyond the limits below.
 */
import type { Socket } from "node:net";
import {
  decodeRequest,
  encodeReply,
  FrameSplitter,
  type EnclaveReply,
  type EnclaveRequest,
} from "../shared/protocol/enclave-messages.ts";
import type { Platform } from "./platform.ts";

export interface FrameLimits {
  /** Open at the same time; one more is closed at once. Each can hold back one unfinished frame (64 KiB). */
  readonly connections: number;
  /** Requests without a reply yet, over all connections; beyond it the reply is BUSY. */
  readonly waiting: number;
  /** Bytes of replies that a peer has not read yet; beyond it the connection is closed. */
  readonly unreadBytes: number;
  /**
   * Without a whole request, while none waits for its reply; then the connection is closed, or a few that keep still
   * would lock everybody else out. Bytes alone do not count: a frame could trickle in without end. A proxy asks for
   * the status every few seconds.
   */
  readonly idleMs: number;
}

export const FRAME_LIMITS: FrameLimits = {
  connections: 32,
  waiting: 256,
  unreadBytes: 1_048_576,
  idleMs: 60_000,
};

/** `payload` is the frame that `request` was read from, without version and length. */
export type Answer = (request: EnclaveRequest, payload: Uint8Array) => Promise<EnclaveReply>;

/** A client; `rest` begins its idle time again. */
interface Connection {
  readonly socket: Socket;
  waiting: number;
  rest(): void;
}

interface Job {
  readonly connection: Connection;
  readonly requestId: number;
  readonly request: EnclaveRequest;
  readonly payload: Uint8Array;
}

export class FrameServer {
  readonly #platform: Pick<Platform, "turn" | "after">;
  readonly #answer: Answer;
  readonly #limits: FrameLimits;
  #connections = 0;
  #waiting = 0;
  /** Settles when the last request that is worked on alone has its reply. */
  #queue: Promise<void> = Promise.resolve();

  /** `answer` must not reject: a rejection ends the program. */
  constructor(platform: Pick<Platform, "turn" | "after">, answer: Answer, limits = FRAME_LIMITS) {
    this.#platform = platform;
    this.#answer = answer;
    this.#limits = limits;
  }

  accept(socket: Socket): void {
    if (this.#connections >= this.#limits.connections) {
      socket.destroy();
      return;
    }
    this.#connections += 1;
    const splitter = new FrameSplitter();
    const connection = this.#connectionOf(socket);
    socket.on("data", (chunk) => {
      if (!this.#receive(connection, splitter.push(chunk))) socket.destroy();
    });
    // A reset is no news: "close" follows and gives the place back.
    socket.on("error", () => undefined);
    socket.on("close", () => (this.#connections -= 1));
  }

  #connectionOf(socket: Socket): Connection {
    const connection: Connection = { socket, waiting: 0, rest: () => undefined };
    const idle = (): void => {
      // Whoever waits for us is not idle: the last reply begins the time again.
      if (connection.waiting === 0) socket.destroy();
    };
    let cancel = this.#platform.after(this.#limits.idleMs, idle);
    connection.rest = (): void => {
      cancel();
      if (!socket.destroyed) cancel = this.#platform.after(this.#limits.idleMs, idle);
    };
    socket.on("close", () => cancel());
    return connection;
  }

  /** False for anything that is not a request: this connection speaks another language. */
  #receive(connection: Connection, payloads: readonly Uint8Array[] | undefined): boolean {
    for (const payload of payloads ?? []) {
      const request = decodeRequest(payload);
      if (request === undefined) return false;
      connection.rest();
      this.#enqueue({ connection, requestId: request.requestId, request: request.message, payload });
    }
    return payloads !== undefined;
  }

  #enqueue(job: Job): void {
    if (this.#waiting >= this.#limits.waiting) {
      this.#send(job, { type: "refused", code: "BUSY" });
      return;
    }
    this.#waiting += 1;
    job.connection.waiting += 1;
    // A status question is worked on at once: it says that the enclave is busy rather than dead.
    if (job.request.type === "attest" || job.request.type === "status") void this.#work(job);
    else this.#queue = this.#queue.then(() => this.#work(job));
  }

  async #work(job: Job): Promise<void> {
    // Bytes that came in meanwhile are read first, so that a caller is refused at once where there is no room.
    await this.#platform.turn();
    // Nobody waits for the answer to a connection that is gone.
    if (!job.connection.socket.destroyed) this.#send(job, await this.#answer(job.request, job.payload));
    this.#waiting -= 1;
    job.connection.waiting -= 1;
    job.connection.rest();
  }

  #send({ connection: { socket }, requestId }: Job, reply: EnclaveReply): void {
    socket.write(encodeReply(requestId, reply));
    if (socket.writableLength > this.#limits.unreadBytes) socket.destroy();
  }
}

// A client of the enclave's socket: whole requests, or any bytes a test wants to send.
import { createConnection, type Socket } from "node:net";
import { PATIENCE_MS } from "../../../../scripts/base/poll.ts";
import {
  FrameSplitter,
  type EnclaveReply,
  type EnclaveRequest,
  type Enveloped,
} from "../../../../shared/protocol/enclave-messages.ts";
import { decodeReply, encodeRequest, ENCLAVE_PORT } from "../../../../shared/protocol/host/enclave-host.ts";

export class FrameClient {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  readonly #splitter = new FrameSplitter();
  readonly #replies: Enveloped<EnclaveReply>[] = [];
  #waiting: (() => void)[] = [];
  #lastId = 0;

  private constructor(socket: Socket) {
    this.socket = socket;
    this.closed = new Promise((resolve) => socket.once("close", () => resolve()));
    void this.closed.then(() => this.#wake());
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      for (const payload of this.#splitter.push(chunk) ?? []) {
        const reply = decodeReply(payload);
        if (reply === undefined) throw new Error("the enclave sent what is no reply");
        this.#replies.push(reply);
      }
      this.#wake();
    });
  }

  /** With `handshake`, the socket is a host's end of vsock. */
  static async connect(path: string, { handshake = false } = {}): Promise<FrameClient> {
    const socket = createConnection(path);
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject));
    if (handshake) {
      socket.write(`CONNECT ${String(ENCLAVE_PORT)}\n`);
      const line = await new Promise<string>((resolve, reject) => {
        socket.once("data", (chunk: Buffer) => resolve(chunk.toString("latin1")));
        socket.once("close", () => reject(new Error("closed during the handshake")));
      });
      if (!/^OK \d+\n$/.test(line)) throw new Error(`handshake answered ${JSON.stringify(line)}`);
    }
    return new FrameClient(socket);
  }

  async ask(request: EnclaveRequest): Promise<EnclaveReply> {
    const id = ++this.#lastId;
    this.socket.write(encodeRequest(id, request));
    return this.reply(id);
  }

  /** Throws when the connection ends first. */
  async reply(id: number): Promise<EnclaveReply> {
    let found: number;
    while ((found = this.#replies.findIndex(({ requestId }) => requestId === id)) === -1) {
      if (this.socket.destroyed) throw new Error("connection closed without a reply");
      await this.#news();
    }
    return this.#replies.splice(found, 1)[0]!.message;
  }

  end(): void {
    this.socket.destroy();
  }

  #news(): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no reply in time")), PATIENCE_MS);
      this.#waiting.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}

/** The code of a refusal; anything else fails the test that asks. */
export function codeOf(reply: EnclaveReply): string {
  if (reply.type !== "refused") throw new Error(`not refused but answered: ${reply.type}`);
  return reply.code;
}

// Unix sockets in a temporary folder, closed and removed after the test that made them.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";

export { until } from "../../../support/until.ts";

export class SocketFolder {
  readonly path: string;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();

  private constructor(at: string) {
    this.path = at;
  }

  static async make(): Promise<SocketFolder> {
    return new SocketFolder(await mkdtemp(path.join(tmpdir(), "cloister-enclave-")));
  }

  at(name: string): string {
    return path.join(this.path, name);
  }

  /** Returns the path it listens on. */
  async serve(name: string, onConnection: (socket: Socket) => void): Promise<string> {
    const server = createServer((socket) => {
      this.hold(socket);
      onConnection(socket);
    });
    return this.listen(name, server);
  }

  async listen(name: string, server: Server): Promise<string> {
    server.on("connection", (socket) => this.hold(socket));
    server.listen(this.at(name));
    await once(server, "listening");
    this.#servers.push(server);
    return this.at(name);
  }

  hold(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    socket.on("error", () => undefined);
  }

  async remove(): Promise<void> {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
    await rm(this.path, { recursive: true, force: true });
  }
}

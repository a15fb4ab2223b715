/** A TCP connection to a local port that a test can cut and repair: for a party that is unreachable and comes back. */
import { createConnection, createServer, type AddressInfo, type Socket } from "node:net";

export interface Wire {
  /** `http://` and the near end. */
  readonly url: string;
  /** Breaks what is open, and everything new, until `repair`. */
  cut(): void;
  repair(): void;
  close(): Promise<void>;
}

export async function startWire(farPort: number): Promise<Wire> {
  const open = new Set<Socket>();
  let isCut = false;
  const keep = (socket: Socket): Socket => {
    open.add(socket);
    socket.on("error", () => socket.destroy());
    return socket.once("close", () => open.delete(socket));
  };
  const breakAll = (): void => {
    for (const socket of open) socket.destroy();
  };
  const server = createServer((near) => {
    keep(near);
    if (isCut) {
      near.destroy();
      return;
    }
    const far = keep(createConnection(farPort, "127.0.0.1"));
    near.pipe(far).pipe(near);
    near.once("close", () => far.destroy());
    far.once("close", () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    cut() {
      isCut = true;
      breakAll();
    },
    repair() {
      isCut = false;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        breakAll();
      }),
  };
}

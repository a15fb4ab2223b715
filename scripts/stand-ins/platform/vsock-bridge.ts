/**
 * The host's end of a vsock as Firecracker gives it (its docs/vsock.md, "host-initiated connections"):
 * a client connects to a Unix socket, sends `CONNECT <port>\n`, reads `OK <host port>\n`, and from then
 * on talks to the guest. Anything else is closed. Knows nothing of what passes through.
 */
import { createConnection, createServer, type Server, type Socket } from "node:net";

const LONGEST_LINE = 32;
const FIRST_HOST_PORT = 1_024;

export function vsockBridge(guestSockets: ReadonlyMap<number, string>): Server {
  let hostPort = FIRST_HOST_PORT;
  return createServer((client) => {
    client.on("error", () => client.destroy());
    greet(client, (port, rest) => {
      const path = guestSockets.get(port);
      if (path === undefined) {
        client.destroy();
        return;
      }
      const guest = createConnection(path, () => {
        client.write(`OK ${String(hostPort++)}\n`);
        if (rest.length > 0) guest.write(rest);
        client.pipe(guest).pipe(client);
      });
      guest.on("error", () => guest.destroy());
      // `pipe` passes an orderly end on; a reset has to be passed on as well.
      guest.on("close", () => client.destroySoon());
      client.on("close", () => guest.destroy());
    });
  });
}

/** Reads the first line; calls back with its port and the bytes that came after it. */
function greet(client: Socket, connect: (port: number, rest: Buffer) => void): void {
  let held = Buffer.alloc(0);
  const onData = (chunk: Buffer): void => {
    held = Buffer.concat([held, chunk]);
    const end = held.indexOf("\n");
    if (end === -1 && held.length <= LONGEST_LINE) return;
    client.off("data", onData);
    client.pause();
    const port = /^CONNECT (\d{1,10})$/.exec(held.subarray(0, Math.max(end, 0)).toString("latin1"))?.[1];
    if (port === undefined) client.destroy();
    else connect(Number(port), held.subarray(end + 1));
  };
  client.on("data", onData);
}

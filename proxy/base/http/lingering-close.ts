/**
 * Ends a connection so that its last answer arrives. A socket that is closed while its caller still sends is reset, and
 * the reset takes the answer with it (RFC 9112, section 9.6). So our side ends first, and what comes is read and dropped
 * until the caller ends its own; who does not is cut, so that this is no way to hold a connection.
 */
import type { Socket } from "node:net";

/** `ms` from now. Whoever parses what this socket reads has to drop it; `socket.writable` says so. */
export function lingeringClose(socket: Socket, ms: number): void {
  if (socket.destroyed || socket.writableEnded) return;
  socket.end();
  socket.resume();
  const cut = setTimeout(() => socket.destroy(), ms);
  socket.once("close", () => clearTimeout(cut));
}

/**
 * Stands between one proxy and the sockets of its enclaves: passes bytes on, and loses, delays, cuts, spoils or forges
 * an answer where it was told to, whoever gives the next one. It has no key, so what it forges is no attestation, and the proxy must notice.
 */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { FrameSplitter } from "../../../shared/protocol/enclave-messages.ts";
import type { Moment } from "../../../scripts/stand-ins/between/trap.ts";

export const ENCLAVE_FAULTS = [
  "enclave-refuses",
  "enclave-lost",
  "enclave-late",
  "enclave-garbage",
  "enclave-cut",
  "enclave-forged",
] as const;
export type EnclaveFault = (typeof ENCLAVE_FAULTS)[number];

export interface EnclaveRelay {
  /** One for each enclave, in their order. */
  readonly paths: readonly string[];
  /** Strikes the next exchanges, so many of them. */
  arm(fault: EnclaveFault, times: number): void;
  /** Calls back once at the next exchange, before the enclave receives it or when it has answered. */
  trap(moment: Moment, act: () => void): void;
  /** Ends every fault; true when a trap was still set. */
  heal(): boolean;
  takeStruck(): Map<EnclaveFault, number>;
  close(): Promise<void>;
}

const LATE_MS = 300;
/** r, s and v. */
const SIGNATURE_BYTES = 65;
/** A status or a refusal is shorter than anything that carries a signature. */
const SHORTEST_ATTESTATION = 64 + SIGNATURE_BYTES;

/** `at`: where its sockets are, each with its number behind it. */
export async function startEnclaveRelay(at: string, targets: readonly string[]): Promise<EnclaveRelay> {
  let armed: { readonly fault: EnclaveFault; left: number }[] = [];
  let trap: { readonly moment: Moment; readonly act: () => void } | undefined;
  let struck = new Map<EnclaveFault, number>();
  const sockets = new Set<Socket>();

  function caught(moment: Moment): boolean {
    if (trap?.moment !== moment) return false;
    const { act } = trap;
    trap = undefined;
    act();
    return true;
  }

  function next(): EnclaveFault | undefined {
    const found = armed.find(({ left }) => left > 0);
    if (found === undefined) return undefined;
    found.left -= 1;
    struck.set(found.fault, (struck.get(found.fault) ?? 0) + 1);
    return found.fault;
  }

  const serverTo = (target: string): Server =>
    createServer((near) => {
      const far = connect({ path: target });
      const both = [near, far];
      const end = (): void => {
        for (const socket of both) {
          socket.destroy();
          sockets.delete(socket);
        }
      };
      for (const socket of both) {
        sockets.add(socket);
        socket.on("error", end).on("close", end);
      }
      // The first line each way is the handshake.
      let isSpeaking = false;
      let pending: EnclaveFault | undefined;
      near.on("data", (chunk) => {
        if (isSpeaking) {
          if (caught("before")) {
            end();
            return;
          }
          pending ??= next();
          if (pending === "enclave-refuses") {
            pending = undefined;
            end();
            return;
          }
        }
        far.write(chunk);
      });
      far.on("data", (chunk) => {
        if (!isSpeaking) {
          isSpeaking = true;
          near.write(chunk);
          return;
        }
        if (caught("after")) {
          end();
          return;
        }
        const fault = pending;
        pending = undefined;
        switch (fault) {
          case "enclave-lost":
            end();
            return;
          case "enclave-late":
            setTimeout(() => near.write(chunk), LATE_MS);
            return;
          case "enclave-garbage":
            near.write(Buffer.from(chunk.map((byte) => byte ^ 0x5a)));
            return;
          case "enclave-cut":
            near.write(chunk.subarray(0, chunk.length >> 1), end);
            return;
          case "enclave-forged":
            near.write(forged(chunk));
            return;
          case "enclave-refuses":
          case undefined:
            near.write(chunk);
        }
      });
    });
  const paths = targets.map((_, i) => `${at}-${String(i)}.sock`);
  const servers = targets.map(serverTo);
  for (const [i, server] of servers.entries()) {
    await rm(paths[i]!, { force: true });
    server.listen(paths[i]);
    await once(server, "listening");
  }
  return {
    paths,
    arm: (fault, times) => void armed.push({ fault, left: times }),
    trap(moment, act) {
      trap = { moment, act };
    },
    heal() {
      const wasSet = trap !== undefined;
      trap = undefined;
      armed = [];
      return wasSet;
    },
    takeStruck() {
      const taken = struck;
      struck = new Map();
      return taken;
    },
    async close() {
      const closed = servers.map((server) => once(server.close(), "close"));
      for (const socket of sockets) socket.destroy();
      await Promise.all(closed);
    },
  };
}

/** The last signature of the bytes with another `r`: of the right form, and of nobody. */
function forged(chunk: Buffer): Buffer {
  const payloads = new FrameSplitter().push(chunk);
  const bytes = Buffer.from(chunk);
  if ((payloads?.at(-1)?.length ?? 0) < SHORTEST_ATTESTATION) return bytes;
  const at = bytes.length - SIGNATURE_BYTES + 5;
  bytes[at] = (bytes[at] ?? 0) ^ 0x01;
  return bytes;
}

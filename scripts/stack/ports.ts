// Ports of the local stack: the wanted one or a clear refusal, the usual one where it is free, else any free one.
import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { StackError } from "../base/stack-file.ts";

/** Above those that fetch refuses (10080 is the highest of them). */
const LOWEST = 11_000;
const BELOW_GIVEN = 32_768;

export interface PortWish {
  /** Undefined: the usual one or a free one. 0: a free one. */
  readonly wanted: number | undefined;
  readonly usual: number;
  /** The command-line option that chooses it, for the refusal. */
  readonly option: string;
}

/** One port for each wish, no port twice. */
export async function choosePorts(wishes: readonly PortWish[]): Promise<number[]> {
  const taken = new Set<number>();
  // A port that somebody asked for is nobody else's usual one.
  for (const { wanted = 0, option } of wishes) {
    if (wanted === 0) continue;
    if (taken.has(wanted)) throw new StackError(`${option}: port ${String(wanted)} is asked for twice`);
    if (!(await isFree(wanted))) {
      throw new StackError(
        `port ${String(wanted)} is taken; choose another with ${option}, or 0 for a free one`,
      );
    }
    taken.add(wanted);
  }
  const chosen: number[] = [];
  for (const { wanted, usual } of wishes) {
    const port =
      wanted !== undefined && wanted !== 0
        ? wanted
        : wanted === undefined && !taken.has(usual) && (await isFree(usual))
          ? usual
          : await freePort(taken);
    taken.add(port);
    chosen.push(port);
  }
  return chosen;
}

/**
 * For programs that must know their port before they bind it. Drawn from below those that a system gives to connections and
 * to who asks for port 0 (Linux from 32768, others from 49152), so that nobody is given it before the program binds it.
 */
export async function freePort(taken: ReadonlySet<number> = new Set()): Promise<number> {
  for (let tries = 0; tries < 1_000; tries++) {
    const port = randomInt(LOWEST, BELOW_GIVEN);
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new StackError("this machine has no free port");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

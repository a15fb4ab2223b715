// Ports of the local stack: the wanted one or a clear refusal, the usual one where it is free, else any free
// one. A free port is only free when we look; who loses it in between learns so from the program that binds.
import { createServer } from "node:net";
import { StackError } from "../product/stack-file.ts";

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

/** The system gives ports in turn, so one that is in `taken` is passed over soon. */
export async function freePort(taken: ReadonlySet<number> = new Set()): Promise<number> {
  for (;;) {
    const port = await listenOnce(0);
    if (port === undefined) throw new StackError("this machine has no free port");
    if (!taken.has(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== undefined;
}

/** The port that could be bound; undefined when it could not. */
function listenOnce(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(undefined));
    server.listen(port, "127.0.0.1", () => {
      const address = server.address();
      const bound = typeof address === "object" && address !== null ? address.port : undefined;
      server.close(() => resolve(bound));
    });
  });
}

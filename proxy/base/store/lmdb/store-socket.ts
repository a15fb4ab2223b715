/**
 * The embedded store for the programs beside its proxy. LMDB has one lock for all who write, and a process that is held
 * still inside a transaction keeps it: no payment would be taken until it goes on. So the proxy alone opens the file, and
 * the others ask it, over a socket in the data folder. Whoever may open that folder may ask anything.
 *
 * A request is a POST of `[what, ...]` in JSON (`asked`) to `/FORMAT`, or `/FORMAT/CHAIN-ID/POOL` from a program that
 * must not work on another instance. Answers: 200 with what the engine gave, as JSON; 409 for another format or instance,
 * 503 where the store cannot do it, both with the reason as text. Several connections are answered side by side; each
 * of them in its order.
 */
import { chmodSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import path from "node:path";
import { text } from "node:stream/consumers";
import { z } from "zod";
import type { Range, Step } from "../engine.ts";
import { StoreUnavailable } from "../unavailable.ts";
import type { LmdbEngine } from "./engine.ts";
import { FORMAT, isSameInstance, nameOf, type Instance } from "./instance-record.ts";

const name = z.string();
const place = z.number();
/** JSON has no undefined. */
export const textOrNone = z
  .string()
  .nullable()
  .transform((found) => found ?? undefined);

const check = z.union([
  z.tuple([z.literal("is"), name, name, textOrNone]),
  z.tuple([z.literal("below"), name, name, place]),
]);
const write = z.union([
  z.tuple([z.enum(["put", "put-new", "put-numbered"]), name, name, z.string()]),
  z.tuple([z.literal("put-for"), name, name, z.string(), z.number()]),
  z.tuple([z.literal("drop"), name, name]),
  z.tuple([z.literal("add"), name, name, z.number()]),
  z.tuple([z.literal("rank"), name, z.union([place, z.literal("number")]), name]),
  z.tuple([z.literal("unrank"), name, place, name]),
  z.tuple([z.literal("announce"), name]),
]);
const step = z.strictObject({
  checks: z.array(check).exactOptional(),
  writes: z.array(write),
  number: z.tuple([name, name]).exactOptional(),
  thoughFull: z.boolean().exactOptional(),
});
const range = z.strictObject({
  from: place.exactOptional(),
  before: place.exactOptional(),
  skip: z.int().exactOptional(),
  limit: z.int().exactOptional(),
  isBackward: z.boolean().exactOptional(),
});
const asked = z.union([
  z.tuple([z.literal("get"), name, z.array(name)]),
  z.tuple([z.literal("all"), name]),
  z.tuple([z.literal("members"), name, range]),
  z.tuple([z.literal("countBefore"), name, place]),
  z.tuple([z.literal("commit"), step]),
  z.tuple([z.literal("newest")]),
  z.tuple([z.literal("behind"), place]),
]);
/** The engine's methods, and those of its news. */
export type Asked =
  | readonly ["get", table: string, keys: readonly string[]]
  | readonly ["all", table: string]
  | readonly ["members", order: string, range: Range]
  | readonly ["countBefore", order: string, at: number]
  | readonly ["commit", step: Step]
  | readonly ["newest"]
  | readonly ["behind", place: number];

/** Many times what the longest step takes. */
const MOST_BYTES = 32 << 20;
/** Of all programs together; each of them has ASKED_AT_ONCE. */
const MOST_CONNECTIONS = 64;
export const ASKED_AT_ONCE = 8;
/** Of a socket's path, with the zero at its end. */
const LONGEST_PATH = 104;

/** From here where that is shorter. Throws where neither is short enough. */
export function socketPathOf(folder: string): string {
  const absolute = path.resolve(folder, "store.sock");
  const fits = [path.relative(process.cwd(), absolute), absolute].find(
    (one) => Buffer.byteLength(one) < LONGEST_PATH,
  );
  if (fits !== undefined) return fits;
  throw new Error(`${absolute} is too long for a socket, which takes ${String(LONGEST_PATH - 1)} bytes`);
}

/** For the one that holds the folder. The result closes it. */
export async function openStoreSocket(
  engine: LmdbEngine,
  folder: string,
  instance: Instance,
): Promise<() => Promise<void>> {
  const socketPath = socketPathOf(folder);
  // Of a proxy that is gone.
  rmSync(socketPath, { force: true });
  const server = createServer((request, response) => void respond(request, response));
  server.maxConnections = MOST_CONNECTIONS;
  // Closed by who asks: what is asked just then would get no answer.
  server.keepAliveTimeout = 0;

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [status, body] = await answer(request).catch((error: unknown) => [500, reasonOf(error)] as const);
    response.writeHead(status, { "Content-Length": Buffer.byteLength(body) }).end(body);
  }

  async function answer(request: IncomingMessage): Promise<readonly [status: number, body: string]> {
    if (Number(request.headers["content-length"] ?? Infinity) > MOST_BYTES) return [413, "too long"];
    const found = asked.safeParse(jsonOf(await text(request)));
    if (!found.success) return [400, z.prettifyError(found.error)];
    const unfit = unfitness(request.url ?? "", instance);
    if (unfit !== undefined) return [409, unfit];
    try {
      return [200, JSON.stringify((await ask(engine, found.data)) ?? null)];
    } catch (error) {
      if (error instanceof StoreUnavailable) return [503, reasonOf(error.cause)];
      throw error;
    }
  }

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(socketPath, resolve);
  });
  chmodSync(socketPath, 0o600);
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}

function ask(engine: LmdbEngine, question: z.output<typeof asked>): Promise<unknown> {
  switch (question[0]) {
    case "get":
      return engine.get(question[1], question[2]);
    case "all":
      return engine.all(question[1]).then((found) => [...found]);
    case "members":
      return engine.members(question[1], question[2]);
    case "countBefore":
      return engine.countBefore(question[1], question[2]);
    case "commit":
      return engine.commit(question[1]);
    case "newest":
      return engine.news.newest();
    case "behind":
      return engine.news.behind(question[1]);
  }
}

function unfitness(url: string, own: Instance): string | undefined {
  const [, format, chainId, pool] = url.split("/");
  if (format !== String(FORMAT))
    return `the proxy's store has format ${String(FORMAT)}, and this program is of another release`;
  if (chainId === undefined) return undefined;
  const wanted = { chainId: Number(chainId), pool: pool as Instance["pool"] };
  return isSameInstance(own, wanted) ? undefined : `the store is of the pool ${nameOf(own)}`;
}

/** Undefined, which is no question either, where it is no JSON. */
function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return undefined;
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The embedded store as a program beside its proxy has it: each question goes to the proxy (store-socket.ts), and the file stays closed. */
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import type { Committed, Engine, Follower, Range, Step } from "../engine.ts";
import { openNews } from "../news.ts";
import { StoreUnavailable } from "../unavailable.ts";
import { ASKED_AT_ONCE, socketPathOf, textOrNone, type Asked } from "./store-socket.ts";
import { FORMAT, type Instance } from "./instance-record.ts";

const DEADLINE_MS = 5_000;
const ASK_AGAIN_MS = 250;
const UNFIT = 409;
/** None listens: no proxy works on the folder. */
const NOBODY: ReadonlySet<unknown> = new Set(["ENOENT", "ECONNREFUSED"]);

const committed = z.union([
  z
    .object({ done: z.literal(true), number: z.int().optional() })
    .transform(({ done, number }) => ({ done, number })),
  z
    .object({ done: z.literal(false), failed: z.int(), found: z.string().optional() })
    .transform(({ done, failed, found }) => ({ done, failed, found })),
]);
const texts = z.array(z.string());
const entries = z.array(z.tuple([z.int(), z.string()])).nullable();

/** The proxy is of another release, or works for another instance. */
export class UnfitProxy extends Error {
  override readonly name = "UnfitProxy";
}

export class SocketEngine implements Engine {
  readonly #socketPath: string;
  readonly #path: string;
  readonly setAside: (table: string, key: string) => void;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: ASKED_AT_ONCE });
  /** What is read may not come before it: what was written in between would be neither read nor told. */
  #placing: Promise<unknown> = Promise.resolve();
  readonly #news = openNews<number>({
    newest: () => {
      const asked = this.#ask(["newest"], z.int());
      this.#placing = asked.catch(() => undefined);
      return asked;
    },
    behind: async (place) => (await this.#ask(["behind", place], entries)) ?? undefined,
  });

  /** Without `instance` the folder's own, whichever it is. */
  constructor(folder: string, instance?: Instance, setAside?: (table: string, key: string) => void) {
    this.#socketPath = socketPathOf(folder);
    const named = instance === undefined ? [] : [instance.chainId, instance.pool];
    this.#path = ["", FORMAT, ...named].join("/");
    this.setAside = setAside ?? (() => undefined);
  }

  get(table: string, keys: readonly string[]) {
    return this.#ask(["get", table, keys], z.array(textOrNone));
  }

  async all(table: string) {
    return new Map(await this.#ask(["all", table], z.array(z.tuple([z.string(), z.string()]))));
  }

  members(order: string, range: Range = {}) {
    return this.#ask(["members", order, range], texts);
  }

  countBefore(order: string, at: number) {
    return this.#ask(["countBefore", order, at], z.int());
  }

  async commit(step: Step): Promise<Committed> {
    const done = await this.#ask(["commit", step], committed);
    if (done.done && step.writes.some(([what]) => what === "announce")) await this.#news.look();
    return done;
  }

  follow(follower: Follower) {
    return this.#news.follow(follower);
  }

  /** `nobody`: no proxy works on the folder. `silent`: one does, and did not answer. Throws UnfitProxy. */
  async state(): Promise<"served" | "nobody" | "silent"> {
    try {
      await this.#ask(["newest"], z.int());
      return "served";
    } catch (error) {
      const { cause } = Object(error) as { readonly cause?: unknown };
      if (cause instanceof UnfitProxy) throw cause;
      return NOBODY.has((Object(cause) as NodeJS.ErrnoException).code) ? "nobody" : "silent";
    }
  }

  /** Resolves when a proxy serves it. Throws UnfitProxy. `onWait`: none does yet. */
  async served(onWait: () => void): Promise<void> {
    if ((await this.state()) === "served") return;
    onWait();
    do await delay(ASK_AGAIN_MS);
    while ((await this.state()) !== "served");
  }

  close(): void {
    this.#agent.destroy();
  }

  async #ask<T>(question: Asked, shape: z.ZodType<T>): Promise<T> {
    if (question[0] !== "newest") await this.#placing;
    try {
      return shape.parse(JSON.parse(await this.#post(JSON.stringify(question))));
    } catch (error) {
      throw new StoreUnavailable(error);
    }
  }

  #post(body: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(DEADLINE_MS);
      const headers = { "Content-Length": Buffer.byteLength(body) };
      const { agent, path, socketPath } = {
        agent: this.#agent,
        path: this.#path,
        socketPath: this.#socketPath,
      };
      const asking = request({ socketPath, agent, path, method: "POST", headers, signal }, (response) => {
        text(response).then((found) => {
          if (response.statusCode === 200) resolve(found);
          else reject(response.statusCode === UNFIT ? new UnfitProxy(found) : new Error(found));
        }, reject);
      });
      asking.once("error", reject).end(body);
    });
  }
}

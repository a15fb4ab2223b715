/**
 * The way to a Redis that holds what must not be lost. Every call ends within a deadline, with the server's answer
 * or as StoreUnavailable; a server that is unreachable, unfit or came back without its data is asked nothing. After
 * StoreUnavailable a change is made whole or not at all, and which of the two is not known.
 */
import { createClient } from "redis";
import { StoreUnavailable } from "../unavailable.ts";
import { assertFit, UnfitRedis } from "./fitness.ts";
import { claimFormat } from "./format.ts";
import { redisScript, type Script, type Sender } from "./script.ts";

export interface DurableOptions {
  readonly url: string;
  readonly instance: { readonly chainId: bigint | number; readonly pool: string };
  /** For a tool: a mistyped name must not become a new, empty store that looks like lost data. */
  readonly mustExist?: boolean;
  /** Longest wait for an answer; a disk that takes longer for an fsync is no disk for this. */
  readonly deadlineMs?: number;
  /** From one look at role and settings to the next. It also finds connections that have gone silent. */
  readonly checkEveryMs?: number;
  readonly onUnreachable?: (error: unknown) => void;
  readonly onReachable?: () => void;
  readonly onBrokenRecord?: (table: string, field: string) => void;
}

const DEADLINE_MS = 2_000;
const CHECK_EVERY_MS = 5_000;
const MOST_UNDER_WAY = 20_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

type Client = ReturnType<typeof newClient>;

/** Rejects with UnfitRedis, which names the fault, or with StoreUnavailable when there is no answer. */
export async function openDurableRedis(options: DurableOptions): Promise<DurableRedis> {
  const link = new DurableRedis(options);
  try {
    await link.connect();
  } catch (error) {
    link.close();
    throw error instanceof UnfitRedis ? error : new StoreUnavailable(error);
  }
  return link;
}

export class DurableRedis implements Sender {
  readonly #deadlineMs: number;
  readonly #options: DurableOptions;
  readonly #prefix: string;
  /** Only one that has passed every check. */
  #client: Client | undefined;
  #storeId: string | undefined;
  #lastAnswerAt = 0;
  #fault: unknown = new Error("not connected yet");
  #pauseMs = FIRST_PAUSE_MS;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: DurableOptions) {
    this.#options = options;
    this.#deadlineMs = options.deadlineMs ?? DEADLINE_MS;
    const { chainId, pool } = options.instance;
    this.#prefix = `cloister:{${String(chainId)}-${pool.toLowerCase()}}`;
  }

  /** False while everything is answered StoreUnavailable. */
  get isReady(): boolean {
    return this.#client !== undefined;
  }

  /** Name of a table of this instance. All share one hash tag, so that one script may change several. */
  key(table: string): string {
    return `${this.#prefix}:${table}`;
  }

  /** A record that cannot be read was set aside; its value is shown to nobody. */
  setAside(table: string, field: string): void {
    this.#options.onBrokenRecord?.(table, field);
  }

  send(args: readonly string[]): Promise<unknown> {
    return this.#ask((sender) => sender.send(args));
  }

  script(text: string): Script {
    // Made for each client: its hash is cheap beside a round trip.
    return (keys, args) => this.#ask((sender) => redisScript(sender, text)(keys, args));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#client?.destroy();
    this.#client = undefined;
  }

  /** One attempt, with every check. */
  async connect(): Promise<void> {
    const client = newClient(this.#options.url);
    client.on("error", (error: unknown) => this.#lose(client, error));
    try {
      await within(this.#deadlineMs, async () => {
        await client.connect();
        await this.#check(client);
      });
      if (this.#isClosed) throw new Error("closed");
      if (!client.isReady) throw new Error("the connection broke");
    } catch (error) {
      client.destroy();
      throw error;
    }
    this.#client = client;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#watch(client);
  }

  async #check(client: Client): Promise<void> {
    const sender = senderOf(client);
    await assertFit(sender);
    this.#storeId = await claimFormat(
      sender,
      this.key("format"),
      this.#storeId,
      this.#options.mustExist !== true,
    );
  }

  async #ask<T>(question: (sender: Sender) => Promise<T>): Promise<T> {
    const client = this.#client;
    if (client === undefined) throw new StoreUnavailable(this.#fault);
    const askedAt = performance.now();
    try {
      const answer = await within(this.#deadlineMs, () => question(senderOf(client)));
      this.#lastAnswerAt = performance.now();
      return answer;
    } catch (error) {
      // Nothing at all since the question: the connection is silent, and those who wait for it learn it now.
      if (error instanceof Late && this.#lastAnswerAt < askedAt) this.#lose(client, error);
      // It was made a replica: no longer the place to read from, either.
      else if (error instanceof Error && error.message.startsWith("READONLY")) this.#lose(client, error);
      else if (!(error instanceof Late)) this.#lastAnswerAt = performance.now();
      throw new StoreUnavailable(error);
    }
  }

  #watch(client: Client): void {
    clearTimeout(this.#timer);
    if (this.#isClosed || this.#client !== client) return;
    this.#timer = setTimeout(() => {
      within(this.#deadlineMs, () => this.#check(client)).then(
        () => {
          this.#lastAnswerAt = performance.now();
          this.#watch(client);
        },
        (error: unknown) => this.#lose(client, error),
      );
    }, this.#options.checkEveryMs ?? CHECK_EVERY_MS);
    this.#timer.unref();
  }

  #lose(client: Client, error: unknown): void {
    // One that never came into use is its `connect`'s business.
    if (this.#client !== client) return;
    this.#client = undefined;
    this.#fault = error;
    client.destroy();
    this.#options.onUnreachable?.(error);
    this.#returnLater();
  }

  #returnLater(): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.connect().then(
        () => this.#options.onReachable?.(),
        (error: unknown) => {
          this.#fault = error;
          this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
          this.#returnLater();
        },
      );
    }, this.#pauseMs);
    this.#timer.unref();
  }
}

/** One socket in its life: what comes after a break is checked before it is used, which the client's own return does not do. */
function newClient(url: string) {
  try {
    return createClient({
      url,
      RESP: 2,
      disableOfflineQueue: true,
      commandsQueueMaxLength: MOST_UNDER_WAY,
      socket: { reconnectStrategy: false },
    });
  } catch {
    // The parser's own error repeats the URL, and with it a password.
    throw new UnfitRedis("its URL cannot be read");
  }
}

function senderOf(client: Client): Sender {
  return { send: (args) => client.sendCommand([...args]) };
}

class Late extends Error {}

function within<T>(ms: number, question: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After a moment in which we ourselves were busy the answer may be here, unread: read first, then judge.
      setImmediate(() => reject(new Late(`no answer within ${String(ms)} ms`)));
    }, ms);
    question()
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}

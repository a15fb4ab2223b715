// Many readers of the event stream over bare sockets in one process. Each is read to the end of what it is sent; what
// is kept of it is how many events of the chain came, and whether one came twice or out of order. What comes is put
// aside with its time and looked at when it is quiet: looking would take longer than reading, and be measured with it.

import { connect, type Socket } from "node:net";
import { answer } from "../answering.ts";

export type StreamsAsk =
  | { readonly type: "open"; readonly port: number; readonly query: readonly string[] }
  /** Resolves when every reader has had so many leaves and nullifiers, or when the time is up. */
  | { readonly type: "await"; readonly events: number; readonly withinMs: number }
  /** Since the last `mark`. */
  | { readonly type: "mark" };

export interface StreamsAnswer {
  readonly open: number;
  /** Readers that have had all of them, each once and in order. */
  readonly complete: number;
  /** Milliseconds since 1970: when the first reader had the first event after the mark, the last reader the last one. */
  readonly firstAt: number;
  readonly lastAt: number;
}

interface Reader {
  readonly socket: Socket;
  isOpen: boolean;
  isSynced: boolean;
  /** Came and was not looked at yet. */
  readonly waiting: { readonly at: number; readonly chunk: Buffer }[];
  rest: string;
  events: number;
  lastId: string;
  isOrderly: boolean;
}

const readers: Reader[] = [];
const unixMs = (): number => performance.timeOrigin + performance.now();
let firstAt = 0;
let lastAt = 0;
/** What is waited for, how many have it, and whom to tell. */
let wanted = Infinity;
let having = 0;
let tell: () => void = () => undefined;
let looking: NodeJS.Timeout | undefined;

/** How long nothing may have come before what came is looked at. */
const QUIET_MS = 100;

function keep(reader: Reader, chunk: Buffer): void {
  reader.waiting.push({ at: unixMs(), chunk });
  looking ??= setTimeout(look, QUIET_MS);
  looking.refresh();
}

function look(): void {
  looking = undefined;
  for (const reader of readers) for (const { at, chunk } of reader.waiting.splice(0)) take(reader, chunk, at);
  tell();
}

/** True once the reader has heard `synced`. */
function take(reader: Reader, chunk: Buffer, at: number): boolean {
  const text = reader.rest + chunk.toString("latin1");
  const end = text.lastIndexOf("\n\n");
  if (end === -1) {
    reader.rest = text;
    return reader.isSynced;
  }
  // A slice would keep the whole text alive.
  reader.rest = end + 2 === text.length ? "" : Buffer.from(text.slice(end + 2), "latin1").toString("latin1");
  for (const frame of text.slice(0, end).split("\n\n")) {
    if (frame.includes("event: synced")) reader.isSynced = true;
    const id = /\nid: (.+)/.exec(frame)?.[1];
    // Roots come when the sequencer finds the time for them.
    if (id === undefined || !/^event: (leaf|nullifier)\n/.test(frame)) continue;
    if (reader.lastId !== "" && compareIds(reader.lastId, id) >= 0) reader.isOrderly = false;
    reader.lastId = Buffer.from(id, "latin1").toString("latin1");
    reader.events += 1;
    if (reader.events === wanted) having += 1;
    lastAt = Math.max(lastAt, at);
    firstAt = firstAt === 0 ? at : Math.min(firstAt, at);
  }
  return reader.isSynced;
}

/** Ids are block-hash-log.part. */
function compareIds(a: string, b: string): number {
  const numbers = (id: string): number[] => {
    const [block = "", , rest = ""] = id.split("-");
    return [block, ...rest.split(".")].map(Number);
  };
  const [x, y] = [numbers(a), numbers(b)];
  return x.map((value, i) => value - (y[i] ?? 0)).find((difference) => difference !== 0) ?? 0;
}

function open(port: number, query: string): Promise<Reader> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1");
    const reader: Reader = {
      socket,
      isOpen: true,
      isSynced: false,
      waiting: [],
      rest: "",
      events: 0,
      lastId: "",
      isOrderly: true,
    };
    socket.once("connect", () => {
      socket.write(`GET /events/stream?${query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`);
    });
    socket.on("data", (chunk) => {
      if (reader.isSynced) keep(reader, chunk);
      else if (take(reader, chunk, unixMs())) {
        readers.push(reader);
        resolve(reader);
      }
    });
    socket.on("error", reject);
    socket.on("close", () => {
      reader.isOpen = false;
      reject(new Error("a stream was refused"));
      tell();
    });
  });
}

answer(async (ask: StreamsAsk): Promise<StreamsAnswer> => {
  const isComplete = (reader: Reader): boolean =>
    reader.isOpen && reader.isOrderly && reader.events === wanted;
  switch (ask.type) {
    case "open":
      // A few at a time, as a listening socket's queue takes them.
      for (let i = 0; i < ask.query.length; i += 100) {
        await Promise.all(ask.query.slice(i, i + 100).map((query) => open(ask.port, query)));
      }
      break;
    case "mark":
      look();
      for (const reader of readers) reader.events = 0;
      firstAt = lastAt = 0;
      break;
    case "await":
      wanted = ask.events;
      having = readers.filter(({ events }) => events >= wanted).length;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ask.withinMs);
        tell = () => {
          if (having < readers.length) return;
          clearTimeout(timer);
          resolve();
        };
        tell();
      });
      tell = () => undefined;
      break;
  }
  return {
    open: readers.filter(({ isOpen }) => isOpen).length,
    complete: readers.filter(isComplete).length,
    firstAt,
    lastAt,
  };
});

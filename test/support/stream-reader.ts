/** Reads a stream of the hub in the background, as a client would, checking every payload against its schema and the document. */
import assert from "node:assert/strict";
import type { Hub, Reading, Subscription } from "../../proxy/api/events/hub.ts";
import { parseId } from "../../proxy/api/events/position.ts";
import { EVENTS, type EventKind, type StreamEvent } from "../../shared/api/data.ts";
import { SseParser } from "../../shared/client/service/sse.ts";
import { eventFault } from "./documented.ts";
import { until } from "./until.ts";

const ANYBODY: Subscription = {
  owner: { developerId: "d1", sub: "user" },
  from: undefined,
  kinds: undefined,
  stillGood: () => Promise.resolve(true),
  endsAt: undefined,
};

export class StreamReader {
  readonly events: StreamEvent[] = [];
  /** The service said that nothing more comes. */
  isOver = false;
  /** The service gave the connection up. */
  isCut = false;
  /** Bytes that came while this reader takes nothing. */
  untaken = 0;
  comments = 0;
  readonly reading: Reading;
  #takes = true;
  readonly #parser = new SseParser();

  constructor(
    hub: Hub,
    wanted: Partial<Omit<Subscription, "from">> & { readonly from?: string | undefined } = {},
  ) {
    const from = wanted.from === undefined ? undefined : parseId(wanted.from);
    if (wanted.from !== undefined) assert.ok(from, `no id: ${wanted.from}`);
    this.reading = hub.read(
      { ...ANYBODY, ...wanted, from },
      {
        write: (bytes) => this.#write(bytes),
        end: () => (this.isOver = true),
        cut: () => (this.isCut = true),
      },
    );
  }

  /** Like a connection whose buffers are full. */
  stall(): void {
    this.#takes = false;
  }
  resume(): void {
    this.#takes = true;
    this.untaken = 0;
    this.reading.drained();
  }
  leave(): void {
    this.reading.left();
  }

  kinds(): string[] {
    return this.events.map(({ kind }) => kind);
  }
  count(kind: EventKind): number {
    return this.kinds().filter((each) => each === kind).length;
  }
  /** Ids of what the chain said, in order. */
  ids(): string[] {
    return this.events.flatMap(({ id, kind }) => (id !== undefined && kind !== "reorg" ? [id] : []));
  }
  /** Ids of what stands, as a wallet would have it: what a `reorg` takes back is gone. */
  standing(): string[] {
    const ids: string[] = [];
    for (const event of this.events) {
      if (event.kind === "reorg") {
        const { from_id } = event.data;
        ids.length = from_id === null ? 0 : ids.indexOf(from_id) + 1;
      } else if (event.id !== undefined) ids.push(event.id);
    }
    return ids;
  }
  synced(): Promise<unknown> {
    return until("the stream to be synced", () => this.kinds().includes("synced"));
  }

  #write(bytes: Buffer): boolean {
    if (!this.#takes) this.untaken += bytes.length;
    const text = bytes.toString("utf8");
    if (text === ":\n\n") this.comments += 1;
    for (const { event, id, data } of this.#parser.push(text)) {
      const kind = event as EventKind;
      assert.equal(eventFault(event, data), undefined);
      this.events.push({ kind, id, data: EVENTS[kind].parse(JSON.parse(data)) } as StreamEvent);
    }
    return this.#takes;
  }
}

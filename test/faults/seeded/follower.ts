/** Reads a proxy's event stream as a wallet does: resumes after its last event wherever the proxy is now, and does what `reorg` says. */
import type { BridgeStatus } from "../../../shared/api/bridge-status.ts";
import type { StreamEvent } from "../../../shared/api/data.ts";
import { EVENTS, type EventKind } from "../../../shared/api/data.ts";
import { SseParser } from "../../../shared/client/service/sse.ts";
import type { EventLine, StreamedState } from "./observations.ts";

const PAUSE_MS = 20;

export class Follower {
  readonly states: StreamedState[] = [];
  /** What was told of bridge requests, in its order. */
  readonly bridges: BridgeStatus[] = [];
  #standing: { readonly id: string; readonly line: EventLine }[] = [];
  /** Leaves that the service said to have when it last said that all is told. */
  syncedAt: number | undefined;
  readonly #end = new AbortController();
  readonly #reading: Promise<void>;

  /** `baseUrl` is asked again for each connection. */
  constructor(baseUrl: () => string | undefined, apiKey: string) {
    this.#reading = this.#follow(baseUrl, apiKey);
  }

  get lines(): EventLine[] {
    return this.#standing.map(({ line }) => line);
  }

  async #follow(baseUrl: () => string | undefined, apiKey: string): Promise<void> {
    const isOver = (): boolean => this.#end.signal.aborted;
    while (!isOver()) {
      const url = baseUrl();
      if (url !== undefined) await this.#read(url, apiKey).catch(() => undefined);
      if (isOver()) return;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }

  async #read(url: string, apiKey: string): Promise<void> {
    const last = this.#standing.at(-1)?.id;
    const response = await fetch(`${url}/events/stream`, {
      headers: { "X-API-Key": apiKey, ...(last === undefined ? {} : { "Last-Event-ID": last }) },
      signal: this.#end.signal,
    });
    if (!response.ok || response.body === null) return;
    const parser = new SseParser();
    const text = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      for (const { event, id, data } of parser.push(text.decode(chunk, { stream: true }))) {
        const kind = event as EventKind;
        this.#take({ kind, id, data: EVENTS[kind].parse(JSON.parse(data)) } as StreamEvent);
      }
    }
  }

  #take(event: StreamEvent): void {
    switch (event.kind) {
      case "bridge":
        this.bridges.push(event.data);
        return;
      case "ticket":
        this.states.push({ ticket: event.data.ticket_id, state: event.data.state });
        return;
      case "reorg": {
        const { from_id } = event.data;
        const at = from_id === null ? -1 : this.#standing.findLastIndex(({ id }) => id === from_id);
        this.#standing.length = at + 1;
        this.syncedAt = undefined;
        return;
      }
      case "synced":
        this.syncedAt = event.data.leaf_count;
        return;
      case "leaf":
      case "nullifier":
      case "root":
      case "void":
        if (event.id !== undefined) this.#standing.push({ id: event.id, line: lineOf(event) });
        return;
      case "ready":
      case "session_expired":
      case "credential_revoked":
    }
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#reading;
  }
}

function lineOf(event: Extract<StreamEvent, { kind: "leaf" | "nullifier" | "root" | "void" }>): EventLine {
  const { data } = event;
  switch (event.kind) {
    case "leaf":
      return leafLine(
        event.data.index,
        BigInt(event.data.commitment),
        `${event.data.ephemeral_key} ${String(event.data.output)} ${event.data.ciphertext}`,
        event.data.tx_hash,
        data.block_number,
      );
    case "nullifier":
      return nullifierLine(BigInt(event.data.nullifier), event.data.tx_hash, data.block_number);
    case "root":
      return rootLine(BigInt(event.data.root), event.data.leaf_count, data.block_number);
    case "void": {
      const { first_leaf_index, count, nullifiers, tx_hash } = event.data;
      return voidLine(first_leaf_index, count, nullifiers.map(BigInt), tx_hash, data.block_number);
    }
  }
}

export const leafLine = (
  index: number,
  commitment: bigint,
  sealed: string,
  tx: string,
  block: number,
): EventLine => `leaf ${String(index)} ${String(commitment)} ${tx} ${String(block)} ${sealed}`;
export const nullifierLine = (nullifier: bigint, tx: string, block: number): EventLine =>
  `nullifier ${String(nullifier)} ${tx} ${String(block)}`;
export const voidLine = (
  first: number,
  count: number,
  nullifiers: readonly bigint[],
  tx: string,
  block: number,
): EventLine => `void ${String(first)} ${String(count)} ${nullifiers.join(",")} ${tx} ${String(block)}`;
export const rootLine = (root: bigint, leaves: number, block: number): EventLine =>
  `root ${String(root)} ${String(leaves)} ${String(block)}`;

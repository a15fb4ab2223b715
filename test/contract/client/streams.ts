// The event streams of the service of these tests: each has its place in the chain's log.
import type { ServerResponse } from "node:http";
import type { EventKind } from "../../../shared/api/data.ts";
import type { Ticket } from "../../../shared/api/transactions.ts";
import { eventFault, requireDocumented } from "../../support/documented.ts";
import { CHAIN_ID, POOL, type TestChain } from "./chain.ts";

export class EventStreams {
  readonly #streams = new Map<ServerResponse, { sent: string | undefined }>();

  get size(): number {
    return this.#streams.size;
  }

  /** Opens a stream behind an id, with the tickets that are under way. */
  open(
    chain: TestChain,
    tickets: Iterable<Ticket>,
    response: ServerResponse,
    from: string | undefined,
  ): void {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
    response.write("retry: 10\n\n");
    this.#streams.set(response, { sent: from });
    response.on("close", () => this.#streams.delete(response));
    const now = { block_number: chain.blockNumber, leaf_count: chain.leafCount };
    send(response, "ready", { chain_id: CHAIN_ID, pool: POOL, ...now });
    for (const ticket of tickets) {
      if (ticket.state === "queued" || ticket.state === "submitted") send(response, "ticket", ticket);
    }
    this.update(chain);
    send(response, "synced", now);
  }

  /** Tells every stream what it has not: first that its last entry was reorganised out, then what came behind. */
  update(chain: TestChain): void {
    const { log } = chain;
    for (const [response, cursor] of this.#streams) {
      const fork = cursor.sent === undefined ? undefined : chain.forkOf(cursor.sent);
      if (fork !== undefined) {
        send(response, "reorg", { from_id: fork.lastId ?? null });
        cursor.sent = fork.lastId;
      }
      const next = cursor.sent === undefined ? 0 : log.findIndex(({ id }) => id === cursor.sent) + 1;
      for (const { id, kind, data } of log.slice(next)) {
        send(response, kind, data, id);
        cursor.sent = id;
      }
    }
  }

  bridge(status: unknown): void {
    for (const response of this.#streams.keys()) send(response, "bridge", status);
  }

  ticket(ticket: Ticket): void {
    for (const response of this.#streams.keys()) send(response, "ticket", ticket);
  }

  /** Ends every stream as an expired session does. */
  expire(): void {
    for (const response of [...this.#streams.keys()]) {
      response.write("event: session_expired\ndata: {}\n\n");
      response.end();
      this.#streams.delete(response);
    }
  }

  drop(): void {
    for (const response of [...this.#streams.keys()]) response.destroy();
    this.#streams.clear();
  }
}

function send(response: ServerResponse, kind: EventKind, data: unknown, id?: string): void {
  const text = JSON.stringify(data);
  requireDocumented(kind, eventFault(kind, text));
  response.write(`event: ${kind}\n${id === undefined ? "" : `id: ${id}\n`}data: ${text}\n\n`);
}

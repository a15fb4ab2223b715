/** What every test of a cluster asks of its proxies: each one by its number, and the outcome of a ticket. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createClient, type Client } from "../../shared/client/index.ts";
import type { DepositBody, Ticket } from "../../shared/api/transactions.ts";
import { capture, capturing } from "../support/captured.ts";
import { documentedFetch } from "../support/documented.ts";
import type { TestCluster } from "../support/stack.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;

export interface Posted {
  readonly status: number;
  readonly answer: unknown;
}

export interface Leader {
  readonly number: number;
  readonly fence: number;
}

export class Proxies {
  readonly #on: TestCluster;
  readonly count: number;

  constructor(on: TestCluster, count: number) {
    this.#on = on;
    this.count = count;
  }

  /** Straight to one of them. */
  url(number: number): string {
    return `http://127.0.0.1:${String(this.#on.local.proxy(number).ready["port"])}`;
  }

  at(number: number): Client {
    const baseUrl = this.url(number);
    const credential = { apiKey: this.#on.stack.file.api_key };
    return createClient({ baseUrl, credential, fetch: documentedFetch(baseUrl) });
  }

  others(number: number): number[] {
    return Array.from({ length: this.count }, (_, i) => i).filter((i) => i !== number);
  }

  /** Once: the client library would try again. */
  async ask(
    number: number,
    path: string,
    init: { readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Posted> {
    const { body, headers = { "X-API-Key": this.#on.stack.file.api_key } } = init;
    const response = await documentedFetch(this.url(number))(`${this.url(number)}${path}`, {
      ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
      headers: { "Content-Type": "application/json", ...headers },
    });
    const answer: unknown = await response.json();
    return { status: response.status, answer };
  }

  post(number: number, body: DepositBody, headers: Readonly<Record<string, string>> = {}): Promise<Posted> {
    return this.ask(number, "/sequence/deposit-shield", {
      body,
      headers: { "X-API-Key": this.#on.stack.file.api_key, ...headers },
    });
  }

  /** Everything that one of them has written to its log. */
  log(number: number): Promise<string> {
    const name = number === 0 ? "proxy" : `proxy-${String(number + 1)}`;
    return readFile(this.#on.local.folder.log(name), "utf8");
  }

  /** Which one has taken the lease last, and under which fence. The first to take it may not have written so yet. */
  leader(): Promise<Leader> {
    return until("somebody to submit", () => this.#leader());
  }

  async #leader(): Promise<Leader | undefined> {
    let found = { number: -1, fence: 0 };
    for (let number = 0; number < this.count; number++) {
      for (const [, fence] of (await this.log(number)).matchAll(
        /"fence":(\d+),"msg":"this proxy submits"/g,
      )) {
        if (Number(fence) > found.fence) found = { number, fence: Number(fence) };
      }
    }
    return found.number < 0 ? undefined : found;
  }

  newLeader(before: number): Promise<Leader> {
    return until("another one to submit", async () => {
      const now = await this.leader();
      return now.fence > before && now;
    });
  }

  /** Proved and signed by a fresh depositor, and not sent. */
  async aDeposit(): Promise<DepositBody> {
    const wallet = await this.#on.wallet({ through: capturing(this.#on.client) });
    const depositor = await this.#on.depositor(10n * UNIT);
    return capture<DepositBody>(wallet, () => wallet.deposit(10n * UNIT, depositor));
  }

  /** Final on whichever proxy is asked, executed by one chain transaction, in order of acceptance. */
  async requireOnce(tickets: readonly Ticket[], ask: readonly number[]): Promise<void> {
    const leaves: number[] = [];
    for (const [i, { ticket_id, statement }] of tickets.entries()) {
      const client = this.at(ask[i % ask.length]!);
      const final = await until("the ticket to become final", async () => {
        const now = await client.ticket(ticket_id);
        assert.ok(now.state !== "failed" && now.state !== "expired", now.state);
        // In a block: nothing is learned from waiting for the next ones.
        if (now.state === "confirmed") await this.#on.mine();
        return now.state === "finalized" && now;
      });
      leaves.push(final.leaf_index[0]!);
      assert.equal((await this.#on.executions(statement)).length, 1);
    }
    assert.deepEqual(
      leaves,
      [...leaves].sort((a, b) => a - b),
      "in order of acceptance",
    );
  }
}

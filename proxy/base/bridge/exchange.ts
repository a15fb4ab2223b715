/** The perpetuals exchange, asked over its HTTP interface whether it knows an account. What it answers is looked at strictly. */
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { Address } from "../../../shared/protocol/brands.ts";

/** A caller waits for it. */
const DEADLINE_MS = 3_000;
const MOST_BYTES = 65_536;
/** A replica that lags has caught up by then. */
const ASKED_AGAIN_AFTER_MS = 3_000;

const roleShape = z.object({ role: z.string().max(32) });
/** Something special is the case, such as that it is paused; what exactly is not looked at. */
const statusShape = z.object({ specialStatuses: z.array(z.unknown()).nullable() });

export class ExchangeUnreachable extends Error {
  constructor(cause: unknown) {
    super("the exchange did not answer as it should", { cause });
    this.name = "ExchangeUnreachable";
  }
}

export interface Exchange {
  /** Throws ExchangeUnreachable. */
  hasAccount(account: Address): Promise<boolean>;
  /** Whether it takes money now. Throws ExchangeUnreachable. */
  isOpen(): Promise<boolean>;
}

/**
 * Whether money for this account is taken. One wrong "no", as of a replica that lags, would refuse a person, or send money
 * back: it counts when it is said again, a pause later.
 */
export async function isTaken(exchange: Pick<Exchange, "hasAccount">, account: Address): Promise<boolean> {
  if (await exchange.hasAccount(account)) return true;
  await sleep(ASKED_AGAIN_AFTER_MS);
  return exchange.hasAccount(account);
}

export function createExchangeClient(apiUrl: string): Exchange {
  const url = `${apiUrl.replace(/\/$/, "")}/info`;
  async function ask<T>(question: object, shape: z.ZodType<T>): Promise<T> {
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(question),
        // Where it leads is not what the operator has named.
        redirect: "error",
        signal: AbortSignal.timeout(DEADLINE_MS),
      });
      if (!response.ok) throw new Error(`status ${String(response.status)}`);
      return shape.parse(JSON.parse(await readText(response)));
    } catch (cause) {
      throw new ExchangeUnreachable(cause);
    }
  }

  return {
    hasAccount: async (account) =>
      (await ask({ type: "userRole", user: account }, roleShape)).role !== "missing",
    async isOpen() {
      const { specialStatuses } = await ask({ type: "exchangeStatus" }, statusShape);
      return specialStatuses === null || specialStatuses.length === 0;
    },
  };
}

async function readText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > MOST_BYTES) throw new Error("too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

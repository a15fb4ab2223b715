// The users of suite "sequencer", in a process of their own: each a session with an event stream, whose payments are
// made beforehand so that nothing but requests is sent while time is taken. The notes that are spent were never
// deposited: a simulated proof need not be true, and to proxy, enclave and pool these payments are like any other.

import { setImmediate as yieldToOthers, setTimeout as delay } from "node:timers/promises";
import {
  createClient,
  feesFor,
  newSeed,
  spendBody,
  wireProof,
  type Client,
  type Pins,
} from "../../../../shared/client/index.ts";
import { prepareSpend } from "../../../../shared/client/statements/statements.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { mustField } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import { toSnarkjsProof } from "../../../../shared/protocol/host/proofs.ts";
import { answer } from "../answering.ts";
import { nobodysNote } from "../client/statements.ts";
import { openSimulator, type Simulator } from "../trapdoor/simulator.ts";

export type LoadAsk =
  | {
      readonly type: "open";
      readonly baseUrl: string;
      readonly apiKey: string;
      readonly users: number;
      readonly pins: Pins;
    }
  /** Payments that wait to be sent. */
  | { readonly type: "prepare"; readonly count: number }
  /** At so many a second, whatever is still under way; or so many under way all the time. */
  | {
      readonly type: "send";
      readonly count: number;
      readonly pace: { readonly perSecond: number } | { readonly underWay: number };
      /** What is waited for. Default: until all are confirmed. */
      readonly until?: "accepted" | "confirmed";
    };

export interface LoadAnswer {
  /** Milliseconds from sending a payment to its ticket. */
  readonly accepted: readonly number[];
  /** Milliseconds from sending a payment to the event that says that it is on the chain. */
  readonly confirmed: readonly number[];
  /** From the first payment sent to the last one confirmed. */
  readonly seconds: number;
  /** Transactions of the chain that carried them. */
  readonly transactions: readonly string[];
}

/** Of all users; how long the sequencer may take for the last payment. */
const CONFIRMED_WITHIN_MS = 120_000;
const DEADLINE_SECS = 6 * 3600;
/** A third of a second. */
const PREPARED_AT_ONCE = 32;
const VALUE = 10_000_000n;

interface User {
  readonly token: string;
  readonly keys: SpendingKey;
}

interface Common {
  readonly client: Client;
  readonly pins: Pins;
  readonly baseUrl: string;
  readonly simulator: Simulator;
  readonly users: readonly User[];
}

interface Payment {
  readonly token: string;
  readonly statement: string;
  readonly body: string;
}

let common: Common | undefined;
const waiting: Payment[] = [];
/** By statement: whom to tell that it is on the chain. */
const watched = new Map<string, (transaction: string) => void>();
let fail: (error: Error) => void = () => undefined;
/** Rejects when a stream ends or tells of a payment that failed. */
const failed = new Promise<never>((_, reject) => (fail = reject));
failed.catch(() => undefined);

answer(async (ask: LoadAsk): Promise<LoadAnswer> => {
  switch (ask.type) {
    case "open":
      common = await open(ask);
      return NOTHING;
    case "prepare":
      waiting.push(...(await prepare(required(), ask.count)));
      return NOTHING;
    case "send":
      return send(required(), waiting.splice(0, ask.count), ask.pace, ask.until ?? "confirmed");
  }
});

const NOTHING: LoadAnswer = { accepted: [], confirmed: [], seconds: 0, transactions: [] };

function required(): Common {
  if (common === undefined) throw new Error("not opened");
  return common;
}

async function open({
  baseUrl,
  apiKey,
  users: count,
  pins,
}: Extract<LoadAsk, { type: "open" }>): Promise<Common> {
  const client = createClient({ baseUrl, credential: { apiKey } });
  const users = await Promise.all(
    Array.from({ length: count }, async (_, i): Promise<User> => {
      const sub = `user-${String(i)}`;
      const { token } = await client.createSession({ sub, perms: ["read", "write"], ttl_secs: 3600 });
      const opened = new Promise<void>((resolve) => {
        follow(baseUrl, token, resolve).catch(fail);
      });
      await Promise.race([opened, failed]);
      return { token, keys: SpendingKey.fromSeed(newSeed()) };
    }),
  );
  return { client, pins, baseUrl, simulator: await openSimulator(), users };
}

async function follow(baseUrl: string, token: string, opened: () => void): Promise<void> {
  const client = createClient({ baseUrl, credential: { sessionProvider: () => Promise.resolve(token) } });
  for await (const event of client.events({ types: ["ticket", "synced"] })) {
    if (event.kind === "synced") opened();
    if (event.kind !== "ticket") continue;
    const { state, statement, tx_hash: transaction, error } = event.data;
    if (state === "failed" || state === "expired")
      throw new Error(`a payment ended as ${state}: ${error?.code ?? "without a code"}`);
    if (transaction !== null && (state === "confirmed" || state === "finalized"))
      watched.get(statement)?.(transaction);
  }
}

async function prepare({ client, pins, simulator, users }: Common, count: number): Promise<Payment[]> {
  const asset = pins.assets[0] === undefined ? undefined : asAddress(pins.assets[0]);
  const pool = asAddress(pins.pool);
  if (asset === undefined || pool === undefined) throw new TypeError("pins without an address");
  const root = mustField(BigInt((await client.merkleRoot()).root));
  const fees = feesFor(
    (await client.whoami()).fees,
    { asset, operation: "transfer", amount: VALUE / 2n },
    pins,
  );
  const deadline = Math.floor(Date.now() / 1000) + DEADLINE_SECS;
  const make = (i: number): Payment => {
    const { token, keys } = users[i % users.length]!;
    const prepared = prepareSpend({
      home: { chainId: BigInt(pins.chainId), pool },
      keys,
      asset,
      fees,
      deadline,
      root,
      inputs: [nobodysNote(asset, VALUE, 2 * i), nobodysNote(asset, VALUE, 2 * i + 1)],
      payment: { type: "transfer", to: keys.viewing.address, value: VALUE / 2n },
    });
    const { hash, kind, signals } = prepared.statement;
    const proof = wireProof(toSnarkjsProof(simulator.prove(kind, signals)));
    return { token, statement: hash, body: JSON.stringify(spendBody(prepared, proof)) };
  };
  const payments: Payment[] = [];
  for (let i = 0; i < count; i++) {
    // A process that is busy for a minute takes its streams for dead, and what they tell meanwhile is told once.
    if (i % PREPARED_AT_ONCE === 0) await yieldToOthers();
    payments.push(make(i));
  }
  return payments;
}

async function send(
  { baseUrl }: Common,
  payments: readonly Payment[],
  pace: Extract<LoadAsk, { type: "send" }>["pace"],
  until: "accepted" | "confirmed",
): Promise<LoadAnswer> {
  const accepted: number[] = [];
  const confirmed: number[] = [];
  const transactions = new Set<string>();
  const start = performance.now();
  let last = start;

  const pay = async (payment: Payment): Promise<void> => {
    const sentAt = performance.now();
    const onChain = new Promise<void>((resolve) => {
      watched.set(payment.statement, (transaction) => {
        watched.delete(payment.statement);
        transactions.add(transaction);
        last = performance.now();
        confirmed.push(last - sentAt);
        resolve();
      });
    });
    onChains.push(onChain);
    await post(baseUrl, payment);
    accepted.push(performance.now() - sentAt);
  };
  const onChains: Promise<void>[] = [];

  if ("perSecond" in pace) {
    const gapMs = 1000 / pace.perSecond;
    await Promise.all(
      payments.map(async (payment, i) => {
        await delay(Math.max(0, start + i * gapMs - performance.now()));
        await pay(payment);
      }),
    );
  } else {
    const queue = payments.values();
    await Promise.all(
      Array.from({ length: pace.underWay }, async () => {
        for (const payment of queue) await pay(payment);
      }),
    );
  }
  if (until === "accepted") return { ...NOTHING, accepted };
  const missing = delay(CONFIRMED_WITHIN_MS).then(() => {
    throw new Error(`${String(watched.size)} payments are not on the chain`);
  });
  await Promise.race([Promise.all(onChains), missing, failed]);
  // The other will be told to nobody.
  missing.catch(() => undefined);
  return { accepted, confirmed, seconds: (last - start) / 1000, transactions: [...transactions] };
}

/** Throws for any answer but the ticket of a payment that was accepted just now. */
async function post(baseUrl: string, { token, body }: Payment): Promise<void> {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const response = await fetch(`${baseUrl}/sequence/spend`, { method: "POST", headers, body });
  const text = await response.text();
  if (response.status !== 202)
    throw new Error(`a payment was answered ${String(response.status)}: ${text.slice(0, 200)}`);
}

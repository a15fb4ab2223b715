// `npm run operator -- tickets inspect …`: all that the instance and the chain know of one ticket, for whoever answers its
// payer. It changes nothing, and shows neither proof nor signature, ciphertext or signed transaction.
import { ChainUnreachable } from "../../proxy/base/chain/json-rpc.ts";
import type { Pool } from "../../proxy/base/chain/pool.ts";
import type { Chain } from "../../proxy/base/chain/provider.ts";
import { isOver } from "../../proxy/base/store/ticket-states.ts";
import type { TicketStore } from "../../proxy/base/store/ticket-store.ts";
import type { Outgoing, TicketRecord } from "../../proxy/base/store/tickets.ts";
import { StoreUnavailable } from "../../proxy/base/store/unavailable.ts";
import type { Bytes32, Field } from "../../shared/protocol/brands.ts";
import { asBytes32 } from "../../shared/protocol/host/text.ts";
import { signalNames } from "../../shared/protocol/host/statements.ts";
import { chainOf } from "./chain-index.ts";
import { ended } from "./history.ts";
import { UsageError } from "../base/command.ts";
import { type Kept, type Result, type StoreValues, type Verbs } from "./command-line.ts";

export const TICKETS_HELP = `  tickets inspect TICKET [chain]                          all that store, index and chain know of one ticket, by its
                                                          id or its statement's hash; the proxy may run. The node is
                                                          asked where one is named (chain: see index)
  tickets ended [--developer ID [--sub USER]] [--state finalized|failed|expired] [--from TIME] [--to TIME]
           [--limit N] [--cursor C]                     tickets that are over, the last first, as long as the instance
                                                          keeps them; a cursor goes on behind a page`;

type Facts = Readonly<Record<string, unknown>>;

export const TICKETS: Verbs = {
  inspect: { words: ["TICKET"], run: inspect },
  ended: { words: [], run: ended },
};

async function inspect({ stores: { tickets }, data, values }: Kept, name: string): Promise<Result> {
  const ticket = await find(tickets, name);
  if (ticket === undefined) return unknown(data, name);
  const outgoing = (await tickets.outgoing()).filter(({ ticketIds }) => ticketIds.includes(ticket.id));
  const facts: Facts = {
    ticket: await shownTicket(tickets, ticket),
    transactions: outgoing.map(shownOutgoing),
    index: data === undefined ? "not here; a proxy's data folder has it (--data)" : shownIndex(data, ticket),
    chain: await askChain(ticket, outgoing, values),
  };
  return { data: facts, text: JSON.stringify(facts, undefined, 2) };
}

async function find(tickets: TicketStore, name: string): Promise<TicketRecord | undefined> {
  const statement = asBytes32(name);
  try {
    return await (statement === undefined ? tickets.get(name) : tickets.byStatement(statement));
  } catch (error) {
    // "The store could not do it" is for callers; whoever has to fix it needs to know what.
    if (error instanceof StoreUnavailable && error.cause instanceof Error)
      throw new Error(error.cause.message, { cause: error });
    throw error;
  }
}

/** A statement needs no ticket of ours: anybody may send an attested one, and a restored store may have lost its ticket. */
function unknown(data: Kept["data"], name: string): Result {
  const statement = asBytes32(name);
  const index = statement && data && shownIndex(data, { statement, nullifiers: [] });
  if (index === undefined || (index["executed"] === null && index["rejected"] === null))
    throw new UsageError(`there is no ticket ${name}`);
  const facts = { ticket: null, statement, index };
  return { data: facts, text: JSON.stringify(facts, undefined, 2) };
}

async function shownTicket(tickets: TicketStore, ticket: TicketRecord): Promise<Facts> {
  const { id, sequence, owner, requestId, statement, nullifiers, transaction, status } = ticket;
  const { kind, deadline, signals, authorization, attestations } = transaction;
  const names = signalNames(kind);
  const holders = await Promise.all(nullifiers.map((nullifier) => tickets.reservedBy(nullifier)));
  return {
    id,
    statement,
    kind,
    developer: owner.developerId,
    user: owner.sub ?? null,
    request_id: requestId ?? null,
    accepted_at: time(ticket.createdAt),
    updated_at: time(ticket.updatedAt),
    deadline: time(Number(deadline) * 1000),
    place: sequence,
    queued_before: status.state === "queued" ? await tickets.queuedBefore(sequence) : null,
    is_over: isOver(status),
    ...status,
    root: textOf(signals[names.indexOf("root")]),
    nullifiers: nullifiers.map((nullifier, i) => ({
      nullifier: String(nullifier),
      reserved_by: holders[i] === ticket.statement ? "this ticket" : (holders[i] ?? null),
    })),
    has_authorization: authorization.length > 0,
    attested_by: attestations.map(({ signer }) => signer),
  };
}

/** Without the signed bytes: whoever has them can send them. */
function shownOutgoing({ sender, nonce, ticketIds, gasLimit, attempts, minedIn }: Outgoing): Facts {
  return {
    ...{ sender, nonce, gas_limit: String(gasLimit), mined_in: minedIn ?? null, carries: ticketIds.length },
    attempts: attempts.map(({ hash, maxFeePerGas, maxPriorityFeePerGas, signedAt }) => ({
      hash,
      max_fee_per_gas: String(maxFeePerGas),
      max_priority_fee_per_gas: String(maxPriorityFeePerGas),
      signed_at: time(signedAt),
    })),
  };
}

function shownIndex(
  data: NonNullable<Kept["data"]>,
  { statement, nullifiers }: Pick<TicketRecord, "statement" | "nullifiers">,
): Facts {
  return {
    block: data.tip()?.number ?? null,
    executed: data.execution(statement) ?? null,
    rejected: data.rejection(statement) ?? null,
    spent_by: nullifiers.map((nullifier) => data.spender(nullifier) ?? null),
  };
}

/** What the node says now. A node that is unreachable takes nothing from the rest. */
async function askChain(
  ticket: TicketRecord,
  outgoing: readonly Outgoing[],
  values: StoreValues,
): Promise<Facts | string> {
  if ((values.rpc ?? process.env["CLOISTER_RPC_URL"] ?? "") === "")
    return "not asked; --rpc URL names a node";
  const [chainId, address] = (values.instance ?? "").split(":");
  const named = chainId === "" || address === undefined ? {} : { "chain-id": chainId, pool: address };
  try {
    const { chain, pool } = await chainOf({ ...named, ...values }, process.env);
    return await shownChain(chain, pool, ticket, outgoing);
  } catch (error) {
    if (error instanceof ChainUnreachable) return `not asked: ${error.message}`;
    throw error;
  }
}

async function shownChain(
  chain: Chain,
  pool: Pool,
  { nullifiers, transaction: { kind, signals }, status }: TicketRecord,
  outgoing: readonly Outgoing[],
): Promise<Facts> {
  const root: Field | undefined = signals[signalNames(kind).indexOf("root")];
  const hashes = new Set<Bytes32>(outgoing.flatMap(({ attempts }) => attempts.map(({ hash }) => hash)));
  if ("txHash" in status) hashes.add(status.txHash);
  if ("outcome" in status) hashes.add(status.outcome.txHash);
  const receipts = [...hashes].map(async (hash) => {
    const receipt = await chain.receipt(hash);
    if (receipt === undefined) return { hash, mined_in: null, node_has_it: await chain.knows(hash) };
    return { hash, mined_in: receipt.blockNumber, succeeded: receipt.succeeded };
  });
  return {
    block: (await chain.header("latest"))?.number ?? null,
    root_is_known: root === undefined ? null : await pool.isKnownRoot(root),
    spent: await Promise.all(nullifiers.map((nullifier) => pool.isSpent(nullifier))),
    transactions: await Promise.all(receipts),
  };
}

function textOf(value: Field | undefined): string | null {
  return value === undefined ? null : String(value);
}

/** A deadline may be any 64-bit number, and a date may not. */
function time(ms: number): string {
  return ms <= 8.64e15 ? new Date(ms).toISOString() : `${String(ms / 1000)} s since 1970`;
}

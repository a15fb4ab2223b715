/**
 * Every figure that the proxy tells its operator, named once: what it means and which values its labels may have.
 * Labels come from closed lists, so what is kept stays small whatever callers send, and no developer, address, ticket
 * or path of a caller can get in. Whoever reads the figures learns how much is done here, and for nobody in particular.
 */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { ENDPOINTS, type Endpoint } from "../../shared/api/endpoints.ts";
import { ERROR_CODES, ERRORS, TICKET_ERROR_CODES, type ErrorCode } from "../../shared/api/errors.ts";
import type { TicketErrorCode } from "../../shared/api/errors.ts";
import type { EnclaveRequest } from "../../shared/protocol/enclave-messages.ts";
import { KIND_NAMES, type Kind } from "../../shared/protocol/statements.ts";

/** What stands for a value that is in no list. */
const OTHER = "other";
/** Where a label has nothing to say. */
const NONE = "none";

const endpointLabel = ({ method, path }: Endpoint): string => `${method} ${path}`;
const ENDPOINT_LABELS = [...Object.values<Endpoint>(ENDPOINTS).map(endpointLabel), NONE];
const SUCCESSES = [200, 201, 202, 204, 304];
const STATUSES = [
  NONE,
  ...[...new Set([...SUCCESSES, ...Object.values(ERRORS).map(({ status }) => status)])].map(String),
];
const POLICIES = [
  NONE,
  "session-minute",
  "key-minute",
  "key-day",
  "exchange-address",
  "provider-keys",
  "failed-credentials",
  "bad-proofs",
  "streams-user",
  "streams-developer",
] as const;
const CAPS = ["all", "address"] as const;
const OPEN_STATES = ["queued", "submitted", "confirmed"] as const;
const ENDINGS = ["finalized", "failed", "expired"] as const;
const BLOCKERS = ["chain", "enclave", "gas"] as const;
const TRANSACTION_EVENTS = [
  "sent",
  "replaced",
  "repeated",
  "mined",
  "at-fee-cap",
  "foreign-nonce",
  "filled",
] as const;
/** `unanswered`: the store did not say whether it was kept. `fenced`: a write was refused, because another has it. */
const LEASE_EVENTS = ["taken", "lost", "unanswered", "fenced"] as const;
const REDIS_USES = ["store", "limits"] as const;
const CARGOES = ["tickets", "root-update"] as const;
const RPC_METHODS = [
  "eth_blockNumber",
  "eth_call",
  "eth_chainId",
  "eth_estimateGas",
  "eth_getBalance",
  "eth_getBlockByHash",
  "eth_getBlockByNumber",
  "eth_getCode",
  "eth_getLogs",
  "eth_getTransactionByHash",
  "eth_getTransactionCount",
  "eth_getTransactionReceipt",
  "eth_maxPriorityFeePerGas",
  "eth_sendRawTransaction",
  "eth_simulateV1",
] as const;
/** `refused`: the node answered with an error, which for a simulated call is an answer like any other. */
const RPC_OUTCOMES = ["answered", "refused", "away"] as const;
/** `busy`: it answered that it has too much to do. `refused`: any other refusal. */
const ENCLAVE_OUTCOMES = ["answered", "busy", "refused", "away"] as const;
const ENCLAVE_REQUESTS = [
  "status",
  "attestation",
  "genesis",
  "release-request",
  "restore",
  "attest",
  "attest-root",
] as const satisfies readonly EnclaveRequest["type"][];
/** By place in the configuration. */
const ENCLAVES = Array.from({ length: 16 }, (_, i) => String(i));

const ANSWER_SECS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const TICKET_SECS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900, 3600];
const BATCH_SIZES = [0, 1, 2, 4, 8, 16, 32, 64];
const GAS = [50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 400_000, 600_000, 1_000_000, 2_000_000];

type Labels = Readonly<Record<string, readonly string[]>>;
interface Spec {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: Labels;
  readonly buckets?: readonly number[];
}
const counter = (help: string, labels: Labels = {}) => ({ type: "counter", help, labels }) as const;
const gauge = (help: string, labels: Labels = {}) => ({ type: "gauge", help, labels }) as const;
const histogram = (help: string, buckets: readonly number[], labels: Labels = {}) =>
  ({ type: "histogram", help, labels, buckets }) as const;

/** All there is besides the runtime's own (`process_*`, `nodejs_*`). A label may also say `other`. */
export const METRICS = {
  cloister_http_requests_total: counter(
    "Requests by their answer; status none is a caller who left before one",
    {
      endpoint: ENDPOINT_LABELS,
      status: STATUSES,
    },
  ),
  cloister_http_request_seconds_total: counter(
    "Time from a request's head to the end of its answer, waiting asked for by the caller and streams included",
    { endpoint: ENDPOINT_LABELS },
  ),
  cloister_http_refusals_total: counter("Requests that were refused; policy is the limit that was used up", {
    code: ERROR_CODES,
    policy: POLICIES,
  }),
  cloister_open_connections: gauge("Connections that are open at this proxy"),
  cloister_connections_refused_total: counter(
    "Connections beyond the cap on all, or on those of an address",
    {
      by: CAPS,
    },
  ),
  cloister_open_streams: gauge("Event streams that are open at this proxy"),

  cloister_tickets_accepted_total: counter("Tickets that this process accepted", { kind: KIND_NAMES }),
  cloister_tickets_ended_total: counter("Tickets that came to their end", {
    state: ENDINGS,
    code: [NONE, ...TICKET_ERROR_CODES],
  }),
  cloister_tickets: gauge("Tickets that are not at their end", { state: OPEN_STATES }),
  cloister_oldest_waiting_ticket_seconds: gauge(
    "Age of the oldest ticket that is not executed, 0 when there is none",
  ),
  cloister_ticket_state_seconds: histogram("Time a ticket spent in a state before it left it", TICKET_SECS, {
    state: OPEN_STATES,
  }),
  cloister_ticket_confirmation_seconds: histogram(
    "Time from a ticket's acceptance to its first confirmation",
    TICKET_SECS,
  ),

  cloister_transactions_total: counter("What happened to transactions of the gas wallet", {
    event: TRANSACTION_EVENTS,
  }),
  cloister_batch_tickets: histogram(
    "Tickets in a transaction that was sent; 0 is a root update alone",
    BATCH_SIZES,
  ),
  cloister_gas_used_total: counter("Gas of mined transactions", { carries: CARGOES }),
  cloister_gas_per_ticket: histogram("Gas of a mined transaction, divided by its tickets", GAS),
  cloister_gas_wallet_balance_ether: gauge(
    "Balance of the gas wallet in whole coins of the chain, absent until known",
  ),
  cloister_blocked: gauge("1 for what holds every waiting ticket now", { by: BLOCKERS }),
  cloister_submitter_last_turn_timestamp_seconds: gauge("When the sequencer last ended a turn well"),

  cloister_lease_held: gauge("1 while this proxy is the one that submits"),
  cloister_lease_events_total: counter("What happened to the lease of submission at this proxy", {
    event: LEASE_EVENTS,
  }),

  cloister_indexed_block: gauge("Number of the last indexed block"),
  cloister_indexer_synced_timestamp_seconds: gauge("When the index last reached the chain's head"),
  cloister_index_fault: gauge("1 while what the chain says of the pool does not fit together"),
  cloister_reorganisations_total: counter("Times that indexed blocks were reorganised out"),
  cloister_reorganised_blocks_total: counter("Blocks reorganised out by them"),
  cloister_final_tickets_taken_back_total: counter("Tickets that were final and had to be sent again"),

  cloister_rpc_requests_total: counter("Questions to the chain's node", {
    method: RPC_METHODS,
    outcome: RPC_OUTCOMES,
  }),
  cloister_rpc_seconds: histogram("Time of a question to the chain's node", ANSWER_SECS, {
    method: RPC_METHODS,
  }),
  cloister_enclave_requests_total: counter("Questions to an enclave, by its place in the configuration", {
    enclave: ENCLAVES,
    request: ENCLAVE_REQUESTS,
    outcome: ENCLAVE_OUTCOMES,
  }),
  cloister_enclave_seconds: histogram("Time of a question to an enclave", ANSWER_SECS, {
    enclave: ENCLAVES,
    request: ENCLAVE_REQUESTS,
  }),

  cloister_redis_away: gauge("1 while a Redis does not serve; absent for a use that has none", {
    use: REDIS_USES,
  }),

  cloister_warnings: gauge("Sentences in the warnings of /health"),
} as const satisfies Readonly<Record<string, Spec>>;

export type MetricName = keyof typeof METRICS;
type Named<T extends Spec["type"]> = {
  [N in MetricName]: (typeof METRICS)[N]["type"] extends T ? N : never;
}[MetricName];

export type CapReached = (typeof CAPS)[number];
export type OpenState = (typeof OPEN_STATES)[number];
export type Ending = (typeof ENDINGS)[number];
export type TransactionEvent = (typeof TRANSACTION_EVENTS)[number];
export type LeaseEvent = (typeof LEASE_EVENTS)[number];
export type RedisUse = (typeof REDIS_USES)[number];
export type RpcOutcome = (typeof RPC_OUTCOMES)[number];
export type EnclaveOutcome = (typeof ENCLAVE_OUTCOMES)[number];

/** What is read when somebody asks, rather than counted when it happens. Must not throw and asks nobody. */
export interface Snapshot {
  /** Undefined where another proxy submits. */
  readonly queue:
    { readonly tickets: Readonly<Record<OpenState, number>>; readonly oldestWaitingSecs: number } | undefined;
  readonly hasLease: boolean;
  readonly openConnections: number;
  readonly openStreams: number;
  readonly blockedBy: (typeof BLOCKERS)[number] | undefined;
  /** Milliseconds since 1970. */
  readonly lastTurnAt: number | undefined;
  readonly indexedBlock: number | undefined;
  /** Milliseconds since 1970. */
  readonly syncedAt: number | undefined;
  readonly hasIndexFault: boolean;
  /** Wei. */
  readonly gasWalletBalance: bigint | undefined;
  readonly warnings: number;
}

export interface Metrics {
  /** `endpoint` is undefined where none was found or looked for, `status` where the caller left before an answer. */
  request(endpoint: Endpoint | undefined, status: number | undefined, secs: number): void;
  refused(code: ErrorCode, policy: string | undefined): void;
  connectionRefused(by: CapReached): void;

  accepted(kind: Kind): void;
  left(state: OpenState, afterSecs: number): void;
  confirmed(afterSecs: number): void;
  ended(state: Ending, code: TicketErrorCode | undefined): void;

  transaction(event: TransactionEvent): void;
  /** With so many tickets. */
  sent(tickets: number): void;
  /** `gasUsed` is undefined where the node does not say. */
  mined(tickets: number, gasUsed: bigint | undefined): void;
  reorganised(blocks: number): void;
  /** A ticket that was called final. */
  takenBack(): void;
  lease(event: LeaseEvent): void;
  redis(use: RedisUse, isUnreachable: boolean): void;

  rpc(method: string, outcome: RpcOutcome, secs: number): void;
  enclave(place: number, request: EnclaveRequest["type"], outcome: EnclaveOutcome, secs: number): void;

  /** Reads the snapshot, once its parts are put together. */
  observe(read: () => Snapshot): void;
  /** Adds the runtime's own figures: memory, processor, delay of the event loop. */
  watchProcess(): void;
  /** In Prometheus' text format. */
  text(): Promise<string>;
  readonly contentType: string;
}

export function createMetrics(): Metrics {
  const registry = new Registry();
  const base = (name: MetricName) => {
    const { help, labels } = METRICS[name];
    return { name, help, labelNames: Object.keys(labels), registers: [registry] };
  };
  const counterOf = (name: Named<"counter">) => new Counter(base(name));
  const gaugeOf = (name: Named<"gauge">) => new Gauge(base(name));
  const histogramOf = (name: Named<"histogram">) =>
    new Histogram({ ...base(name), buckets: [...METRICS[name].buckets] });

  const requests = counterOf("cloister_http_requests_total");
  const requestSecs = counterOf("cloister_http_request_seconds_total");
  const refusals = counterOf("cloister_http_refusals_total");
  const openConnections = gaugeOf("cloister_open_connections");
  const connectionsRefused = counterOf("cloister_connections_refused_total");
  const openStreams = gaugeOf("cloister_open_streams");
  const accepted = counterOf("cloister_tickets_accepted_total");
  const ended = counterOf("cloister_tickets_ended_total");
  const tickets = gaugeOf("cloister_tickets");
  const oldestWaiting = gaugeOf("cloister_oldest_waiting_ticket_seconds");
  const stateSecs = histogramOf("cloister_ticket_state_seconds");
  const confirmationSecs = histogramOf("cloister_ticket_confirmation_seconds");
  const transactions = counterOf("cloister_transactions_total");
  const batchTickets = histogramOf("cloister_batch_tickets");
  const gasUsed = counterOf("cloister_gas_used_total");
  const gasPerTicket = histogramOf("cloister_gas_per_ticket");
  const balance = gaugeOf("cloister_gas_wallet_balance_ether");
  const blocked = gaugeOf("cloister_blocked");
  const lastTurn = gaugeOf("cloister_submitter_last_turn_timestamp_seconds");
  const leaseHeld = gaugeOf("cloister_lease_held");
  const leaseEvents = counterOf("cloister_lease_events_total");
  const indexedBlock = gaugeOf("cloister_indexed_block");
  const synced = gaugeOf("cloister_indexer_synced_timestamp_seconds");
  const indexFault = gaugeOf("cloister_index_fault");
  const reorganisations = counterOf("cloister_reorganisations_total");
  const reorganisedBlocks = counterOf("cloister_reorganised_blocks_total");
  const finalTakenBack = counterOf("cloister_final_tickets_taken_back_total");
  const rpcRequests = counterOf("cloister_rpc_requests_total");
  const rpcSecs = histogramOf("cloister_rpc_seconds");
  const enclaveRequests = counterOf("cloister_enclave_requests_total");
  const enclaveSecs = histogramOf("cloister_enclave_seconds");
  const redisUnreachable = gaugeOf("cloister_redis_away");
  const warnings = gaugeOf("cloister_warnings");

  // Something that never happened is a zero: of a figure that begins at one, nobody can say that it grew.
  for (const event of TRANSACTION_EVENTS) transactions.inc({ event }, 0);
  for (const event of LEASE_EVENTS) leaseEvents.inc({ event }, 0);
  for (const carries of CARGOES) gasUsed.inc({ carries }, 0);
  for (const code of ERROR_CODES) refusals.inc({ code, policy: NONE }, 0);
  for (const by of CAPS) connectionsRefused.inc({ by }, 0);
  for (const kind of KIND_NAMES) accepted.inc({ kind }, 0);

  // Requests come by the thousand a second: they are counted in numbers of our own, which are poured into the
  // registry when somebody asks.
  const served = new Map<
    Endpoint | undefined,
    { secs: number; readonly byStatus: Map<number | undefined, number> }
  >();
  let read: (() => Snapshot) | undefined;

  function pourRequests(): void {
    requests.reset();
    requestSecs.reset();
    for (const [row, { secs, byStatus }] of served) {
      const endpoint = among(ENDPOINT_LABELS, row === undefined ? NONE : endpointLabel(row));
      requestSecs.inc({ endpoint }, secs);
      for (const [status, count] of byStatus)
        requests.inc({ endpoint, status: among(STATUSES, String(status ?? NONE)) }, count);
    }
  }

  function showSnapshot(now: Snapshot): void {
    tickets.reset();
    for (const state of OPEN_STATES)
      if (now.queue !== undefined) tickets.set({ state }, now.queue.tickets[state]);
    setOrForget(oldestWaiting, now.queue?.oldestWaitingSecs);
    leaseHeld.set(now.hasLease ? 1 : 0);
    openConnections.set(now.openConnections);
    openStreams.set(now.openStreams);
    for (const by of BLOCKERS) blocked.set({ by }, now.blockedBy === by ? 1 : 0);
    setOrForget(lastTurn, now.lastTurnAt === undefined ? undefined : now.lastTurnAt / 1000);
    setOrForget(indexedBlock, now.indexedBlock);
    setOrForget(synced, now.syncedAt === undefined ? undefined : now.syncedAt / 1000);
    indexFault.set(now.hasIndexFault ? 1 : 0);
    setOrForget(
      balance,
      now.gasWalletBalance === undefined ? undefined : Number(now.gasWalletBalance) / 1e18,
    );
    warnings.set(now.warnings);
  }

  return {
    request(endpoint, status, secs) {
      let row = served.get(endpoint);
      if (row === undefined) served.set(endpoint, (row = { secs: 0, byStatus: new Map() }));
      row.secs += secs;
      row.byStatus.set(status, (row.byStatus.get(status) ?? 0) + 1);
    },
    refused: (code, policy = NONE) => refusals.inc({ code, policy: among(POLICIES, policy) }),

    accepted: (kind) => accepted.inc({ kind }),
    left: (state, afterSecs) => stateSecs.observe({ state }, afterSecs),
    confirmed: (afterSecs) => confirmationSecs.observe(afterSecs),
    ended: (state, code) => ended.inc({ state, code: code ?? NONE }),

    transaction: (event) => transactions.inc({ event }),
    sent(count) {
      transactions.inc({ event: "sent" });
      batchTickets.observe(count);
    },
    mined(count, gas) {
      transactions.inc({ event: "mined" });
      if (gas === undefined) return;
      gasUsed.inc({ carries: count === 0 ? "root-update" : "tickets" }, Number(gas));
      if (count > 0) gasPerTicket.observe(Number(gas) / count);
    },
    reorganised(blocks) {
      reorganisations.inc();
      reorganisedBlocks.inc(blocks);
    },
    takenBack: () => finalTakenBack.inc(),
    lease: (event) => leaseEvents.inc({ event }),
    connectionRefused: (by) => connectionsRefused.inc({ by }),
    redis: (use, isUnreachable) => redisUnreachable.set({ use }, isUnreachable ? 1 : 0),

    rpc(name, outcome, secs) {
      const method = among(RPC_METHODS, name);
      rpcRequests.inc({ method, outcome });
      rpcSecs.observe({ method }, secs);
    },
    enclave(place, request, outcome, secs) {
      const enclave = among(ENCLAVES, String(place));
      enclaveRequests.inc({ enclave, request, outcome });
      enclaveSecs.observe({ enclave, request }, secs);
    },

    observe: (by) => (read = by),
    watchProcess: () => collectDefaultMetrics({ register: registry }),
    text() {
      pourRequests();
      if (read !== undefined) showSnapshot(read());
      return registry.metrics();
    },
    contentType: registry.contentType,
  };
}

const among = (known: readonly string[], value: string): string => (known.includes(value) ? value : OTHER);

/** What is not known is absent: a zero would be a figure like any other. */
function setOrForget(figure: Gauge, value: number | undefined): void {
  if (value === undefined) figure.remove();
  else figure.set(value);
}

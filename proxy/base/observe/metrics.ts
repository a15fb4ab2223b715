/**
 * Every figure that the proxy tells its operator, named once: what it means and which values its labels may have.
 * Labels come from closed lists, so what is kept stays small whatever callers send, and no developer, address, ticket
 * or path of a caller can get in. Whoever reads the figures learns how much is done here, and for nobody in particular.
 */
import { ENDPOINTS, type Endpoint } from "../../../shared/api/endpoints.ts";
import { ERROR_CODES, ERRORS, TICKET_ERROR_CODES, type ErrorCode } from "../../../shared/api/errors.ts";
import type { TicketErrorCode } from "../../../shared/api/errors.ts";
import type { EnclaveRequest } from "../../../shared/protocol/enclave-messages.ts";
import { KIND_NAMES, type Kind } from "../../../shared/protocol/statements.ts";
import { counter, gauge, histogram, registered, show, type FiguresOf, type FigureTable } from "./figures.ts";

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
  "kept-answers-users",
  "bad-proofs",
  "bad-proofs-users",
  "streams-user",
  "streams-users",
  "streams-developer",
] as const;
const CAPS = ["all", "address"] as const;
const OPEN_STATES = ["queued", "submitted", "confirmed"] as const;
const ENDINGS = ["finalized", "failed", "expired"] as const;
const BLOCKERS = ["chain", "enclave", "gas", "pause"] as const;
/** `advance`: one that was sent, too, and extends the tree without the signers. */
const TRANSACTION_EVENTS = [
  "sent",
  "advance",
  "errand",
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
  "eth_gasPrice",
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
const RPC_OUTCOMES = ["answered", "refused", "unreachable"] as const;
/** `busy`: it answered that it has too much to do. `refused`: any other refusal. */
const ENCLAVE_OUTCOMES = ["answered", "busy", "refused", "unreachable"] as const;
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
const ASSETS = Array.from({ length: 32 }, (_, i) => String(i));
const WAYS = ["attested", "proved"] as const;
/** `due`: there is room, and nobody has called payClaim, or the token refuses the recipient. */
const CLAIM_STATES = ["waiting", "due"] as const;

const ANSWER_SECS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const TICKET_SECS = [0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 900, 3600];
const BATCH_SIZES = [0, 1, 2, 4, 8, 16, 32, 64];
const GAS = [50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 400_000, 600_000, 1_000_000, 2_000_000];

/** All there is besides the runtime's own (`process_*`, `nodejs_*`). A label may also say `other`. */
export const METRICS = {
  cloister_http_requests_total: counter(
    "Requests by their answer; status none is a caller who left before one",
    { endpoint: ENDPOINT_LABELS, status: STATUSES },
  ),
  cloister_http_request_seconds_total: counter(
    "Time from a request's head to the end of its answer, waiting asked for by the caller and streams included",
    { endpoint: ENDPOINT_LABELS },
  ),
  cloister_http_answer_seconds: histogram(
    "Time from a request's head to the end of its answer, without streams and without waiting asked for by the caller",
    ANSWER_SECS,
  ),
  cloister_http_refusals_total: counter("Requests that were refused; policy is the limit that was used up", {
    code: ERROR_CODES,
    policy: POLICIES,
  }),
  cloister_open_connections: gauge("Connections that are open at this proxy"),
  cloister_connections_refused_total: counter(
    "Connections beyond the cap on all, or on those of an address",
    { by: CAPS },
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
    "Tickets in a transaction that was sent; 0 is a root update, an advance or an errand alone",
    BATCH_SIZES,
  ),
  cloister_calls_in_flight: gauge("Calls of the gas wallet that are sent and in no block yet"),
  cloister_gas_used_total: counter("Gas of mined transactions", { carries: CARGOES }),
  cloister_gas_per_ticket: histogram("Gas of a mined transaction, divided by its tickets", GAS),
  cloister_gas_wallet_balance_ether: gauge(
    "Balance of the gas wallet in whole coins of the chain, absent until known",
  ),
  cloister_blocked: gauge("1 for what holds every waiting ticket now", { by: BLOCKERS }),
  cloister_sequencer_last_turn_timestamp_seconds: gauge("When the sequencer last ended a turn well"),

  cloister_lease_held: gauge("1 while this proxy is the one that submits"),
  cloister_lease_events_total: counter("What happened to the sequencer lease at this proxy", {
    event: LEASE_EVENTS,
  }),

  cloister_indexed_block: gauge("Number of the last indexed block"),
  cloister_indexer_synced_timestamp_seconds: gauge("When the index last reached the chain's head"),
  cloister_index_fault: gauge("1 while what the chain says of the pool does not fit together"),
  cloister_reorganisations_total: counter("Times that indexed blocks were reorganised out"),
  cloister_reorganised_blocks_total: counter("Blocks reorganised out by them"),
  cloister_final_tickets_reorganised_out_total: counter("Tickets that were final and had to be sent again"),

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

  cloister_verifier_disagreements: gauge(
    "Open cases of two verdicts on one question; nothing is attested meanwhile",
  ),

  cloister_attested_path_closed_until_timestamp_seconds: gauge(
    "Until when the pool takes no attestations; passed, or 0, while it takes them",
  ),
  cloister_unsound: gauge("1 once somebody has proved a false statement to the pool"),
  cloister_room_units: gauge("What may still leave the pool today, in the asset's smallest units", {
    asset: ASSETS,
    way: WAYS,
  }),
  cloister_claimed_units: gauge("What the pool owes to claims, by whether there is room for it", {
    asset: ASSETS,
    state: CLAIM_STATES,
  }),

  cloister_redis_unreachable: gauge("1 while a Redis does not serve; absent for a use that has none", {
    use: REDIS_USES,
  }),

  cloister_data_folder_free_bytes: gauge("Room on the data folder's disk for the proxy's user"),
  cloister_data_folder_size_bytes: gauge("Size of the data folder's disk"),

  cloister_warnings: gauge("Sentences in the warnings of /health"),
} as const satisfies FigureTable;

type Figures = FiguresOf<typeof METRICS>;

export type CapReached = (typeof CAPS)[number];
export type OpenState = (typeof OPEN_STATES)[number];
export type Ending = (typeof ENDINGS)[number];
export type TransactionEvent = (typeof TRANSACTION_EVENTS)[number];
export type LeaseEvent = (typeof LEASE_EVENTS)[number];
export type RedisUse = (typeof REDIS_USES)[number];
export type RpcOutcome = (typeof RPC_OUTCOMES)[number];
export type EnclaveOutcome = (typeof ENCLAVE_OUTCOMES)[number];

/** Of the disk under the data folder. */
export interface DiskRoom {
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

export interface AssetBrakes {
  /** What may still leave today, in the asset's smallest units. */
  readonly attestedRoom: bigint;
  readonly provedRoom: bigint;
  readonly claimsDue: bigint;
  readonly claimsWaiting: bigint;
}

export interface PoolBrakes {
  /** Unix seconds; may have passed. */
  readonly attestedFrom: number;
  readonly isUnsound: boolean;
  /** In the order of the configuration. */
  readonly assets: readonly AssetBrakes[];
}

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
  /** Undefined while another proxy submits. */
  readonly callsInFlight: number | undefined;
  readonly indexedBlock: number | undefined;
  /** Milliseconds since 1970. */
  readonly syncedAt: number | undefined;
  readonly hasIndexFault: boolean;
  /** Wei. */
  readonly gasWalletBalance: bigint | undefined;
  readonly brakes: PoolBrakes | undefined;
  readonly disk: DiskRoom | undefined;
  /** Of verifiers, that are open. */
  readonly disagreements: number;
  readonly warnings: number;
}

export type Metrics = ReturnType<typeof createMetrics>;

export function createMetrics() {
  const { figures, text, ...registry } = registered(METRICS);
  const requests = countRequests(figures);
  let read: (() => Snapshot) | undefined;

  // Something that never happened is a zero: of a figure that begins at one, nobody can say that it grew.
  for (const event of TRANSACTION_EVENTS) figures.cloister_transactions_total.inc({ event }, 0);
  for (const event of LEASE_EVENTS) figures.cloister_lease_events_total.inc({ event }, 0);
  for (const carries of CARGOES) figures.cloister_gas_used_total.inc({ carries }, 0);
  for (const code of ERROR_CODES) figures.cloister_http_refusals_total.inc({ code, policy: NONE }, 0);
  for (const by of CAPS) figures.cloister_connections_refused_total.inc({ by }, 0);
  for (const kind of KIND_NAMES) figures.cloister_tickets_accepted_total.inc({ kind }, 0);

  return {
    request: requests.count,
    refused: (code: ErrorCode, policy: string = NONE) =>
      figures.cloister_http_refusals_total.inc({ code, policy: among(POLICIES, policy) }),
    connectionRefused: (by: CapReached) => figures.cloister_connections_refused_total.inc({ by }),

    accepted: (kind: Kind) => figures.cloister_tickets_accepted_total.inc({ kind }),
    left: (state: OpenState, afterSecs: number) =>
      figures.cloister_ticket_state_seconds.observe({ state }, afterSecs),
    confirmed: (afterSecs: number) => figures.cloister_ticket_confirmation_seconds.observe(afterSecs),
    ended: (state: Ending, code: TicketErrorCode | undefined) =>
      figures.cloister_tickets_ended_total.inc({ state, code: code ?? NONE }),

    transaction: (event: TransactionEvent) => figures.cloister_transactions_total.inc({ event }),
    sent(tickets: number) {
      figures.cloister_transactions_total.inc({ event: "sent" });
      figures.cloister_batch_tickets.observe(tickets);
    },
    /** `gasUsed` is undefined where the node does not say. */
    mined(tickets: number, gasUsed: bigint | undefined) {
      figures.cloister_transactions_total.inc({ event: "mined" });
      if (gasUsed === undefined) return;
      const carries = tickets === 0 ? "root-update" : "tickets";
      figures.cloister_gas_used_total.inc({ carries }, Number(gasUsed));
      if (tickets > 0) figures.cloister_gas_per_ticket.observe(Number(gasUsed) / tickets);
    },
    reorganised(blocks: number) {
      figures.cloister_reorganisations_total.inc();
      figures.cloister_reorganised_blocks_total.inc(blocks);
    },
    /** A ticket that was called final. */
    reorganisedOut: () => figures.cloister_final_tickets_reorganised_out_total.inc(),
    lease: (event: LeaseEvent) => figures.cloister_lease_events_total.inc({ event }),
    redis: (use: RedisUse, isUnreachable: boolean) =>
      figures.cloister_redis_unreachable.set({ use }, isUnreachable ? 1 : 0),

    rpc(name: string, outcome: RpcOutcome, secs: number) {
      const method = among(RPC_METHODS, name);
      figures.cloister_rpc_requests_total.inc({ method, outcome });
      figures.cloister_rpc_seconds.observe({ method }, secs);
    },
    enclave(place: number, request: EnclaveRequest["type"], outcome: EnclaveOutcome, secs: number) {
      const enclave = among(ENCLAVES, String(place));
      figures.cloister_enclave_requests_total.inc({ enclave, request, outcome });
      figures.cloister_enclave_seconds.observe({ enclave, request }, secs);
    },

    /** Reads the snapshot, once its parts are put together. */
    observe(by: () => Snapshot) {
      read = by;
    },
    ...registry,
    /** In Prometheus' text format. */
    text() {
      requests.pour();
      if (read !== undefined) showSnapshot(figures, read());
      return text();
    },
  };
}

/**
 * Requests come by the thousand a second: they are counted in numbers of our own, which are poured into the registry
 * when somebody asks.
 */
function countRequests(figures: Figures) {
  const served = new Map<
    Endpoint | undefined,
    { secs: number; readonly byStatus: Map<number | undefined, number> }
  >();
  return {
    /** `endpoint` is undefined where none was found or looked for, `status` where the caller left before an answer; `isHeld`: the caller asked that the answer wait. */
    count: (
      endpoint: Endpoint | undefined,
      status: number | undefined,
      secs: number,
      isHeld = false,
    ): void => {
      // What its caller wanted to last says nothing of how fast we are.
      if (!isHeld && endpoint !== ENDPOINTS.events) figures.cloister_http_answer_seconds.observe(secs);
      let row = served.get(endpoint);
      if (row === undefined) served.set(endpoint, (row = { secs: 0, byStatus: new Map() }));
      row.secs += secs;
      row.byStatus.set(status, (row.byStatus.get(status) ?? 0) + 1);
    },
    pour: (): void => {
      figures.cloister_http_requests_total.reset();
      figures.cloister_http_request_seconds_total.reset();
      for (const [row, { secs, byStatus }] of served) {
        const endpoint = among(ENDPOINT_LABELS, row === undefined ? NONE : endpointLabel(row));
        figures.cloister_http_request_seconds_total.inc({ endpoint }, secs);
        for (const [code, count] of byStatus) {
          const status = among(STATUSES, String(code ?? NONE));
          figures.cloister_http_requests_total.inc({ endpoint, status }, count);
        }
      }
    },
  };
}

function showSnapshot(figures: Figures, now: Snapshot): void {
  figures.cloister_tickets.reset();
  for (const state of OPEN_STATES)
    if (now.queue !== undefined) figures.cloister_tickets.set({ state }, now.queue.tickets[state]);
  for (const by of BLOCKERS) figures.cloister_blocked.set({ by }, now.blockedBy === by ? 1 : 0);
  show(figures.cloister_oldest_waiting_ticket_seconds, now.queue?.oldestWaitingSecs);
  show(figures.cloister_calls_in_flight, now.callsInFlight);
  show(figures.cloister_lease_held, Number(now.hasLease));
  show(figures.cloister_open_connections, now.openConnections);
  show(figures.cloister_open_streams, now.openStreams);
  show(figures.cloister_sequencer_last_turn_timestamp_seconds, now.lastTurnAt, 1e3);
  show(figures.cloister_indexed_block, now.indexedBlock);
  show(figures.cloister_indexer_synced_timestamp_seconds, now.syncedAt, 1e3);
  show(figures.cloister_index_fault, Number(now.hasIndexFault));
  show(figures.cloister_gas_wallet_balance_ether, now.gasWalletBalance, 1e18);
  show(figures.cloister_data_folder_free_bytes, now.disk?.freeBytes);
  show(figures.cloister_data_folder_size_bytes, now.disk?.sizeBytes);
  show(figures.cloister_verifier_disagreements, now.disagreements);
  show(figures.cloister_warnings, now.warnings);
  showBrakes(figures, now.brakes);
}

function showBrakes(figures: Figures, brakes: PoolBrakes | undefined): void {
  const { cloister_room_units: room, cloister_claimed_units: claims } = figures;
  show(figures.cloister_attested_path_closed_until_timestamp_seconds, brakes?.attestedFrom);
  show(figures.cloister_unsound, brakes && Number(brakes.isUnsound));
  for (const figure of [room, claims]) figure.reset();
  // Those of no place are left out: added up they would say nothing.
  for (const [i, asset] of ASSETS.entries()) {
    const its = brakes?.assets[i];
    if (its === undefined) break;
    room.set({ asset, way: "attested" }, Number(its.attestedRoom));
    room.set({ asset, way: "proved" }, Number(its.provedRoom));
    claims.set({ asset, state: "waiting" }, Number(its.claimsWaiting));
    claims.set({ asset, state: "due" }, Number(its.claimsDue));
  }
}

const among = (known: readonly string[], value: string): string => (known.includes(value) ? value : OTHER);

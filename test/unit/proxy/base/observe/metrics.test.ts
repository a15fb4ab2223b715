import assert from "node:assert/strict";
import {
  createMetrics,
  METRICS,
  type Metrics,
  type Snapshot,
} from "../../../../../proxy/base/observe/metrics.ts";
import { ENDPOINTS } from "../../../../../shared/api/endpoints.ts";
import { readExposition, type Exposition } from "../../../../support/exposition.ts";

const STANDING: Snapshot = {
  queue: { tickets: { queued: 3, submitted: 2, confirmed: 1 }, oldestWaitingSecs: 7.5 },
  hasLease: true,
  openConnections: 9,
  openStreams: 4,
  blockedBy: "gas",
  lastTurnAt: 2_000,
  callsInFlight: 3,
  indexedBlock: 99,
  syncedAt: 3_500,
  hasIndexFault: true,
  gasWalletBalance: 25n * 10n ** 17n,
  brakes: {
    ...{ attestedFrom: 4_000, isUnsound: true },
    assets: [
      { attestedRoom: 75n, provedRoom: 25n, claimsWaiting: 3n, claimsDue: 1n },
      { attestedRoom: 10n ** 30n, provedRoom: 0n, claimsWaiting: 0n, claimsDue: 0n },
    ],
  },
  disk: { freeBytes: 3e9, sizeBytes: 8e9 },
  disagreements: 1,
  warnings: 2,
};

describe("base/observe/metrics", () => {
  const scrape = async (metrics: Metrics): Promise<Exposition> => readExposition(await metrics.text());

  it("declares every metric of the table with its type, and nothing else", async () => {
    const { types } = await scrape(createMetrics());
    const table = Object.entries(METRICS).map(([name, { type }]) => [name, type] as const);
    assert.deepEqual(new Map([...types].sort()), new Map(table.sort()));
    for (const [name, { type, help }] of Object.entries(METRICS)) {
      assert.ok(help.length > 10, name);
      assert.equal(name.endsWith("_total"), type === "counter", name);
    }
  });

  it("counts what it is told, and each instance for itself", async () => {
    const metrics = createMetrics();
    metrics.request(ENDPOINTS.ticket, 200, 0.25);
    metrics.request(ENDPOINTS.ticket, 200, 0.5);
    metrics.request(ENDPOINTS.ticket, 404, 0.25);
    metrics.request(undefined, 404, 1);
    metrics.request(ENDPOINTS.events, 200, 3_600);
    metrics.request(ENDPOINTS.sequenceSpend, 200, 20, true);
    metrics.refused("RATE_LIMITED", "key-minute");
    metrics.connectionRefused("address");
    metrics.accepted("spend");
    metrics.left("queued", 3);
    metrics.confirmed(5);
    metrics.ended("failed", "NULLIFIER_SPENT");
    metrics.ended("finalized", undefined);
    metrics.sent(3);
    metrics.mined(3, 900_000n);
    metrics.mined(0, 70_000n);
    metrics.mined(1, undefined);
    metrics.transaction("foreign-nonce");
    metrics.reorganised(2);
    metrics.reorganisedOut();
    metrics.lease("lost");
    metrics.redis("store", true);
    metrics.rpc("eth_call", "unreachable", 10);
    metrics.enclave(1, "attest", "busy", 0.02);
    for (let again = 0; again < 2; again++) {
      const { value } = await scrape(metrics);
      const endpoint = "GET /sequence/ticket/{ticket_id}";
      assert.equal(value("cloister_http_requests_total", { endpoint, status: "200" }), 2);
      assert.equal(value("cloister_http_requests_total", { endpoint, status: "404" }), 1);
      assert.equal(value("cloister_http_requests_total", { endpoint: "none", status: "404" }), 1);
      assert.equal(value("cloister_http_request_seconds_total", { endpoint }), 1);
      // Neither the stream nor the answer that was to wait.
      assert.equal(value("cloister_http_answer_seconds_count"), 4);
      assert.equal(value("cloister_http_answer_seconds_sum"), 2);
      assert.equal(value("cloister_http_refusals_total", { code: "RATE_LIMITED", policy: "key-minute" }), 1);
      assert.equal(value("cloister_connections_refused_total", { by: "address" }), 1);
      assert.equal(value("cloister_connections_refused_total", { by: "all" }), 0);
      assert.equal(value("cloister_tickets_accepted_total", { kind: "spend" }), 1);
      assert.equal(value("cloister_ticket_state_seconds_bucket", { state: "queued", le: "4" }), 1);
      assert.equal(value("cloister_ticket_state_seconds_bucket", { state: "queued", le: "2" }), 0);
      assert.equal(value("cloister_ticket_confirmation_seconds_sum"), 5);
      assert.equal(value("cloister_tickets_ended_total", { state: "failed", code: "NULLIFIER_SPENT" }), 1);
      assert.equal(value("cloister_tickets_ended_total", { state: "finalized", code: "none" }), 1);
      assert.equal(value("cloister_batch_tickets_sum"), 3);
      assert.equal(value("cloister_transactions_total", { event: "sent" }), 1);
      assert.equal(value("cloister_transactions_total", { event: "mined" }), 3);
      assert.equal(value("cloister_transactions_total", { event: "foreign-nonce" }), 1);
      assert.equal(value("cloister_gas_used_total", { carries: "tickets" }), 900_000);
      assert.equal(value("cloister_gas_used_total", { carries: "root-update" }), 70_000);
      assert.equal(value("cloister_gas_per_ticket_sum"), 300_000);
      assert.equal(value("cloister_gas_per_ticket_count"), 1);
      assert.equal(value("cloister_reorganisations_total"), 1);
      assert.equal(value("cloister_reorganised_blocks_total"), 2);
      assert.equal(value("cloister_final_tickets_reorganised_out_total"), 1);
      assert.equal(value("cloister_lease_events_total", { event: "lost" }), 1);
      assert.equal(value("cloister_lease_events_total", { event: "taken" }), 0);
      assert.equal(value("cloister_redis_unreachable", { use: "store" }), 1);
      assert.equal(value("cloister_rpc_requests_total", { method: "eth_call", outcome: "unreachable" }), 1);
      const asked = { enclave: "1", request: "attest" };
      assert.equal(value("cloister_enclave_requests_total", { ...asked, outcome: "busy" }), 1);
      assert.equal(value("cloister_enclave_seconds_count", asked), 1);
    }
    const other = await scrape(createMetrics());
    assert.equal(other.value("cloister_transactions_total", { event: "sent" }), 0);
    assert.ok(other.samples.some(({ labels }) => labels["event"] === "foreign-nonce"));
    // Nothing is said of a Redis that is not configured.
    assert.ok(!other.samples.some(({ name }) => name === "cloister_redis_unreachable"));
  });

  it("shows the standing of this moment, and leaves out what is not known", async () => {
    const metrics = createMetrics();
    let standing = STANDING;
    metrics.observe(() => standing);
    const first = await scrape(metrics);
    assert.deepEqual(
      ["queued", "submitted", "confirmed"].map((state) => first.value("cloister_tickets", { state })),
      [3, 2, 1],
    );
    assert.equal(first.value("cloister_oldest_waiting_ticket_seconds"), 7.5);
    assert.equal(first.value("cloister_gas_wallet_balance_ether"), 2.5);
    assert.equal(first.value("cloister_blocked", { by: "gas" }), 1);
    assert.equal(first.value("cloister_blocked", { by: "chain" }), 0);
    assert.equal(first.value("cloister_sequencer_last_turn_timestamp_seconds"), 2);
    assert.equal(first.value("cloister_indexer_synced_timestamp_seconds"), 3.5);
    assert.equal(first.value("cloister_indexed_block"), 99);
    assert.equal(first.value("cloister_index_fault"), 1);
    assert.equal(first.value("cloister_open_connections"), 9);
    assert.equal(first.value("cloister_open_streams"), 4);
    assert.equal(first.value("cloister_lease_held"), 1);
    assert.equal(first.value("cloister_calls_in_flight"), 3);
    assert.equal(first.value("cloister_warnings"), 2);
    assert.equal(first.value("cloister_data_folder_free_bytes"), 3e9);
    assert.equal(first.value("cloister_data_folder_size_bytes"), 8e9);
    assert.equal(first.value("cloister_attested_path_closed_until_timestamp_seconds"), 4_000);
    assert.equal(first.value("cloister_unsound"), 1);
    const rooms = ["0", "1"].flatMap((asset) =>
      ["attested", "proved"].map((way) => first.value("cloister_room_units", { asset, way })),
    );
    assert.deepEqual(rooms, [75, 25, 1e30, 0]);
    const claims = ["waiting", "due"].map((state) =>
      first.value("cloister_claimed_units", { asset: "0", state }),
    );
    assert.deepEqual(claims, [3, 1]);
    standing = {
      ...STANDING,
      queue: undefined,
      hasLease: false,
      blockedBy: undefined,
      lastTurnAt: undefined,
      callsInFlight: undefined,
      gasWalletBalance: undefined,
      brakes: undefined,
      disk: undefined,
      hasIndexFault: false,
    };
    const second = await scrape(metrics);
    assert.equal(second.value("cloister_blocked", { by: "gas" }), 0);
    assert.equal(second.value("cloister_index_fault"), 0);
    assert.ok(second.samples.some(({ name, value }) => name === "cloister_lease_held" && value === 0));
    const names = second.samples.map(({ name }) => name);
    // Another proxy submits: what it says may be added up with what the others say.
    assert.ok(!names.includes("cloister_tickets"));
    assert.ok(!names.includes("cloister_calls_in_flight"));
    assert.ok(!names.includes("cloister_oldest_waiting_ticket_seconds"));
    assert.ok(!names.includes("cloister_gas_wallet_balance_ether"));
    assert.ok(!names.includes("cloister_data_folder_free_bytes"));
    for (const name of ["cloister_room_units", "cloister_claimed_units", "cloister_unsound"])
      assert.ok(!names.includes(name), name);
    assert.ok(!names.includes("cloister_sequencer_last_turn_timestamp_seconds"));
    assert.ok(names.includes("cloister_indexed_block"));
  });

  it("keeps every label within its list, so that no caller and no node can fill the memory", async () => {
    const metrics = createMetrics();
    for (let i = 0; i < 500; i++) {
      metrics.request(undefined, 1_000 + i, 0);
      metrics.refused("RATE_LIMITED", `policy ${String(i)} "x"\n`);
      metrics.rpc(`eth_${String(i)}`, "answered", 0);
      metrics.enclave(i, "attest", "answered", 0);
    }
    const { samples } = await scrape(metrics);
    assert.ok(samples.length < 1_500, String(samples.length));
    for (const { name, labels } of samples) {
      const family = name.replace(/_(bucket|sum|count)$/, "");
      const spec = Object.entries(METRICS).find(([known]) => known === name || known === family)?.[1];
      assert.ok(spec !== undefined, name);
      const lists: Readonly<Record<string, readonly string[]>> = spec.labels;
      for (const [label, value] of Object.entries(labels)) {
        if (label === "le" && spec.type === "histogram") continue;
        assert.ok(value === "other" || lists[label]?.includes(value), `${name} ${label}=${value}`);
      }
    }
  });

  it("adds the process's own figures when it is asked to", async () => {
    const metrics = createMetrics();
    metrics.watchProcess();
    const { types } = await scrape(metrics);
    for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes"])
      assert.ok(types.has(name), name);
  });
});

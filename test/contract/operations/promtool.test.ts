// The alert rules, read and played by Prometheus' own tool: each fires on figures that call for it, and is silent on figures
// just beside them. Left out where promtool is not installed, which CI counts as a failure.
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promtool } from "../../support/promtool.ts";

const RULES = new URL("../../../scripts/operations/alerts.yml", import.meta.url).pathname;

/** Labels that a scrape gives; a rule that sums over them leaves some out. */
const AT = 'instance="a:1",job="pool"';
const [INSTANCE, JOB] = [{ instance: "a:1" }, { job: "pool" }];

type Series = Readonly<Record<string, string>>;
interface Case {
  /** Figures by the minute, in promtool's notation. */
  readonly on: Series;
  /** When it fires, with these labels besides its severity; not before `for` has passed. */
  readonly at: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Figures at which it is silent at the same time. */
  readonly notOn: Series;
}

const transactions = (event: string, values = "0x2 1x20"): Series => ({
  [`cloister_transactions_total{event="${event}",${AT}}`]: values,
});
const refusals = (code: string, values = "0+1x20"): Series => ({
  [`cloister_http_refusals_total{code="${code}",policy="none",${AT}}`]: values,
});
const bridged = (event: string): Series => ({
  [`cloister_bridge_events_total{event="${event}",${AT}}`]: "0x2 1x20",
});
const attested = (withinOne: string): Series => {
  const bucket = (le: string): string =>
    `cloister_enclave_seconds_bucket{request="attest",enclave="0",le="${le}",${AT}}`;
  return { [bucket("1")]: withinOne, [bucket("5")]: "0+10x20", [bucket("+Inf")]: "0+10x20" };
};
const answered = (withinOne: string): Series => {
  const bucket = (le: string): string => `cloister_http_answer_seconds_bucket{le="${le}",${AT}}`;
  return { [bucket("1")]: withinOne, [bucket("2.5")]: "0+100x20", [bucket("+Inf")]: "0+100x20" };
};
const disk = (free: string): Series => ({
  [`cloister_data_folder_free_bytes{${AT}}`]: free,
  [`cloister_data_folder_size_bytes{${AT}}`]: "100x20",
});
const gauge = (name: string, values: string): Series => ({ [`${name}{${AT}}`]: values });
const unreachable = (use: string): Series => ({ [`cloister_redis_unreachable{use="${use}",${AT}}`]: "1x20" });
const room = (values: string, way = "attested"): Series => ({
  [`cloister_room_units{asset="1",way="${way}",${AT}}`]: values,
});
const claims = (state: string, values: string): Series => ({
  [`cloister_claimed_units{asset="1",state="${state}",${AT}}`]: values,
});

const CASES: Readonly<Record<string, Case>> = {
  CloisterUnreachable: { on: {}, at: "3m", labels: {}, notOn: gauge("cloister_warnings", "0x20") },
  CloisterProxyDown: {
    on: { 'up{instance="b:1",job="pool"}': "0x20", ...gauge("cloister_warnings", "0x20") },
    at: "3m",
    labels: { instance: "b:1", ...JOB },
    // Neither what is up, nor another job's, nor the last one: that is CloisterUnreachable's.
    notOn: {
      'up{instance="b:1",job="pool"}': "1x20",
      'up{instance="c:1",job="node"}': "0x20",
      'up{instance="d:1",job="other"}': "0x20",
      ...gauge("cloister_warnings", "0x20"),
    },
  },
  CloisterForeignNonce: {
    on: transactions("foreign-nonce"),
    at: "5m",
    labels: { event: "foreign-nonce", ...INSTANCE, ...JOB },
    notOn: { ...transactions("foreign-nonce", "1x20"), ...transactions("mined", "0+9x20") },
  },
  CloisterNonceFilled: {
    on: transactions("filled"),
    at: "5m",
    labels: { event: "filled", ...INSTANCE, ...JOB },
    notOn: transactions("sent"),
  },
  CloisterVerifiersDisagree: {
    on: gauge("cloister_verifier_disagreements", "1x20"),
    at: "1m",
    labels: JOB,
    notOn: gauge("cloister_verifier_disagreements", "0x20"),
  },
  CloisterIndexFault: {
    on: gauge("cloister_index_fault", "1x20"),
    at: "1m",
    labels: INSTANCE,
    notOn: gauge("cloister_index_fault", "0x20"),
  },
  CloisterBlocked: {
    on: { [`cloister_blocked{by="gas",${AT}}`]: "1x20", [`cloister_blocked{by="chain",${AT}}`]: "0x20" },
    at: "3m",
    labels: { ...JOB, by: "gas" },
    notOn: { [`cloister_blocked{by="gas",${AT}}`]: "0 1 0 1 0 1" },
  },
  CloisterGasLow: {
    on: gauge("cloister_gas_wallet_balance_ether", "0.09x20"),
    at: "6m",
    labels: INSTANCE,
    notOn: gauge("cloister_gas_wallet_balance_ether", "0.1x20"),
  },
  CloisterTicketsWait: {
    on: gauge("cloister_oldest_waiting_ticket_seconds", "601x20"),
    at: "6m",
    labels: INSTANCE,
    notOn: gauge("cloister_oldest_waiting_ticket_seconds", "600x20"),
  },
  CloisterNobodySubmits: {
    on: {
      'cloister_lease_held{instance="a",job="pool"}': "0x20",
      'cloister_lease_held{instance="b",job="pool"}': "0x20",
    },
    at: "2m",
    labels: JOB,
    notOn: {
      'cloister_lease_held{instance="a",job="pool"}': "0x20",
      'cloister_lease_held{instance="b",job="pool"}': "1x20",
    },
  },
  CloisterLeaseMoves: {
    on: { [`cloister_lease_events_total{event="taken",${AT}}`]: "0+1x20" },
    at: "15m",
    labels: JOB,
    notOn: { [`cloister_lease_events_total{event="taken",${AT}}`]: "0+1x3 3x20" },
  },
  CloisterSequencerStands: {
    on: gauge("cloister_sequencer_last_turn_timestamp_seconds", "0x20"),
    at: "5m",
    labels: INSTANCE,
    notOn: gauge("cloister_sequencer_last_turn_timestamp_seconds", "0+60x20"),
  },
  CloisterIndexerStands: {
    on: gauge("cloister_indexer_synced_timestamp_seconds", "0x20"),
    at: "5m",
    labels: INSTANCE,
    notOn: gauge("cloister_indexer_synced_timestamp_seconds", "0+60x20"),
  },
  CloisterFeeCap: {
    on: transactions("at-fee-cap"),
    at: "5m",
    labels: { event: "at-fee-cap", ...INSTANCE, ...JOB },
    notOn: transactions("replaced"),
  },
  CloisterEnclaveSlow: {
    on: attested("0x20"),
    at: "12m",
    labels: { ...INSTANCE, enclave: "0" },
    notOn: attested("0+10x20"),
  },
  CloisterEnclaveBusyOrUnreachable: {
    on: { [`cloister_enclave_requests_total{enclave="0",request="attest",outcome="busy",${AT}}`]: "0+7x20" },
    at: "12m",
    labels: { ...INSTANCE, enclave: "0" },
    notOn: {
      [`cloister_enclave_requests_total{enclave="0",request="attest",outcome="busy",${AT}}`]: "0+5x20",
      [`cloister_enclave_requests_total{enclave="0",request="attest",outcome="answered",${AT}}`]: "0+600x20",
    },
  },
  CloisterNodeSilent: {
    on: { [`cloister_rpc_requests_total{method="eth_call",outcome="unreachable",${AT}}`]: "0+13x20" },
    at: "12m",
    labels: INSTANCE,
    notOn: {
      [`cloister_rpc_requests_total{method="eth_call",outcome="unreachable",${AT}}`]: "0+11x20",
      [`cloister_rpc_requests_total{method="eth_call",outcome="refused",${AT}}`]: "0+600x20",
    },
  },
  CloisterReorganisation: {
    on: { [`cloister_reorganised_blocks_total{${AT}}`]: "0x3 5x60" },
    at: "60m",
    labels: { ...INSTANCE, ...JOB },
    notOn: { [`cloister_reorganised_blocks_total{${AT}}`]: "0x3 2x60" },
  },
  CloisterFinalReorganisedOut: {
    on: { [`cloister_final_tickets_reorganised_out_total{${AT}}`]: "0x2 1x20" },
    at: "5m",
    labels: { ...INSTANCE, ...JOB },
    notOn: { [`cloister_final_tickets_reorganised_out_total{${AT}}`]: "1x20" },
  },
  CloisterUnsound: {
    on: gauge("cloister_unsound", "0x2 1x20"),
    at: "4m",
    labels: JOB,
    notOn: gauge("cloister_unsound", "0x20"),
  },
  CloisterAttestedPathClosed: {
    on: gauge("cloister_attested_path_closed_until_timestamp_seconds", "0x2 301x20"),
    at: "5m",
    labels: JOB,
    notOn: gauge("cloister_attested_path_closed_until_timestamp_seconds", "0x2 300x20"),
  },
  CloisterRoomNearlyUsedUp: {
    on: room("1000x3 99x20"),
    at: "11m",
    labels: { ...JOB, asset: "1" },
    notOn: { ...room("1000x3 100x20"), ...room("1000x3 0x20", "proved") },
  },
  CloisterClaimsWait: {
    on: claims("waiting", "1x80"),
    at: "61m",
    labels: { ...JOB, asset: "1" },
    notOn: claims("waiting", "1x50 0 1x80"),
  },
  CloisterClaimsUnpaid: {
    on: claims("due", "1x1500"),
    at: "1441m",
    labels: { ...JOB, asset: "1" },
    notOn: { ...claims("due", "1x1400 0 1x80"), ...claims("waiting", "9x1500") },
  },
  CloisterNobodyRelays: {
    on: gauge("cloister_relay_lease_held", "0x20"),
    at: "6m",
    labels: JOB,
    notOn: gauge("cloister_relay_lease_held", "0x4 1x16"),
  },
  CloisterBridgeStands: {
    on: gauge("cloister_bridge_oldest_waiting_seconds", "3601x20"),
    at: "6m",
    labels: JOB,
    notOn: gauge("cloister_bridge_oldest_waiting_seconds", "3600x20"),
  },
  CloisterBridgeVenueAway: {
    on: gauge("cloister_bridge_unreachable", "1x20"),
    at: "11m",
    labels: JOB,
    notOn: gauge("cloister_bridge_unreachable", "1x5 0x15"),
  },
  CloisterBridgeRefunds: {
    on: bridged("refund"),
    at: "5m",
    labels: JOB,
    notOn: { ...bridged("sweep"), ...bridged("arrival") },
  },
  CloisterBridgesFull: {
    on: refusals("BRIDGES_FULL", "0+1x40"),
    at: "20m",
    labels: INSTANCE,
    notOn: refusals("QUEUE_FULL", "0+1x40"),
  },
  CloisterAnswersSlow: {
    on: answered("0+98x20"),
    at: "12m",
    labels: INSTANCE,
    notOn: answered("0+99x20"),
  },
  CloisterDiskNearlyFull: {
    on: disk("9x20"),
    at: "6m",
    labels: INSTANCE,
    notOn: disk("10x20"),
  },
  CloisterOurFaults: {
    on: refusals("STORE_UNAVAILABLE"),
    at: "8m",
    labels: INSTANCE,
    notOn: refusals("NOT_FOUND"),
  },
  CloisterStoreUnreachable: {
    on: unreachable("store"),
    at: "2m",
    labels: INSTANCE,
    notOn: unreachable("limits"),
  },
  CloisterLimitsAlone: { on: unreachable("limits"), at: "6m", labels: INSTANCE, notOn: unreachable("store") },
  CloisterQueueFull: {
    on: refusals("QUEUE_FULL"),
    at: "5m",
    labels: INSTANCE,
    notOn: refusals("RATE_LIMITED"),
  },
  CloisterWarnings: {
    on: gauge("cloister_warnings", "1x20"),
    at: "11m",
    labels: INSTANCE,
    notOn: gauge("cloister_warnings", "1x5 0x15"),
  },
};

/** What waits for nothing is not silent at the beginning. */
const AT_ONCE = new Set(["CloisterIndexFault", "CloisterVerifiersDisagree"]);

/** One of promtool's tests, with what fires then, or nothing. */
function played(
  alert: string,
  severity: string,
  series: Series,
  at: string,
  labels: Case["labels"] | undefined,
): object {
  const expected =
    labels === undefined ? [] : [{ labels: nameOf({ ...labels, alertname: alert, severity }), value: 1 }];
  return {
    interval: "1m",
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      { expr: `ALERTS{alertname="${alert}",alertstate="firing"}`, eval_time: at, exp_samples: expected },
    ],
  };
}

function nameOf(labels: Readonly<Record<string, string>>): string {
  const all = Object.entries({ ...labels, alertstate: "firing" });
  return `ALERTS{${all.map(([name, value]) => `${name}="${value}"`).join(",")}}`;
}

describe("the alert rules under promtool", () => {
  let folder: string;
  before(async function () {
    if ((await promtool(["--version"])) === undefined) this.skip();
    folder = await mkdtemp(join(tmpdir(), "cloister-promtool-"));
  });
  after(() => folder && rm(folder, { recursive: true, force: true }));

  /** JSON is YAML. */
  async function test(tests: readonly object[]): Promise<{ code: number | null; said: string }> {
    const file = join(folder, "test.json");
    await writeFile(file, JSON.stringify({ rule_files: [RULES], evaluation_interval: "15s", tests }));
    return (await promtool(["test", "rules", file]))!;
  }
  const severities = async (): Promise<Map<string, string>> => {
    const text = await readFile(RULES, "utf8");
    const found = text.matchAll(/- alert: (\S+)\n[^]*?labels: \{ severity: (\S+) \}/g);
    return new Map([...found].map(([, alert = "", severity = ""]) => [alert, severity]));
  };

  it("are rules that Prometheus takes", async () => {
    const { code, said } = (await promtool(["check", "rules", RULES]))!;
    assert.equal(code, 0, said);
    assert.match(said, new RegExp(`SUCCESS: ${String(Object.keys(CASES).length)} rules found`));
  });

  it("fire when they should, each with its labels, and are silent beside that and before their time", async () => {
    const severity = await severities();
    assert.deepEqual(Object.keys(CASES), [...severity.keys()]);
    const tests = Object.entries(CASES).flatMap(([alert, { on, at, labels, notOn }]) => {
      const grave = severity.get(alert) ?? "";
      const early = AT_ONCE.has(alert) ? [] : [played(alert, grave, on, "0m", undefined)];
      return [...early, played(alert, grave, on, at, labels), played(alert, grave, notOn, at, undefined)];
    });
    const { code, said } = await test(tests);
    assert.equal(code, 0, said);
  });

  it("a test that expects something else fails, so that passing means something", async () => {
    const { on, at, labels, notOn } = CASES["CloisterGasLow"]!;
    for (const wrong of [
      played("CloisterGasLow", "warn", notOn, at, labels),
      played("CloisterGasLow", "warn", on, at, undefined),
      played("CloisterGasLow", "page", on, at, labels),
    ])
      assert.equal((await test([wrong])).code, 1);
  });
});

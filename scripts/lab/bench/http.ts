// Suite "http": what the service costs between the socket and the answer. One run on one machine with real parts, each
// in a process of its own: chain, enclave, proxy, the load. Ratios are taken from rounds in turn, so that a busy
// moment hits both sides.

import { execFileSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { startChild, type Child } from "./child.ts";
import { byTurns, figure, ratios, tell, type Figures, type SuiteOptions } from "./figures.ts";
import type { Load, LoadResult } from "./http/load.ts";
import { onStage, type Stage } from "./http/stage.ts";
import type { StreamsAnswer, StreamsAsk } from "./http/streams.ts";

const CONNECTIONS = 32;
const ROUND_SECS = 2;
const PAGES = 16;
const PAGE_NODES = 65_536;
const IDLE_STREAMS = 10_000;
/** What the first streams cost once for all: code that is compiled, and a heap that grows for young objects. */
const FIRST_STREAMS = 200;
const WARM_STREAMS = 2_000;
/** Developers' sessions hold this many streams each. */
const STREAMS_PER_SESSION = 100;
const BURST_READERS = 200;
const BURST_TRANSFERS = 200;
/** Requests under way at the enclave: enough that its verifiers never wait. */
const PROOFS_UNDER_WAY = 32;
const PROOF_SECS = 10;

type Generator = Child<Load, LoadResult>;

export async function benchHttp({ runs }: SuiteOptions): Promise<Figures> {
  const load = await startChild<Load, LoadResult>("http/load.ts");
  try {
    // Of its own, because streams by the thousand leave a process in which requests are slower (test/bench/http.md).
    const requests = await onStage((stage) => benchRequests(stage, load, runs));
    const others = await onStage(async (stage) => ({
      // First, because a heap that has grown for something else would hide what streams take.
      ...(await benchIdleStreams(stage)),
      ...(await benchBurst(stage)),
      ...(await benchBesideProofs(stage, load)),
      ...(await benchTree(load, runs)),
    }));
    return { ...requests, ...others };
  } finally {
    await load.stop();
  }
}

/** Authenticated, limited, logged GET /merkle/root against Koa and its router alone. */
async function benchRequests(stage: Stage, load: Generator, runs: number): Promise<Figures> {
  const bare = await startChild<object, number>("http/bare.ts");
  const headers = { "X-API-Key": stage.apiKey };
  const answer = await fetch(`http://127.0.0.1:${String(stage.port)}/merkle/root`, { headers });
  const barePort = await bare.ask((await answer.json()) as object);
  const common = {
    method: "GET",
    paths: ["/merkle/root"],
    headers,
    connections: CONNECTIONS,
    seconds: ROUND_SECS,
    status: 200,
    isAwake: true,
  } as const;
  const rate = (port: number) => async (): Promise<number> => perSecond(await load.ask({ ...common, port }));
  const { ours, theirs } = await byTurns(runs, { ours: rate(stage.port), theirs: rate(barePort) });
  await bare.stop();
  const ratio = figure(ratios(ours, theirs), "x");
  return tell("GET /merkle/root with an API key and limits, beside bare Koa", {
    root_per_s: figure(ours, "1/s"),
    bare_koa_per_s: figure(theirs, "1/s"),
    root_vs_bare_koa: ratio,
    // The same under the name that aims have.
    get_vs_bare_koa: ratio,
  });
}

/** One caller that asks calmly while the enclave's verifiers have all the proofs that they can take. */
async function benchBesideProofs(stage: Stage, load: Generator): Promise<Figures> {
  const proofs = await startChild<Load, LoadResult>("http/load.ts");
  const body = await stage.provenDeposit();
  const headers = { "X-API-Key": stage.apiKey };
  const proving: Load = {
    port: stage.port,
    method: "POST",
    paths: ["/attest/deposit-shield"],
    headers,
    body,
    connections: PROOFS_UNDER_WAY,
    seconds: PROOF_SECS,
    status: 200,
  };
  const asking: Load = {
    ...{ port: stage.port, method: "GET", paths: ["/merkle/root"], headers, status: 200 },
    connections: 1,
    seconds: PROOF_SECS - 2,
  };
  const calm = await load.ask({ ...asking, seconds: 2 });
  const [verified, asked] = await Promise.all([
    proofs.ask(proving),
    delay(1_000).then(() => load.ask(asking)),
  ]);
  await proofs.stop();
  refuseRefusals(asked);
  return tell("GET /merkle/root while proofs are verified", {
    attest_through_proxy_per_s: figure(perSecond(verified), "1/s"),
    get_p50_ms_under_proof_load: figure(asked.p50, "ms"),
    get_p99_ms_under_proof_load: figure(asked.p99, "ms"),
    get_p99_idle_ms: figure(calm.p99, "ms"),
  });
}

/** Memory of idle streams, and the way of one event to all of them. */
async function benchIdleStreams(stage: Stage): Promise<Figures> {
  const idle = await startChild<StreamsAsk, StreamsAnswer>("http/streams.ts");
  const query = await queries(stage, IDLE_STREAMS, "idle");
  const openUpTo = async (from: number, to: number): Promise<number> => {
    await idle.ask({ type: "open", port: stage.port, query: query.slice(from, to) });
    await delay(5_000);
    return residentBytes(stage.proxyPid);
  };
  const first = await openUpTo(0, FIRST_STREAMS);
  const warm = await openUpTo(FIRST_STREAMS, WARM_STREAMS);
  const all = await openUpTo(WARM_STREAMS, IDLE_STREAMS);
  const further = (all - warm) / (IDLE_STREAMS - WARM_STREAMS);
  const each = (all - first) / (IDLE_STREAMS - FIRST_STREAMS);
  const spreads: number[] = [];
  let told = 0;
  for (let round = 0; round < 3; round++) {
    await idle.ask({ type: "mark" });
    const events = await stage.transfers(1);
    const result = await idle.ask({ type: "await", events, withinMs: 20_000 });
    spreads.push(result.lastAt - result.firstAt);
    told = result.complete;
  }
  await idle.stop();
  return tell(`${String(IDLE_STREAMS)} idle streams`, {
    sse_kib_per_idle_stream: figure(each / 1024, "KiB"),
    further_stream_kib: figure(further / 1024, "KiB"),
    streams_told: figure(told, "readers"),
    sse_fanout_10k_ms: figure(spreads, "ms"),
  });
}

async function benchBurst(stage: Stage): Promise<Figures> {
  const readers = await startChild<StreamsAsk, StreamsAnswer>("http/streams.ts");
  const query = await queries(stage, BURST_READERS, "burst");
  await readers.ask({ type: "open", port: stage.port, query });
  await readers.ask({ type: "mark" });
  const events = await stage.transfers(BURST_TRANSFERS);
  const { complete, firstAt, lastAt } = await readers.ask({ type: "await", events, withinMs: 60_000 });
  await readers.stop();
  return tell(`a burst of events to ${String(BURST_READERS)} readers`, {
    burst_events: figure(events, "events"),
    burst_readers_lost: figure(BURST_READERS - complete, "readers"),
    burst_ms: figure(lastAt - firstAt, "ms"),
  });
}

/** A whole level of 2^20 nodes as a wallet takes it, page by page. */
async function benchTree(load: Generator, runs: number): Promise<Figures> {
  const service = await startChild<object, number>("http/tree-service.ts");
  const port = await service.ask({});
  const page = async (): Promise<number> => {
    const result = await load.ask({
      port,
      method: "GET",
      paths: Array.from({ length: PAGES }, (_, i) => `/merkle/tree?from=${String(i * PAGE_NODES)}`),
      headers: { Accept: "application/octet-stream" },
      connections: 4,
      seconds: 1,
      status: 200,
    });
    refuseRefusals(result);
    return result.bytes / 1e6 / result.seconds;
  };
  const { rates } = await byTurns(runs, { rates: page });
  await service.stop();
  return tell("/merkle/tree, 2^20 leaves packed", { tree_mb_per_s: figure(rates, "MB/s") });
}

async function queries(stage: Stage, count: number, name: string): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; made.length < count; i++) {
    const session = await stage.session(`${name}-${String(i)}`);
    for (let j = 0; j < STREAMS_PER_SESSION && made.length < count; j++) made.push(`session=${session}`);
  }
  return made;
}

function perSecond(result: LoadResult): number {
  refuseRefusals(result);
  return result.answers / result.seconds;
}

function refuseRefusals({ refused, answers }: LoadResult): void {
  if (refused > 0) throw new Error(`${String(refused)} of ${String(answers)} requests were refused`);
}

function residentBytes(pid: number): number {
  return 1024 * Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" }));
}

// Suite "http": what the service costs between the socket and the answer. One run on one machine with real parts, each
// in a process of its own: chain, enclave, proxy, the load. Ratios are taken from rounds in turn, so that a busy
// moment hits both sides.

import { execFileSync } from "node:child_process";
import { figure, spreadOf, type Figures, type SuiteOptions } from "./figures.ts";
import { startChild } from "./http/child.ts";
import type { Load, LoadResult } from "./http/load.ts";
import { openStage, type Stage } from "./http/stage.ts";
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

type Generator = ReturnType<typeof startChild<Load, LoadResult>>;

export async function benchHttp({ runs }: SuiteOptions): Promise<Figures> {
  const load = startChild<Load, LoadResult>("load.ts");
  try {
    // Of its own, because streams by the thousand leave a process in which requests are slower (test/bench/http.md).
    const requests = await onFreshService((stage) => benchRequests(stage, load, runs));
    const others = await onFreshService(async (stage) => ({
      // First, because a heap that has grown for something else would hide what streams take.
      ...(await benchStreams(stage)),
      ...(await benchBesideProofs(stage, load)),
      ...(await benchTree(load, runs)),
    }));
    return { ...requests, ...others };
  } finally {
    await load.stop();
  }
}

async function onFreshService(measure: (stage: Stage) => Promise<Figures>): Promise<Figures> {
  console.log("starting the service …");
  const stage = await openStage();
  try {
    return await measure(stage);
  } finally {
    await stage.stop();
  }
}

/** Authenticated, limited, logged GET /merkle/root against Koa and its router alone. */
async function benchRequests(stage: Stage, load: Generator, runs: number): Promise<Figures> {
  const bare = startChild<object, number>("bare.ts");
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
  } as const;
  const ours: number[] = [];
  const theirs: number[] = [];
  // The first round warms up.
  for (let round = 0; round <= runs; round++) {
    const mine = perSecond(await load.ask({ ...common, port: stage.port }));
    const other = perSecond(await load.ask({ ...common, port: barePort }));
    if (round > 0) {
      ours.push(mine);
      theirs.push(other);
    }
  }
  await bare.stop();
  const ratio = spreadOf(ours.map((value, i) => value / (theirs[i] ?? NaN)));
  const [root, bareRoot] = [spreadOf(ours), spreadOf(theirs)];
  console.log(
    [
      "GET /merkle/root with an API key and limits",
      `  ours       ${root.median.toFixed(0)} a second (${root.least.toFixed(0)} to ${root.most.toFixed(0)})`,
      `  bare Koa   ${bareRoot.median.toFixed(0)} a second (${bareRoot.least.toFixed(0)} to ${bareRoot.most.toFixed(0)})`,
      `  ratio      ${ratio.median.toFixed(2)} (${ratio.least.toFixed(2)} to ${ratio.most.toFixed(2)})`,
    ].join("\n"),
  );
  return {
    root_per_s: figure(root.median, "1/s"),
    bare_koa_per_s: figure(bareRoot.median, "1/s"),
    root_vs_bare_koa: figure(ratio.median, "x"),
  };
}

/** One caller that asks calmly while the enclave's verifiers have all the proofs that they can take. */
async function benchBesideProofs(stage: Stage, load: Generator): Promise<Figures> {
  const proofs = startChild<Load, LoadResult>("load.ts");
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
  const rate = perSecond(verified);
  refuseRefusals(asked);
  console.log(
    [
      `GET /merkle/root while ${rate.toFixed(0)} proofs a second are verified`,
      `  half within ${asked.p50.toFixed(1)} ms, 99 % within ${asked.p99.toFixed(1)} ms, all within ${asked.most.toFixed(1)} ms`,
      `  on an idle service 99 % within ${calm.p99.toFixed(1)} ms`,
    ].join("\n"),
  );
  return {
    attest_through_proxy_per_s: figure(rate, "1/s"),
    get_p50_beside_proofs_ms: figure(asked.p50, "ms"),
    get_p99_beside_proofs_ms: figure(asked.p99, "ms"),
    get_p99_idle_ms: figure(calm.p99, "ms"),
  };
}

/** Memory of idle streams, the way of one event to all of them, and a burst. */
async function benchStreams(stage: Stage): Promise<Figures> {
  return { ...(await benchIdleStreams(stage)), ...(await benchBurst(stage)) };
}

async function benchIdleStreams(stage: Stage): Promise<Figures> {
  const idle = startChild<StreamsAsk, StreamsAnswer>("streams.ts");
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
  const fanOut = spreadOf(spreads);
  console.log(
    [
      `${String(IDLE_STREAMS)} idle streams (${String(told)} had every event)`,
      `  memory     ${(each / 1024).toFixed(1)} KiB each, ${(further / 1024).toFixed(1)} KiB each further one after ${String(WARM_STREAMS)}`,
      `  one event  ${fanOut.median.toFixed(0)} ms from the first reader to the last (${fanOut.least.toFixed(0)} to ${fanOut.most.toFixed(0)})`,
    ].join("\n"),
  );
  return {
    stream_kib: figure(each / 1024, "KiB"),
    further_stream_kib: figure(further / 1024, "KiB"),
    streams_told: figure(told, "readers"),
    event_to_all_ms: figure(fanOut.median, "ms"),
  };
}

async function benchBurst(stage: Stage): Promise<Figures> {
  const readers = startChild<StreamsAsk, StreamsAnswer>("streams.ts");
  const query = await queries(stage, BURST_READERS, "burst");
  await readers.ask({ type: "open", port: stage.port, query });
  await readers.ask({ type: "mark" });
  const events = await stage.transfers(BURST_TRANSFERS);
  const { complete, firstAt, lastAt } = await readers.ask({ type: "await", events, withinMs: 60_000 });
  await readers.stop();
  const lost = BURST_READERS - complete;
  console.log(
    `a burst of ${String(events)} events to ${String(BURST_READERS)} readers: ${String(lost)} lost, ` +
      `all told ${(lastAt - firstAt).toFixed(0)} ms after the first was`,
  );
  return {
    burst_events: figure(events, "events"),
    burst_readers_lost: figure(lost, "readers"),
    burst_ms: figure(lastAt - firstAt, "ms"),
  };
}

/** A whole level of 2^20 nodes as a wallet takes it, page by page. */
async function benchTree(load: Generator, runs: number): Promise<Figures> {
  const service = startChild<object, number>("tree-service.ts");
  const port = await service.ask({});
  const rates: number[] = [];
  for (let round = 0; round <= runs; round++) {
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
    if (round > 0) rates.push(result.bytes / 1e6 / result.seconds);
  }
  await service.stop();
  const rate = spreadOf(rates);
  console.log(
    `/merkle/tree, 2^20 leaves packed: ${rate.median.toFixed(0)} MB a second (${rate.least.toFixed(0)} to ${rate.most.toFixed(0)})`,
  );
  return { tree_packed_mb_per_s: figure(rate.median, "MB/s") };
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

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

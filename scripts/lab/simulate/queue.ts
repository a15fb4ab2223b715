/**
 * How long tickets wait, by discrete events: arrivals at random moments (Poisson, from a seed), each through its proxy
 * and an enclave, then into the one line; the submitter makes calls of what waits, blocks take them. The same seed gives
 * the same answer. Times are taken from the figures as they are, without spread: what varies is when tickets
 * come. That the proxy which submits has less time for its requests is in `capacity.ts` and not here.
 */
import {
  callGas,
  callGasLimit,
  proxySecs,
  redisPerSecond,
  turnCpuSecs,
  turnSecs,
  type Capacity,
} from "./capacity.ts";
import { KIND_FIGURES, type SimulatedKind, type Values } from "./measured.ts";

export interface Run {
  /** Until the ticket says confirmed: mined and noticed. */
  readonly confirmP50Secs: number;
  readonly confirmP99Secs: number;
  /** Confirmed tickets a second, from the first arrival to the last confirmation. */
  readonly ticketsPerSecond: number;
  /** Of all that came, with QUEUE_FULL. */
  readonly refusedShare: number;
  readonly membersPerCall: number;
  readonly gasPerTicket: number;
  readonly redisPerSecond: number;
  /** 1 is all they can. */
  readonly enclaveLoad: number;
  /** Of the proxy that submits. */
  readonly proxyLoad: number;
}

export interface RunOptions {
  readonly hosts: number;
  readonly kind: SimulatedKind;
  readonly capacity: Capacity;
  /** Tickets that come, a second and in all. */
  readonly arrivalsPerSecond: number;
  readonly arrivals: number;
  readonly seed: number;
}

/** The first tickets find an empty service; they are not counted. */
const WARM_UP = 0.1;

export function simulate(values: Values, options: RunOptions): Run {
  const { hosts, capacity, seed } = options;
  const random = randomNumbers(seed);
  const attested = attestedAt(values, options, random);
  const line = createLine(values, options.kind, capacity.members);
  for (const ticket of attested) line.take(ticket);
  line.finish();

  const confirmed = attested.filter(({ confirmedAt }) => confirmedAt !== undefined);
  const waits = confirmed
    .slice(Math.floor(confirmed.length * WARM_UP))
    .map(({ cameAt, confirmedAt = NaN }) => confirmedAt - cameAt)
    .sort((a, b) => a - b);
  const begin = Math.min(...attested.slice(0, 1).map(({ cameAt }) => cameAt));
  const secs = Math.max(line.lastConfirmedAt - begin, Number.MIN_VALUE);
  const rate = confirmed.length / secs;
  return {
    confirmP50Secs: quantile(waits, 0.5),
    confirmP99Secs: quantile(waits, 0.99),
    ticketsPerSecond: rate,
    refusedShare: 1 - confirmed.length / attested.length,
    membersPerCall: confirmed.length / line.calls,
    gasPerTicket: line.gas / confirmed.length,
    redisPerSecond: redisPerSecond(values, hosts, rate, line.calls / secs),
    enclaveLoad: rate / (hosts * values.enclaves * values.verifications),
    proxyLoad:
      (rate * proxySecs(values)) / hosts +
      (line.calls / secs) * turnCpuSecs(values, confirmed.length / line.calls),
  };
}

interface Ticket {
  readonly cameAt: number;
  readonly attestedAt: number;
  confirmedAt?: number;
}

/** In order of acceptance, which is that of attestation. */
function attestedAt(
  values: Values,
  { hosts, arrivals, arrivalsPerSecond }: RunOptions,
  random: () => number,
): Ticket[] {
  const proxyFree = new Float64Array(hosts);
  const enclaveFree = new Float64Array(hosts * values.enclaves);
  const tickets: Ticket[] = [];
  let now = 0;
  for (let i = 0; i < arrivals; i++) {
    now -= Math.log(1 - random()) / arrivalsPerSecond;
    const host = Math.floor(random() * hosts);
    const enclave = host * values.enclaves + Math.floor(random() * values.enclaves);
    const atEnclave = Math.max(now, proxyFree[host]!) + proxySecs(values);
    proxyFree[host] = atEnclave;
    const begun = Math.max(atEnclave, enclaveFree[enclave]!);
    enclaveFree[enclave] = begun + Math.max(1 / values.verifications, values.sign / 1_000);
    tickets.push({ cameAt: now, attestedAt: begun + values.attest / 1_000 });
  }
  return tickets.sort((a, b) => a.attestedAt - b.attestedAt);
}

interface Line {
  /** In order of attestation. */
  take(ticket: Ticket): void;
  finish(): void;
  readonly calls: number;
  readonly gas: number;
  readonly lastConfirmedAt: number;
}

function createLine(values: Values, kind: SimulatedKind, fullCall: number): Line {
  const waiting: Ticket[] = [];
  const gas = KIND_FIGURES[kind];
  /** When the calls under way are noticed, in order. */
  const inFlight: number[] = [];
  /** Calls that were sent, for how many tickets are not executed yet. */
  const sent: { readonly minedAt: number; readonly members: number }[] = [];
  let firstUnmined = 0;
  let notExecuted = 0;
  let free = 0;
  let block = { number: 0, gas: 0 };
  const seen = { calls: 0, gas: 0, lastConfirmedAt: 0 };

  /** The moment at which the next call could begin, as far as is known. */
  function nextCallAt(): number {
    const slot =
      inFlight.length < values["in-flight"] ? 0 : (inFlight[inFlight.length - values["in-flight"]] ?? 0);
    return Math.max(free, slot, waiting[0]?.attestedAt ?? Infinity);
  }

  function callAt(start: number): void {
    let size = 0;
    while (size < fullCall && (waiting[size]?.attestedAt ?? Infinity) <= start) size++;
    const members = waiting.splice(0, size);
    free = start + turnSecs(values, kind, size);
    const limit = callGasLimit(gas, size);
    // Nonces are mined in order, so no call is in an earlier block than the one before it.
    const first = Math.max(Math.ceil(free / values["block-time"]), block.number);
    const fits = first > block.number || block.gas + limit <= values["block-gas"];
    const number = fits ? first : first + 1;
    block = { number, gas: number > block.number ? limit : block.gas + limit };
    const minedAt = number * values["block-time"];
    const noticedAt = minedAt + values.poll / 1_000;
    for (const ticket of members) ticket.confirmedAt = noticedAt;
    inFlight.push(noticedAt);
    while (inFlight.length > values["in-flight"]) inFlight.shift();
    sent.push({ minedAt, members: size });
    seen.calls += 1;
    seen.gas += callGas(gas, size);
    seen.lastConfirmedAt = noticedAt;
  }

  function callsBefore(moment: number): void {
    for (let start = nextCallAt(); start < moment; start = nextCallAt()) callAt(start);
  }

  return {
    take(ticket) {
      callsBefore(ticket.attestedAt);
      for (let call = sent[firstUnmined]; call !== undefined && call.minedAt <= ticket.attestedAt;) {
        notExecuted -= call.members;
        call = sent[++firstUnmined];
      }
      if (notExecuted >= values.waiting) return;
      notExecuted += 1;
      waiting.push(ticket);
    },
    finish: () => callsBefore(Infinity),
    get calls() {
      return seen.calls;
    },
    get gas() {
      return seen.gas;
    },
    get lastConfirmedAt() {
      return seen.lastConfirmedAt;
    },
  };
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? NaN;
}

/** Numbers in [0, 1) from a seed: mulberry32, by Tommy Ettinger. Good for arrivals, not for secrets. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Looks at everything from outside when a scenario of bridges has settled: chains, a restored wallet, the stream, and what the store kept. */
import { PATIENCE_MS } from "../../../../scripts/base/poll.ts";
import { bridgePins, openStackWallet } from "../../../../scripts/stack/stack-wallet.ts";
import { createClient, createProver, memoryStorage, type Wallet } from "../../../../shared/client/index.ts";
import { until } from "../../../support/until.ts";
import type { Follower } from "../follower.ts";
import { balanceOf, readChain, readTotals, type AllSeen } from "./chain-seen.ts";
import { altBalance, altSupply, readAlt } from "./alt-seen.ts";
import { readBooks, readExchange } from "./exchange-seen.ts";
import type { Asked, Books, ChainSeen, ChainTotals, Observations } from "./observations.ts";
import type { Stage } from "./stage.ts";
import { OWN_CHAINS, type BridgeFacts, type ChainName, type PlaceName } from "./world.ts";

export interface Looking {
  readonly stage: Stage;
  readonly baseUrl: string;
  readonly follower: Follower;
  readonly asked: readonly Asked[];
  readonly excuses: Observations["excuses"];
  readonly orphaned: ReadonlySet<string>;
  readonly looksAtFees: boolean;
  readonly before: Before;
  readonly pendingLeaves: number;
  /** Ends every proxy. */
  stop(): Promise<void>;
}

export interface Before {
  readonly supply: Readonly<Record<PlaceName, bigint>>;
  readonly pool: bigint;
  readonly exchange: Books | undefined;
}

export async function readAll({ facts, parties, extras }: Stage): Promise<AllSeen> {
  const { alt, exchange } = extras();
  const of = (name: ChainName): Promise<ChainSeen> =>
    readChain(parties.chains[name], facts.chains[name], facts);
  const [home, other] = await Promise.all(OWN_CHAINS.map(of));
  return {
    ...{ home: home!, other: other! },
    exchange: exchange ? await of("exchange") : NOTHING,
    alt: alt ? await readAlt(parties.alt, facts.alt) : NOTHING,
  };
}
const NOTHING: ChainSeen = {
  ...{ transfers: [], wrong: [], burns: [], mints: [], acts: [], credits: [], named: [] },
};

export async function readBefore(stage: Stage): Promise<Before> {
  const { home, other, exchange, alt } = await totalsOf(stage, []);
  const supply = {
    ...{ home: home.supply, other: other.supply },
    ...{ exchange: exchange.supply, alt: alt.supply },
  };
  const books = stage.extras().exchange ? await readBooks(stage.parties.exchange) : undefined;
  return { supply, pool: await poolOf(stage), exchange: books };
}

const poolOf = ({ parties, facts }: Stage): Promise<bigint> =>
  balanceOf(parties.chains.home, facts.chains.home, facts.entry.pool);

export async function totalsOf(
  stage: Stage,
  asked: readonly Asked[],
): Promise<Record<PlaceName, ChainTotals>> {
  const { parties, facts } = stage;
  const sources = (on: "other" | "alt"): string[] =>
    asked.flatMap((one) => (one.direction === "in" && one.source.on === on ? [one.source.address] : []));
  const of = (name: ChainName, vaults: readonly string[]): Promise<ChainTotals> =>
    readTotals(parties.chains[name], facts.chains[name], vaults);
  return {
    home: await of(
      "home",
      asked.map(({ home }) => home.address),
    ),
    other: await of("other", sources("other")),
    exchange: stage.extras().exchange ? await of("exchange", []) : NO_TOTALS,
    alt: await altTotals(stage, sources("alt")),
  };
}

const NO_TOTALS: ChainTotals = { supply: 0n, vaults: new Map(), nonces: { mined: 0, pending: 0 } };

async function altTotals({ parties: { alt }, facts, extras }: Stage, accounts: readonly string[]) {
  const vaults = new Map<string, bigint>();
  for (const account of accounts) vaults.set(account, await altBalance(alt, account));
  const supply = extras().alt ? await altSupply(alt, facts.alt) : 0n;
  return { supply, vaults, nonces: { mined: 0, pending: 0 } };
}

export async function observe(looking: Looking): Promise<Observations> {
  const { stage, baseUrl, follower, asked, excuses, orphaned, before, pendingLeaves } = looking;
  const wallet = await restored(stage.facts, baseUrl, stage.extras().alt, asked);
  const serviceTotal = looking.looksAtFees
    ? await totalOf(stage.facts, baseUrl, stage.facts.serviceSeed)
    : undefined;
  // What was told last is on its way to the reader.
  await until("the stream to say what the status says", () => saysAll(follower, asked), 3_000).catch(
    () => undefined,
  );
  const streamed = follower.bridges.map(({ bridge_id: id, state }) => ({ id, state }));
  const exchange = before.exchange && (await readExchange(stage, before.exchange));
  const [chains, after, pool] = [await readAll(stage), await totalsOf(stage, asked), await poolOf(stage)];
  await follower.close();
  await looking.stop();
  const { outgoing } = await stage.store.read(stage.dataDir(), []);
  return {
    ...{
      excuses,
      asked,
      chains,
      exchange,
      after,
      orphaned,
      wallet,
      serviceTotal,
      streamed,
      outgoing,
      pendingLeaves,
    },
    ...{ before: before.supply, pool: { before: before.pool, after: pool } },
  };
}

function saysAll({ bridges }: Follower, asked: readonly Asked[]): boolean {
  return asked.every(({ status }) => {
    const last = bridges.findLast(({ bridge_id }) => bridge_id === status?.id);
    return status === undefined || last?.state === status.state;
  });
}

/** From its key alone: it finds its addresses by asking, and what came to each by its own reading. */
async function restored(
  facts: BridgeFacts,
  baseUrl: string,
  hasAlt: boolean,
  asked: readonly Asked[],
): Promise<Observations["wallet"]> {
  const wallet = await openWallet(facts, baseUrl, facts.seed, hasAlt);
  await wallet.sync({ timeoutMs: PATIENCE_MS });
  const chainId = facts.chains.other.chainId;
  const outs = asked.filter((one) => one.direction === "out");
  // Whom he has paid its owner knows; each more takes a question about each number.
  const accounts = new Set(outs.flatMap(({ account }) => account?.address ?? []));
  const isPaidThere = outs.some(({ on }) => on === "other");
  const entries = await wallet.bridges.find({
    recipients: isPaidThere ? facts.recipients.map((address) => ({ chainId, address })) : [],
    ...{ accounts: [...accounts], timeoutMs: PATIENCE_MS },
  });
  const { total, unverified } = wallet.balance();
  return {
    found: new Map(
      entries.flatMap(({ bridgeId, inWallet }) => (bridgeId === undefined ? [] : [[bridgeId, inWallet]])),
    ),
    total: total - unverified,
  };
}

async function totalOf(facts: BridgeFacts, baseUrl: string, seed: Uint8Array): Promise<bigint> {
  const wallet = await openWallet(facts, baseUrl, seed);
  await wallet.sync({ timeoutMs: PATIENCE_MS });
  const { total, unverified } = wallet.balance();
  return total - unverified;
}

/** Without the other blockchain it need not ask about addresses there. */
function openWallet(facts: BridgeFacts, baseUrl: string, seed: Uint8Array, hasAlt = false): Promise<Wallet> {
  const { altchain, ...rest } = bridgePins(facts.entry.usdc, facts.entry.bridges!);
  const pins = hasAlt && altchain !== undefined ? { ...rest, altchain } : rest;
  return openStackWallet(facts.entry, {
    ...{ seed, storage: memoryStorage(), prover: NO_PROVER, bridges: pins },
    client: createClient({ baseUrl, credential: { apiKey: facts.apiKey } }),
  });
}

/** These wallets look and do not pay. */
const NO_PROVER = createProver({
  source: () => Promise.reject(new Error("nobody proves here")),
  manifest: { circuits: {} },
});

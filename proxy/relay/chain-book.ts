/**
 * The book of all open requests: followers, ledgers and attestations behind the one interface that routes and workers ask.
 * It holds nothing that is not on a chain, and a new one made from the same chains says the same.
 */
import { isDeepStrictEqual } from "node:util";
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { Logger } from "../base/logging.ts";
import type { Book, Facts } from "./requests.ts";
import { progressFrom, NOTHING_SEEN } from "./fold/progress.ts";
import { toFacts, type ChainWords } from "./fold/to-facts.ts";
import { spellAlt } from "./chains/alt-keys.ts";
import { createAltFollower, type FollowedAltchain } from "./chains/alt-follower.ts";
import { createAttestations, type Attested } from "./chains/attestations.ts";
import type { AttesterClient } from "./chains/attester-client.ts";
import { createChainFollower, type FollowedChain } from "./chains/chain-follower.ts";
import { addressIn, likeness, type Key } from "./chains/events.ts";
import type { BridgeFacts, Burn } from "./fold/facts.ts";
import { createLedger, type Block } from "./chains/ledger.ts";
import { createAnswersByState } from "./answers-by-state.ts";
import { requestFacts, watchedFrom, type EvmView, type Views } from "./fold/request-facts.ts";
import { createWatched } from "./chains/watched.ts";

export interface BookChain extends FollowedChain {
  readonly confirmations: number;
  /** Of one block, about. */
  readonly blockSecs: number;
}

export interface BookOptions {
  readonly chains: readonly BookChain[];
  readonly altchain?: FollowedAltchain & Pick<BookChain, "confirmations" | "blockSecs">;
  readonly attester?: { readonly client: AttesterClient; readonly pollIntervalMs: number };
  readonly timeoutSecs: number;
  readonly bridgingSecs: number;
}

/** What the worker says of a request beside the facts. */
export interface Remark {
  readonly waits?: Facts["waits"];
  readonly sign?: Facts["sign"];
}

export type WatchingBook = ReturnType<typeof createBook>;

export function createBook(options: BookOptions, logger: Logger) {
  const { chains, altchain, attester, timeoutSecs, bridgingSecs } = options;
  const watched = createWatched();
  const records = new Map<string, BridgeRecord>();
  const remarks = new Map<string, Remark>();
  const listeners = new Set<(bridgeId: string) => void>();

  const tell = (bridgeId: string): void => {
    for (const listener of listeners) listener(bridgeId);
  };
  let changes = 0;
  const tellOf = (keys: Iterable<Key>): void => {
    changes += 1;
    const ids = new Set<string>();
    for (const key of keys) for (const id of watched.ownersOf(key)) ids.add(id);
    for (const id of ids) tell(id);
  };

  const followed = chains.map((one) => {
    const ledger = createLedger({
      confirmations: one.confirmations,
      isKept: (key, event) => watched.keeps(one.where, key, event),
      onChange: tellOf,
    });
    const view: EvmView = {
      ...{ name: one.name, chainId: one.chain.chainId, isHome: one.where === "home", ledger },
      spell: addressIn,
      domain: one.contracts.cctp?.domain,
    };
    return { view, follower: createChainFollower(one, watched, ledger, logger) };
  });
  const alt = altchain && followAlt(altchain);
  const views: Views = { evm: followed.map(({ view }) => view), alt: alt?.view };
  const followers = [
    ...followed.map(({ follower }) => follower),
    ...(alt === undefined ? [] : [alt.follower]),
  ];
  const words: readonly ChainWords[] = [
    ...chains.map(({ name, chain, confirmations, blockSecs }) => ({
      ...{ name, chainId: chain.chainId, confirmations, blockSecs },
    })),
    ...(altchain === undefined ? [] : [{ ...altchain, chainId: undefined }]),
  ];

  function followAlt({ confirmations, ...chain }: NonNullable<typeof altchain>) {
    const ledger = createLedger({
      ...{ confirmations, onChange: tellOf },
      isKept: (key, event) => watched.keeps("alt", key, event),
    });
    const view = { name: chain.name, mint: chain.token.mint, ledger, spell: spellAlt, domain: chain.domain };
    return { view, follower: createAltFollower(chain, watched, ledger, logger) };
  }

  const byState = createAnswersByState(() =>
    [changes, ...followers.map(({ ledger }) => ledger.tip()?.hash ?? "")].join(" "),
  );

  watched.onEnd((key) => {
    changes += 1;
    for (const { ledger } of followers) ledger.drop(key);
  });

  const headOf = (chain: string): Block | undefined =>
    followers.find(({ name }) => name === chain)?.ledger.tip();

  const attestations =
    attester &&
    createAttestations(attester.client, logger, {
      pollIntervalMs: attester.pollIntervalMs,
      wanted: () => active().flatMap((id) => unfinished(factsOf(id))),
      headOf: (chain) => headOf(chain)?.number,
      onChange: ({ burner, recipient }) => tellOf([burner, recipient]),
    });

  function factsOf(bridgeId: string): BridgeFacts | undefined {
    const record = records.get(bridgeId);
    return record && byState.of(`facts ${bridgeId}`, () => requestFacts(record, views));
  }

  /** Requests that hold money or have some under way. */
  function active(): readonly string[] {
    const touched = new Set<string>();
    for (const { ledger } of followers)
      for (const key of ledger.keys()) for (const id of watched.ownersOf(key)) touched.add(id);
    return [...touched].filter((id) => {
      const facts = factsOf(id);
      return facts !== undefined && (holdsMoney(facts) || undelivered(facts).length > 0);
    });
  }

  /**
   * Burns that are alike are told apart by their nonces alone, and which of them is delivered may be known only by
   * those. The first of them that is not delivered has the first attestation whose nonce is not used.
   */
  function attestationOf(burn: Burn): Attested | undefined {
    if (burn.delivery !== undefined) return attestations?.of(burn);
    const name = likeness(burn);
    return byState.of(`attested ${name}`, () => attestedAlike(burn, name)).get(burn.id);
  }

  /** Of all that are like this one, and are not delivered. */
  function attestedAlike(burn: Burn, name: string): ReadonlyMap<string, Attested | undefined> {
    const owners = new Set([burn.burner, burn.recipient].flatMap((key) => watched.ownersOf(key)));
    const like = [...owners]
      .flatMap((id) => burnsOf(factsOf(id)))
      .filter((other) => likeness(other) === name);
    const alike = [...new Map(like.map((one) => [one.id, one])).values()];
    const waiting = alike.filter(({ delivery }) => delivery === undefined);
    const used = new Set(alike.map(({ delivery }) => delivery?.nonce));
    const found = alike.map((one) => attestations?.of(one));
    const unused =
      alike.length < 2
        ? found
        : found.filter((one) => one === undefined || !used.has(one.nonce) || one.nonce === undefined);
    return new Map(waiting.map(({ id }, at) => [id, unused[at]]));
  }

  const book: Book = {
    progressOf(record) {
      const facts = factsOf(record.id);
      const now = Math.floor(Date.now() / 1000);
      const settings = { timeoutSecs, bridgingSecs, now };
      if (facts === undefined) return progressFrom(record, NOTHING_SEEN, settings);
      return progressFrom(record, toFacts(record, facts, besideOf(record.id)), settings);
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    isComplete,
    heads: () =>
      Object.fromEntries(
        followers.flatMap(({ name, ledger }) => {
          const height = ledger.finalHeight();
          return height === undefined ? [] : [[name, height]];
        }),
      ),
    unreachable: () => [
      ...followers.filter((one) => one.isAway()).map(({ name }) => name),
      ...(attestations?.isAway() === true ? ["attester"] : []),
    ],
  };

  function besideOf(bridgeId: string) {
    const remark = remarks.get(bridgeId);
    return {
      ...{ chains: words, attestationOf },
      ...{ waits: remark?.waits ?? {}, sign: remark?.sign },
      isComplete: isComplete(bridgeId),
    };
  }

  function isComplete(bridgeId: string): boolean {
    return (
      records.has(bridgeId) &&
      followers.every((one) => one.syncedAt() !== undefined && !one.isAway() && !one.isWaiting(bridgeId))
    );
  }

  return {
    ...book,
    /** Begins to watch a request, or takes up its newer record. */
    watch(record: BridgeRecord): void {
      const isKnown = records.has(record.id);
      records.set(record.id, record);
      changes += 1;
      if (isKnown) tell(record.id);
      else watched.add(watchedFrom(record));
    },
    unwatch(bridgeId: string): void {
      records.delete(bridgeId);
      changes += 1;
      remarks.delete(bridgeId);
      watched.remove(bridgeId);
    },
    recordOf: (bridgeId: string): BridgeRecord | undefined => records.get(bridgeId),
    records: (): Iterable<BridgeRecord> => records.values(),
    factsOf,
    active,
    attestationOf,
    /** The newest block that is looked at; undefined while its node is away. */
    tipOf(chain: string): Block | undefined {
      const follower = followers.find(({ name }) => name === chain);
      return follower === undefined || follower.isAway() ? undefined : follower.ledger.tip();
    },
    /** What it leaves out stays as it was said. */
    remark(bridgeId: string, remark: Remark): void {
      const before = remarks.get(bridgeId) ?? {};
      const after = { ...before, ...remark };
      if (isDeepStrictEqual(before, after) || !records.has(bridgeId)) return;
      remarks.set(bridgeId, after);
      tell(bridgeId);
    },
    start(): void {
      for (const one of followers) one.start();
      attestations?.start();
    },
    async stop(): Promise<void> {
      await Promise.all(
        [...followers, ...(attestations === undefined ? [] : [attestations])].map((one) => one.stop()),
      );
    },
    /** One pass over every chain, then over the attester. */
    async sync(): Promise<void> {
      await Promise.all(followers.map((one) => one.sync()));
      await attestations?.sync();
    },
  };
}

function burnsOf(facts: BridgeFacts | undefined): readonly Burn[] {
  if (facts === undefined) return [];
  const { home, sources, alt, incoming } = facts;
  return [...home.burns, ...sources.flatMap(({ burns }) => burns), ...(alt?.burns ?? []), ...incoming];
}

const undelivered = (facts: BridgeFacts): readonly Burn[] =>
  burnsOf(facts).filter(({ delivery }) => delivery === undefined);

/** With those that are like one which is not delivered. */
function unfinished(facts: BridgeFacts | undefined): readonly Burn[] {
  const burns = burnsOf(facts);
  const open = new Set(burns.flatMap((burn) => (burn.delivery === undefined ? [likeness(burn)] : [])));
  return burns.filter((burn) => open.has(likeness(burn)));
}

function holdsMoney({ home, sources, alt }: BridgeFacts): boolean {
  return [home, ...sources, ...(alt === undefined ? [] : [alt])].some(
    ({ balance, others }) => balance > 0n || others.length > 0,
  );
}

/**
 * The book of all open requests: followers, ledgers and attestations behind the one interface that routes and workers ask.
 * It holds nothing that is not on a chain, and a new one made from the same chains says the same.
 */
import { isDeepStrictEqual } from "node:util";
import type { BridgeRecord } from "../base/store/bridge-records.ts";
import type { Logger } from "../base/logging.ts";
import type { Book, Remark } from "./requests.ts";
import { progressFrom } from "./fold/progress.ts";
import { spellAlt } from "./chains/alt-keys.ts";
import { AltFollower, type FollowedAltchain } from "./chains/alt-follower.ts";
import { Attestations, type Attested } from "./chains/attestations.ts";
import type { AttesterClient } from "./chains/attester-client.ts";
import { ChainFollower, type FollowedChain } from "./chains/chain-follower.ts";
import { addressIn, likeness, type Key } from "./chains/events.ts";
import { burnsOf, vaultsOf, type BridgeFacts, type Burn } from "./fold/facts.ts";
import { Ledger, type Block } from "./chains/ledger.ts";
import { createAnswersByState, type AnswersByState } from "./answers-by-state.ts";
import { worthAsking } from "./desk/is-worthwhile.ts";
import { requestFacts, watchedFrom, type EvmView, type Views } from "./fold/request-facts.ts";
import { Watched } from "./chains/watched.ts";

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

export class WatchingBook implements Book {
  readonly #options: BookOptions;
  readonly #logger: Logger;
  readonly #watched = new Watched();
  readonly #records = new Map<string, BridgeRecord>();
  readonly #remarks = new Map<string, Remark>();
  readonly #listeners = new Set<(bridgeId: string) => void>();
  #changes = 0;
  readonly #views: Views;
  readonly #followers: readonly (ChainFollower | AltFollower)[];
  readonly #byState: AnswersByState;
  readonly #attestations: Attestations | undefined;

  constructor(options: BookOptions, logger: Logger) {
    this.#options = options;
    this.#logger = logger;
    const followed = options.chains.map((one) => {
      const ledger = new Ledger({
        confirmations: one.confirmations,
        isKept: (key, event) => this.#watched.keeps(one.where, key, event),
        onChange: (keys) => this.#tellOf(keys),
      });
      const view: EvmView = {
        ...{ name: one.name, chainId: one.chain.chainId, isHome: one.where === "home", ledger },
        ...{ confirmations: one.confirmations, blockSecs: one.blockSecs },
        spell: addressIn,
        domain: one.contracts.cctp?.domain,
      };
      return { view, follower: new ChainFollower(one, this.#watched, ledger, this.#logger) };
    });
    const alt = options.altchain && this.#followAlt(options.altchain);
    this.#views = { evm: followed.map(({ view }) => view), alt: alt?.view };
    this.#followers = [
      ...followed.map(({ follower }) => follower),
      ...(alt === undefined ? [] : [alt.follower]),
    ];
    this.#byState = createAnswersByState(() =>
      [this.#changes, ...this.#followers.map(({ ledger }) => ledger.tip()?.hash ?? "")].join(" "),
    );
    this.#watched.onEnd((key) => {
      this.#changes += 1;
      for (const { ledger } of this.#followers) ledger.drop(key);
    });
    this.#attestations =
      options.attester &&
      new Attestations(options.attester.client, logger, {
        pollIntervalMs: options.attester.pollIntervalMs,
        wanted: () => this.active().flatMap((id) => unfinished(this.factsOf(id))),
        headOf: (chain) => followed.find(({ view }) => view.name === chain)?.follower.contractBlock(),
        onChange: ({ burner, recipient }) => this.#tellOf([burner, recipient]),
      });
  }

  progressOf(record: BridgeRecord) {
    const { timeoutSecs, bridgingSecs } = this.#options;
    const seen = {
      ...{ facts: this.factsOf(record.id), remark: this.#remarks.get(record.id) ?? {} },
      ...{ attestationOf: (burn: Burn) => this.attestationOf(burn), isComplete: this.isComplete(record.id) },
    };
    return progressFrom(record, seen, { timeoutSecs, bridgingSecs, now: Math.floor(Date.now() / 1000) });
  }

  onChange(listener: (bridgeId: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  isComplete(bridgeId: string): boolean {
    return (
      this.#records.has(bridgeId) &&
      this.#followers.every(
        (one) => one.passing.syncedAt() !== undefined && !one.passing.isAway() && !one.isWaiting(bridgeId),
      )
    );
  }

  heads() {
    return Object.fromEntries(
      this.#followers.flatMap(({ name, ledger }) => {
        const height = ledger.finalHeight();
        return height === undefined ? [] : [[name, height]];
      }),
    );
  }

  unreachable() {
    return [
      ...this.#followers.filter(({ passing }) => passing.isAway()).map(({ name }) => name),
      ...(this.#attestations?.isAway() === true ? ["attester"] : []),
    ];
  }

  /** Begins to watch a request, or takes up its newer record. */
  watch(record: BridgeRecord): void {
    const isKnown = this.#records.has(record.id);
    this.#records.set(record.id, record);
    this.#changes += 1;
    if (isKnown) this.#tell(record.id);
    else this.#watched.add(watchedFrom(record));
  }

  unwatch(bridgeId: string): void {
    this.#records.delete(bridgeId);
    this.#changes += 1;
    this.#remarks.delete(bridgeId);
    this.#watched.remove(bridgeId);
  }

  recordOf(bridgeId: string): BridgeRecord | undefined {
    return this.#records.get(bridgeId);
  }

  records(): Iterable<BridgeRecord> {
    return this.#records.values();
  }

  factsOf(bridgeId: string): BridgeFacts | undefined {
    const record = this.#records.get(bridgeId);
    return record && this.#byState.of(`facts ${bridgeId}`, () => requestFacts(record, this.#views));
  }

  /** Requests that hold money or have some under way. */
  active(): readonly string[] {
    const touched = new Set<string>();
    for (const { ledger } of this.#followers)
      for (const key of ledger.keys()) for (const id of this.#watched.ownersOf(key)) touched.add(id);
    return [...touched].filter((id) => {
      const facts = this.factsOf(id);
      return facts !== undefined && (holdsMoney(facts) || undelivered(facts).length > 0);
    });
  }

  /**
   * Burns that are alike are told apart by their nonces alone, and which of them is delivered may be known only by
   * those. The first of them that is not delivered has the first attestation whose nonce is not used.
   */
  attestationOf(burn: Burn): Attested | undefined {
    if (burn.delivery !== undefined) return this.#attestations?.of(burn);
    const name = likeness(burn);
    return this.#byState.of(`attested ${name}`, () => this.#attestedAlike(burn, name)).get(burn.id);
  }

  /** The newest block that is looked at; undefined while its node is away. */
  tipOf(chain: string): Block | undefined {
    const follower = this.#followers.find(({ name }) => name === chain);
    return follower === undefined || follower.passing.isAway() ? undefined : follower.ledger.tip();
  }

  /** What it leaves out stays as it was said. */
  remark(bridgeId: string, remark: Remark): void {
    const before = this.#remarks.get(bridgeId) ?? {};
    const after = { ...before, ...remark };
    if (isDeepStrictEqual(before, after) || !this.#records.has(bridgeId)) return;
    this.#remarks.set(bridgeId, after);
    this.#tell(bridgeId);
  }

  start(): void {
    for (const { passing } of this.#followers) passing.start();
    this.#attestations?.passing.start();
  }

  async stop(): Promise<void> {
    await Promise.all(
      [...this.#followers, ...(this.#attestations === undefined ? [] : [this.#attestations])].map(
        ({ passing }) => passing.stop(),
      ),
    );
  }

  /** One pass over every chain, then over the attester. */
  async sync(): Promise<void> {
    await Promise.all(this.#followers.map(({ passing }) => passing.sync()));
    await this.#attestations?.passing.sync();
  }

  #tell(bridgeId: string): void {
    for (const listener of this.#listeners) listener(bridgeId);
  }

  #tellOf(keys: Iterable<Key>): void {
    this.#changes += 1;
    const ids = new Set<string>();
    for (const key of keys) for (const id of this.#watched.ownersOf(key)) ids.add(id);
    for (const id of ids) this.#tell(id);
  }

  #followAlt({ confirmations, ...chain }: NonNullable<BookOptions["altchain"]>) {
    const ledger = new Ledger({
      ...{ confirmations, onChange: (keys) => this.#tellOf(keys) },
      isKept: (key, event) => this.#watched.keeps("alt", key, event),
    });
    const { name, domain, blockSecs, token } = chain;
    const view = { name, domain, blockSecs, confirmations, mint: token.mint, ledger, spell: spellAlt };
    return { view, follower: new AltFollower(chain, this.#watched, ledger, this.#logger) };
  }

  /** Of all that are like this one, and are not delivered. */
  #attestedAlike(burn: Burn, name: string): ReadonlyMap<string, Attested | undefined> {
    const owners = new Set([burn.burner, burn.recipient].flatMap((key) => this.#watched.ownersOf(key)));
    const like = [...owners]
      .flatMap((id) => allBurns(this.factsOf(id)))
      .filter((other) => likeness(other) === name);
    const alike = [...new Map(like.map((one) => [one.id, one])).values()];
    const waiting = alike.filter(({ delivery }) => delivery === undefined);
    const used = new Set(alike.map(({ delivery }) => delivery?.nonce));
    const found = alike.map((one) => this.#attestations?.of(one));
    const unused =
      alike.length < 2
        ? found
        : found.filter((one) => one === undefined || !used.has(one.nonce) || one.nonce === undefined);
    return new Map(waiting.map(({ id }, at) => [id, unused[at]]));
  }
}

const allBurns = (facts: BridgeFacts | undefined): readonly Burn[] =>
  facts === undefined ? [] : burnsOf(facts);

const undelivered = (facts: BridgeFacts): readonly Burn[] =>
  burnsOf(facts).filter(({ delivery }) => delivery === undefined);

/** Worth asking for and not delivered, with the delivered ones that are like one of these: only nonces tell them apart. */
function unfinished(facts: BridgeFacts | undefined): readonly Burn[] {
  if (facts === undefined) return [];
  const asked = [...worthAsking(facts)].filter(({ delivery }) => delivery === undefined);
  const open = new Set(asked.map(likeness));
  return [...asked, ...burnsOf(facts).filter((one) => one.delivery !== undefined && open.has(likeness(one)))];
}

const holdsMoney = (facts: BridgeFacts): boolean => vaultsOf(facts).some(({ balance }) => balance > 0n);

/**
 * Money in bridge addresses, with nothing but the key, the pins and nodes of the chains: every address of the key with
 * money in it is found, and every step is done that remains. Nothing is remembered between two calls; what was done is
 * read from the chains, so a run that was stopped is simply started again.
 */
import type { Address } from "../../protocol/brands.ts";
import { paddedAddress, TIMEOUT_SECS } from "../../protocol/host/forwarders.ts";
import { hasCode } from "../base/errors.ts";
import { requireAddress } from "../base/pins.ts";
import { Attestations } from "./recovery/attestations.ts";
import { burnsAt, burnsOfExits, cctpPlace, type BurnFound, type CctpPlace } from "./recovery/burns.ts";
import { Deliveries } from "./recovery/deliveries.ts";
import { EvmChain, type Attempt, type Manner } from "./recovery/evm-chain.ts";
import { ForeignChain } from "./recovery/foreign-chain.ts";
import { FORWARDERS, Holdings, MESSENGER, type Held } from "./recovery/held.ts";
import type {
  FoundMoney,
  Recovery,
  RecoveryAct,
  RecoveryChain,
  RecoveryOptions,
  RecoveryStep,
  RecoveryWait,
  StrayMoney,
} from "./recovery/options.ts";
import { OtherTokens } from "./recovery/other-tokens.ts";
import { Places, vaultsOf, type Place } from "./recovery/places.ts";

/**
 * One round: what there is, every step that can be done now, and what only time helps with. To be called again while a step
 * was done: what one moves, another moves on. That nothing is left is certain once a second round says so, too: what is on
 * its way, and how far addresses were used, logs alone tell, and a node may have left some out.
 */
export async function recoverBridges(options: RecoveryOptions): Promise<Recovery> {
  const round = await Round.open(options);
  return round.play();
}

class Round {
  readonly #options: RecoveryOptions;
  readonly #places: Places;
  readonly #home: EvmChain;
  readonly #others: ReadonlyMap<number, EvmChain>;
  readonly #foreign: ForeignChain | undefined;
  readonly #attestations: Attestations | undefined;
  readonly #holdings: Holdings;
  readonly #otherTokens: OtherTokens;
  readonly #strays: StrayMoney[] = [];
  readonly #found: FoundMoney[] = [];
  readonly #steps: RecoveryStep[] = [];
  readonly #waits: RecoveryWait[];

  /** A chain whose node does not answer is left out and said: what lies on the others moves without it. */
  static async open(options: RecoveryOptions): Promise<Round> {
    const waits: RecoveryWait[] = [];
    const answers = async (where: string, ask: () => Promise<unknown>): Promise<boolean> => {
      try {
        await ask();
        return true;
      } catch (error) {
        if (!hasCode(error, "NODE_UNREACHABLE")) throw error;
        waits.push({ what: `${where}: ${(error as Error).message}`, until: undefined });
        return false;
      }
    };
    const chains: RecoveryChain[] = [];
    for (const chain of options.chains)
      if (await answers(`chain ${chain.chainId}`, () => new EvmChain(chain, mannerOf(options)).head()))
        chains.push(chain);
    const { altchain, ...rest } = options;
    const isThere =
      altchain !== undefined &&
      (await answers("the other blockchain", () => new ForeignChain(options, altchain).latest()));
    return new Round({ ...rest, chains, ...(isThere ? { altchain } : {}) }, waits);
  }

  private constructor(options: RecoveryOptions, waits: RecoveryWait[]) {
    const { home, chains, altchain, attestations, fetch, signal } = options;
    const common = mannerOf(options);
    this.#waits = waits;
    this.#options = options;
    this.#places = new Places(options);
    this.#home = new EvmChain(home, common);
    this.#others = new Map(chains.map((chain) => [chain.chainId, new EvmChain(chain, common)]));
    this.#holdings = new Holdings(this.#home, this.#others);
    this.#otherTokens = new OtherTokens(options, this.#home, this.#others);
    this.#foreign = altchain && new ForeignChain(options, altchain);
    this.#attestations =
      attestations === undefined ? undefined : new Attestations(attestations, fetch, signal);
  }

  async play(): Promise<Recovery> {
    const cctp = await this.#cctpPlaces();
    const [leaving, coming]: [BurnFound[][], BurnFound[][]] = [[], []];
    for (const place of cctp.values())
      if (place.chain === this.#home) leaving.push(await burnsOfExits(place, this.#factory));
      else if (this.#attestations !== undefined) coming.push(await burnsAt(place));
    this.#places.learn(leaving.flat());
    const burns = [...leaving, ...coming].flat();
    const places = await this.#places.used((some) => this.#usedOf(some, burns));
    // From the far end to the near one: what a step moves is then seen by the next.
    for (const place of places) if (place.deposit !== undefined) await this.#burnForeign(place);
    for (const place of places) for (const held of this.#holdings.elsewhere(place)) await this.#move(held);
    for (const place of places) await this.#move(this.#holdings.atHome(place));
    for (const place of places) await this.#sendBackOthers(place);
    // Last: it needs the attester, and nothing else does.
    await this.#deliver(places, cctp, burns);
    return { found: this.#found, steps: this.#steps, waitingFor: this.#waits, strays: this.#strays };
  }

  // ---------------------------------------------------------------- where there is something

  async #usedOf(places: readonly Place[], burns: readonly BurnFound[]): Promise<ReadonlySet<Place>> {
    const used = new Set<Place>();
    if (places.length === 0) return used;
    const recipients = new Set(burns.map(({ recipient }) => recipient));
    const traces = await this.#traces(places);
    for (const stray of await this.#straysAt(places)) {
      this.#strays.push(stray);
      traces.add(stray.address);
    }
    await Promise.all(
      places.map(async (place) => {
        const { at } = place;
        const isKnown = vaultsOf(place).some((vault) => traces.has(vault));
        const isPaid = isKnown || recipients.has(paddedAddress(at.address)) || (await this.#hasMoney(place));
        if (isPaid) used.add(place);
      }),
    );
    return used;
  }

  /** Vaults that the contract's own events name, on every chain: one question for many addresses. */
  async #traces(places: readonly Place[]): Promise<Set<string>> {
    const vaults = places.flatMap(vaultsOf);
    const topics = [null, vaults.map(paddedAddress)];
    const found = new Set<string>();
    for (const chain of [this.#home, ...this.#others.values()])
      for (const log of await chain.logs(this.#places.factory.address, topics))
        found.add(`0x${log.topics[1]!.slice(26)}`);
    return found;
  }

  async #straysAt(places: readonly Place[]): Promise<readonly StrayMoney[]> {
    return this.#options.searchTokens === true ? this.#otherTokens.strays(places) : [];
  }

  async #hasMoney(place: Place): Promise<boolean> {
    const elsewhere = this.#holdings.elsewhere(place);
    for (const { chain, token, vault } of [this.#holdings.atHome(place), ...elsewhere])
      if ((await chain.balance(token, vault)) > 0n) return true;
    if ((await this.#otherTokens.of(place)).length > 0) return true;
    if (this.#foreign === undefined || place.deposit === undefined) return false;
    const { deposit } = place;
    return (
      (await this.#foreign.balance(deposit)) > 0n || (await this.#foreign.transactions(deposit)).length > 0
    );
  }

  // ---------------------------------------------------------------- steps

  async #move(held: Held): Promise<void> {
    const { chain, token, vault, minimum, act, call, messenger, kind, place } = held;
    const amount = await chain.balance(token, vault);
    if (amount === 0n) return;
    const { index } = place.record;
    this.#found.push({ kind, index, chainId: chain.chainId, address: vault, amount });
    if (amount >= minimum) {
      const taken = messenger && (await chain.read(MESSENGER, messenger, "getMinFeeAmount", [amount]));
      const [name, args] = call((taken?.[0] as bigint | undefined) ?? 0n);
      const attempt = await chain.attempt(FORWARDERS, this.#factory, name, args);
      this.#tell(held, act, amount, attempt);
      if (attempt.state !== "refused") return;
    }
    await this.#goBack(held, amount);
  }

  /** At once, and without a clock: nobody else waits for them. */
  async #sendBackOthers(place: Place): Promise<void> {
    for (const { chain, vault, token, amount, call } of await this.#otherTokens.of(place)) {
      const { chainId } = chain;
      const { index } = place.record;
      this.#found.push({ kind: "other", index, chainId, address: vault, amount, token });
      const attempt = await chain.attempt(FORWARDERS, this.#factory, call[0], call[1]);
      const { at } = place;
      const paid = at.direction === "in" ? { refundAddress: at.terms.refund } : {};
      this.#say({ what: "refundOther", chainId, address: vault, amount, token, ...attempt, ...paid });
      if (attempt.state === "refused") this.#wait(`${amount} of token ${token} at ${vault}`, undefined);
    }
  }

  async #goBack(held: Held, amount: bigint): Promise<void> {
    const { chain, token, vault, minimum, touch, back, kind, place } = held;
    const [act, name, args] = back;
    const clock = await chain.read(FORWARDERS, this.#factory, "since", [vault, token]);
    const [startedAt, then] = clock === undefined ? [0n, 0n] : (clock as readonly [bigint, bigint]);
    const isRunning = startedAt > 0n && (then >= minimum || amount < minimum);
    const allowedFrom = Number(startedAt) + TIMEOUT_SECS;
    const { timestamp } = await chain.head();
    // Less than the minimum the refund address itself may take at once.
    const isOwn = amount < minimum && kind !== "out";
    if (isOwn || (isRunning && timestamp >= allowedFrom)) {
      const attempt = await chain.attempt(FORWARDERS, this.#factory, name, args);
      if (attempt.state !== "refused" || (isRunning && timestamp >= allowedFrom)) {
        this.#tell(held, act, amount, attempt);
        return;
      }
    }
    if (isRunning) {
      this.#wait(`${act} of ${amount} at ${vault} on chain ${chain.chainId}`, allowedFrom);
      return;
    }
    const attempt = await chain.attempt(FORWARDERS, this.#factory, touch[0], touch[1]);
    this.#tell(held, "touch", amount, attempt);
    if (attempt.state === "refused")
      this.#wait(`address ${place.record.index}: ${attempt.reason}`, undefined);
  }

  async #burnForeign(place: Place): Promise<void> {
    const { altchain } = this.#options.bridges;
    const { deposit, record, at } = place;
    if (this.#foreign === undefined || altchain === undefined || deposit === undefined) return;
    const amount = await this.#foreign.balance(deposit);
    if (amount === 0n) return;
    const address = deposit.tokenAccount;
    this.#found.push({ kind: "altchain", index: record.index, chainId: null, address, amount });
    if (amount < record.minimum) {
      this.#wait(`${amount} at ${address}, which is below the minimum of ${record.minimum}`, undefined);
      return;
    }
    const attempt = await this.#foreign.burn(deposit, amount, {
      ...{ tokenAccount: address, mint: altchain.mint, decimals: altchain.decimals, domain: altchain.domain },
      ...{ recipient: paddedAddress(at.address), minimum: record.minimum, feeCeiling: record.feeCeiling },
    });
    this.#say({ what: "burn", chainId: null, address, amount, ...attempt });
  }

  /** What it brings goes on at once. */
  async #deliver(
    places: readonly Place[],
    cctp: ReadonlyMap<number, CctpPlace>,
    burns: readonly BurnFound[],
  ): Promise<void> {
    if (this.#attestations === undefined) return;
    const deliveries = new Deliveries(this.#attestations, cctp, this.#foreign);
    for (const held of places.map((place) => this.#holdings.atHome(place))) {
      let hasBrought = false;
      for await (const delivery of deliveries.of(held, burns)) {
        if (delivery.state === "waiting") {
          this.#wait(`delivery of ${delivery.transaction}: ${delivery.reason}`, undefined);
          continue;
        }
        const { from, recipient, amount, attempt } = delivery;
        this.#say({ what: "deliver", chainId: from, address: recipient, amount, ...attempt });
        hasBrought ||= attempt.state === "done" && recipient === paddedAddress(held.vault);
      }
      if (hasBrought) await this.#move(held);
    }
  }

  async #cctpPlaces(): Promise<Map<number, CctpPlace>> {
    const { bridges, home, chains } = this.#options;
    const { perpvenue, chains: exits } = bridges.exits;
    const named: [EvmChain, string][] = [];
    for (const exit of [perpvenue, ...exits])
      if (exit !== undefined) named.push([this.#home, exit.messenger]);
    if (home.messenger !== undefined) named.push([this.#home, home.messenger]);
    for (const lane of bridges.lanes) {
      const chain = this.#others.get(lane.chainId);
      if (chain !== undefined) named.push([chain, lane.messenger]);
    }
    for (const { chainId, messenger } of chains)
      if (messenger !== undefined) named.push([this.#others.get(chainId)!, messenger]);
    const found = new Map<number, CctpPlace>();
    for (const [chain, text] of named) {
      const place = await cctpPlace(chain, requireAddress(text, "messenger"));
      if (place !== undefined) found.set(place.domain, place);
    }
    return found;
  }

  // ---------------------------------------------------------------- what is said

  get #factory(): Address {
    return this.#places.factory.address;
  }

  #tell({ chain, vault, place: { at } }: Held, what: RecoveryAct, amount: bigint, attempt: Attempt): void {
    const paid = what === "refund" && at.direction === "in" ? { refundAddress: at.terms.refund } : {};
    this.#say({ what, chainId: chain.chainId, address: vault, amount, ...attempt, ...paid });
  }

  #say(step: RecoveryStep): void {
    const { what, state, transaction } = step;
    this.#steps.push(step);
    this.#options.report?.(step);
    // The next round finds it.
    if (state === "done" && ["forward", "flush"].includes(what) && this.#attestations !== undefined)
      this.#wait(`delivery of ${transaction}: it was burned just now`, undefined);
  }

  #wait(what: string, until: number | undefined): void {
    this.#waits.push({ what, until });
  }
}

function mannerOf({ dryRun, signal, fetch }: RecoveryOptions): Manner {
  return { isDry: dryRun === true, signal, fetch };
}

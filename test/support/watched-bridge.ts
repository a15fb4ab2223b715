// A book of two real chains with the real forwarders and CCTP's stand-in: what tests of the watching start from.
import { createChain, type Chain } from "../../proxy/base/chain/provider.ts";
import { WatchingBook, type BookChain } from "../../proxy/relay/chain-book.ts";
import { keyOf } from "../../proxy/relay/chains/events.ts";
import { createLogger } from "../../proxy/base/logging.ts";
import type { BridgeRecord } from "../../proxy/base/store/bridge-records.ts";
import type { AttesterClient } from "../../proxy/relay/chains/attester-client.ts";
import {
  inAddress,
  outAddress,
  sourceAddress,
  type InTerms,
  type OutTerms,
  type SourceTerms,
} from "../../shared/protocol/host/forwarders.ts";
import { paddedAddress } from "../../shared/protocol/host/forwarders.ts";
import { freshAddress } from "../contract/pool/world.ts";
import { link, Second, Stage, type Place } from "../contract/forwarders/stage.ts";
import { startBentNode, type Bend } from "./bent-node.ts";

/** Calls by chain, counted past all caches: there are none. */
export type Counts = Record<string, number>;
/** Addresses of nodes other than the chains' own. */
export type Nodes = Readonly<Partial<Record<"home" | "second", string>>>;

export class WatchedBridge {
  readonly stage: Stage;
  readonly second: Second;
  readonly counts: Counts = { home: 0, second: 0 };
  readonly books: WatchingBook[] = [];
  readonly #ends: (() => Promise<void>)[] = [];
  #made = 0;

  private constructor(stage: Stage, second: Second) {
    this.stage = stage;
    this.second = second;
  }

  static async start(): Promise<WatchedBridge> {
    const stage = await Stage.openAlone();
    const second = await Second.open();
    await link(stage.home, second.place);
    return new WatchedBridge(stage, second);
  }

  async stop(): Promise<void> {
    await Promise.all(this.books.map((book) => book.stop()));
    await Promise.all(this.#ends.map((end) => end()));
    await this.second.stop();
    await this.stage.stop();
  }

  chain(name: "home" | "second", url: string): Chain {
    const id = name === "home" ? 31_337n : 31_338n;
    const onAsked = (): void => void (this.counts[name]! += 1);
    return createChain(url, id, { onAsked });
  }

  /** In front of a chain's node until the end; a book is told its address. */
  async bent(place: Place, bend: Bend): Promise<string> {
    const node = await startBentNode(place.provider._getConnection().url, bend);
    this.#ends.push(() => node.close());
    return node.url;
  }

  /** Not following by itself: tests say when. */
  book(client?: AttesterClient, confirmations = 2, nodes: Nodes = {}): WatchingBook {
    const [home, second] = [this.stage.home, this.second.place];
    const chainOf = (name: "home" | "second", place: Place): Chain =>
      this.chain(name, nodes[name] ?? place.provider._getConnection().url);
    const senders = {
      [home.cctp.domain]: keyOf(home.cctp.messenger),
      [second.cctp.domain]: keyOf(second.cctp.messenger),
    };
    const chains = (
      [
        ["home", home],
        ["second", second],
      ] as const
    ).map(([name, place]): BookChain => ({
      ...{ name, where: name === "home" ? "home" : "source", chain: chainOf(name, place) },
      ...{ confirmations, blockSecs: 1, pollIntervalMs: 20 },
      contracts: {
        tokens: [place.token.toLowerCase()],
        forwarders: place.factory.address.toLowerCase(),
        cctp: {
          ...{ domain: place.cctp.domain, senders },
          messenger: place.cctp.messenger.toLowerCase(),
          transmitter: place.cctp.transmitter.toLowerCase(),
        },
      },
    }));
    const book = new WatchingBook(
      {
        ...{ chains, timeoutSecs: 86_400, bridgingSecs: 60 },
        ...(client === undefined ? {} : { attester: { client, pollIntervalMs: 20 } }),
      },
      createLogger("silent"),
    );
    this.books.push(book);
    return book;
  }

  async heads(): Promise<{ readonly home: number; readonly second: number }> {
    const [home, second] = [this.stage.home, this.second.place].map(({ provider }) =>
      provider.getBlockNumber(),
    );
    return { home: await home!, second: await second! };
  }

  /** A request as the service stores it, with its address on both chains. */
  async madeIn(changes: Partial<InTerms> = {}): Promise<MadeIn> {
    const terms = this.stage.inTerms(changes);
    const address = inAddress(terms, this.stage.home.factory);
    const source: SourceTerms = {
      recipient: paddedAddress(address),
      lanes: [this.second.lane()],
      refund: freshAddress(),
    };
    const from = sourceAddress(source, this.second.place.factory);
    const record = await this.#record({
      address,
      way: {
        ...{ kind: "from-evm", venue: "perpvenue", direction: "in" },
        home: terms,
        source: { address: from, terms: { ...source, lanes: [...source.lanes] } },
      },
    });
    return { record, terms, source };
  }

  async madeOut(): Promise<{ readonly record: BridgeRecord; readonly terms: OutTerms }> {
    const terms = this.stage.outTerms();
    const { exit } = terms;
    const record = await this.#record({
      address: outAddress(terms, this.stage.home.factory),
      way: {
        ...{ kind: "to-chain", venue: "chain", direction: "out" },
        home: terms,
        to: { chainId: 31_338, recipient: `0x${exit.recipient.slice(26)}` as BridgeRecord["address"] },
      },
    });
    return { record, terms };
  }

  async #record(made: Pick<BridgeRecord, "address" | "way">): Promise<BridgeRecord> {
    this.#made += 1;
    const since = await this.heads();
    return {
      ...{ id: `0190a0a0-0000-7000-8000-${this.#made.toString(16).padStart(12, "0")}`, since: { ...since } },
      ...{ owner: { developerId: "d", sub: "user" }, createdAt: Date.now(), watchUntil: Date.now() + 1e9 },
      ...made,
    };
  }
}

export interface MadeIn {
  readonly record: BridgeRecord;
  readonly terms: InTerms;
  readonly source: SourceTerms;
}

/** Facts as text, to be compared. */
export const factsText = (book: WatchingBook, { id }: BridgeRecord): string =>
  JSON.stringify(
    book.factsOf(id),
    (_key, value: unknown) => (typeof value === "bigint" ? `${String(value)}n` : value),
    1,
  );

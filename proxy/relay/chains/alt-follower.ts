/**
 * Follows the other blockchain into its ledger: its blocks one by one, each with its parent, so that the number of
 * addresses matters as little as on the other chains. What an account gained or lost is read from the balances that the
 * node reports around a transaction, never from what the transaction says it does.
 */
import { ACCOUNTS_A_CALL, tokenBalances } from "../../../shared/altchain/balances.ts";
import { newBlocks, placeNow, type TokenBlock } from "../../../shared/altchain/blocks.ts";
import { burnIn } from "../../../shared/altchain/burns.ts";
import { blockAt, movementsIn, transactionsOf, usedAccounts } from "../../../shared/altchain/history.ts";
import type { Movement } from "../../../shared/altchain/movements.ts";
import type { AltchainNode, HistoryCommitment } from "../../../shared/altchain/node.ts";
import { AltchainRefusal } from "../../../shared/altchain/refusals.ts";
import { parseAltchainAddress, type AltchainToken } from "../../../shared/altchain/token.ts";
import type { Logger } from "../../base/logging.ts";
import { altEvents } from "./alt-events.ts";
import { altKeyOf, spellAlt } from "./alt-keys.ts";
import { keysOf } from "./events.ts";
import { Holdings } from "./holdings.ts";
import type { Block, Entry, Ledger } from "./ledger.ts";
import { createPassing } from "../../base/chain/passing.ts";
import type { Watched, WatchedRequest, Newcomers } from "./watched.ts";

export interface FollowedAltchain {
  readonly name: string;
  readonly node: AltchainNode;
  readonly token: AltchainToken;
  /** In the attester's numbers. */
  readonly domain: number;
  /** What of the chain is looked at; its forks are followed all the same. */
  readonly commitment: HistoryCommitment;
  readonly pollIntervalMs: number;
}

interface ReadTransaction {
  readonly block: Block;
  readonly signature: string;
  /** Its place in the block. */
  readonly logIndex: number;
  readonly movements: readonly Movement[];
  /** One of ours had less afterwards; its burn is read only then. */
  readonly isSpent: boolean;
  readonly burn: Awaited<ReturnType<typeof burnIn>>;
}

const ACCOUNTS_AT_ONCE = 8;

export class AltFollower {
  readonly name: string;
  readonly #altchain: FollowedAltchain;
  readonly #watched: Watched;
  readonly ledger: Ledger;
  readonly #log: Logger;
  readonly #newcomers: Newcomers;
  readonly #holdings: Holdings;
  readonly passing: ReturnType<typeof createPassing>;
  /** Of a look back that has not ended, by signature: where the node fails at one of many questions, the next look goes on there. */
  readonly #pastRead = new Map<string, ReadTransaction>();

  constructor(altchain: FollowedAltchain, watched: Watched, ledger: Ledger, logger: Logger) {
    this.name = altchain.name;
    this.#altchain = altchain;
    this.#watched = watched;
    this.ledger = ledger;
    this.#log = logger.child({ chain: altchain.name });
    this.#newcomers = watched.newcomers();
    this.#holdings = new Holdings({
      ...{ watched, ledger, where: "alt", newcomers: this.#newcomers, logger: this.#log },
    });
    this.passing = createPassing(
      () => this.#pass(),
      altchain.pollIntervalMs,
      (error) => this.#log.warn({ err: error }, "watching waits for the other blockchain"),
    );
  }

  /** Something of this request is not looked up yet. */
  isWaiting(bridgeId: string): boolean {
    return this.#newcomers.isWaiting(bridgeId);
  }

  #isOurs(account: string): boolean {
    return this.#watched.addresses("alt").has(altKeyOf(account));
  }

  async #pass(): Promise<void> {
    if (this.ledger.tip() === undefined) await this.#begin();
    // No slot can be named in that question: it is asked first, so that everything up to its slot is read when it is compared.
    const seen = this.#watched.addresses("alt").size === 0 ? undefined : await this.#askHoldings();
    for (;;) {
      const tip = this.ledger.tip()!;
      const news = await newBlocks(
        this.#altchain.node,
        this.#altchain.token,
        { slot: BigInt(tip.number), hash: tip.hash },
        this.#altchain.commitment,
      );
      if (news.forked) {
        await this.#leaveOrphans();
        if (this.ledger.tip() === undefined) await this.#begin();
        continue;
      }
      for (const block of news.blocks) {
        const place = placeOf(block);
        this.ledger.append([place], await this.#entriesOf(place, block));
      }
      // Behind the look for a fork: below a tip that was taken back nothing is believed, and nobody would leave it.
      await this.#newcomers.welcome((fresh) => this.#lookBack(fresh));
      if (news.blocks.length === 0 || this.passing.isStopped()) break;
    }
    if (seen !== undefined && seen.slot <= this.ledger.tip()!.number)
      this.#holdings.compare(seen.held, seen.slot);
  }

  #askHoldings() {
    const { node, token, commitment } = this.#altchain;
    return this.#holdings.ask(ACCOUNTS_A_CALL, async (keys) => {
      const accounts = keys.map((key) => parseAltchainAddress(spellAlt(key)));
      const { slot, amounts } = await tokenBalances(node, token, accounts, commitment);
      const held = [...amounts].map(([at, amount]) => ({ account: altKeyOf(at), token: token.mint, amount }));
      return { slot: Number(slot), held };
    });
  }

  async #begin(): Promise<void> {
    const { slot, hash } = await placeNow(this.#altchain.node, this.#altchain.commitment);
    const head = await blockAt(this.#altchain.node, slot, this.#altchain.commitment);
    if (head?.hash !== hash) throw new AltchainRefusal("ANSWER_UNREADABLE");
    this.ledger.append([{ number: Number(slot), hash, timestamp: Number(head.time ?? 0n) }], []);
    this.#newcomers.all();
  }

  async #leaveOrphans(): Promise<void> {
    this.#pastRead.clear();
    // The tip was found to be gone when its successor named another parent, whatever is said of it now.
    const left = await this.ledger.leaveTip((block) => this.#isCanonical(block));
    this.#log.warn(left, "the chain was reorganised");
  }

  async #isCanonical({ number, hash }: Block): Promise<boolean> {
    return (await blockAt(this.#altchain.node, BigInt(number), this.#altchain.commitment))?.hash === hash;
  }

  async #entriesOf(place: Block, { transactions, slot }: TokenBlock): Promise<readonly Entry[]> {
    const ours = transactions.filter(({ movements }) =>
      movements.some(({ account }) => this.#isOurs(account)),
    );
    if (ours.length === 0) return [];
    const head = await blockAt(this.#altchain.node, slot, this.#altchain.commitment);
    if (head?.hash !== place.hash) throw new AltchainRefusal("ANSWER_UNREADABLE");
    const entries: Entry[] = [];
    for (const { signature, movements } of ours)
      entries.push(...this.#entriesIn(await this.#read(place, head.signatures, signature, movements)));
    return entries;
  }

  #isSpent(movements: readonly Movement[]): boolean {
    return movements.some(({ account, before, after }) => after < before && this.#isOurs(account));
  }

  async #read(
    block: Block,
    signatures: readonly string[],
    signature: string,
    movements: readonly Movement[],
  ): Promise<ReadTransaction> {
    const isSpent = this.#isSpent(movements);
    const { node, token, commitment } = this.#altchain;
    const burn = isSpent ? await burnIn(node, token, signature, commitment) : undefined;
    const logIndex = signatures.indexOf(signature);
    if (logIndex < 0) throw new AltchainRefusal("ANSWER_UNREADABLE");
    return { block, signature, logIndex, movements, isSpent, burn };
  }

  #entriesIn({ block, signature, logIndex, movements, burn }: ReadTransaction): readonly Entry[] {
    return altEvents(this.#altchain.token.mint, this.#altchain.domain, movements, burn)
      .map((event, part): Entry => ({ block, tx: signature, logIndex, part, event }))
      .filter(({ event }) => keysOf(event).some((key) => this.#watched.keeps("alt", key, event)));
  }

  /** Blocks of the past are too many to be read again; but an account that was never used does not even exist. */
  async #lookBack(fresh: readonly WatchedRequest[]): Promise<void> {
    const tip = this.ledger.tip()!;
    const since = new Map<string, bigint>();
    for (const request of fresh)
      for (const { key, where } of request.keys)
        if (where === "alt") since.set(spellAlt(key), BigInt(request.since[this.name] ?? 0));
    if (since.size === 0) return;
    const used = await usedAccounts(
      this.#altchain.node,
      [...since.keys()],
      BigInt(tip.number),
      this.#altchain.commitment,
    );
    const found = new Map<string, bigint>();
    while (used.length > 0) {
      const some = used.splice(0, ACCOUNTS_AT_ONCE);
      const lists = await Promise.all(
        some.map((account) =>
          transactionsOf(this.#altchain.node, account, since.get(account)!, this.#altchain.commitment),
        ),
      );
      for (const { signature, slot } of lists.flat())
        if (slot <= BigInt(tip.number)) found.set(signature, slot);
    }
    const entries: Entry[] = [];
    for (const [signature, slot] of found)
      entries.push(...this.#entriesIn(await this.#past(signature, slot)));
    if (!(await this.#isCanonical(tip))) throw new AltchainRefusal("ANSWER_UNREADABLE");
    this.ledger.insert(entries);
    this.#pastRead.clear();
  }

  async #past(signature: string, slot: bigint): Promise<ReadTransaction> {
    const known = this.#pastRead.get(signature);
    // Who spends in it may be watched since.
    if (known !== undefined && (known.isSpent || !this.#isSpent(known.movements))) return known;
    const { node, token, commitment } = this.#altchain;
    const head = await blockAt(node, slot, commitment);
    const movements = await movementsIn(node, token, signature, commitment);
    if (head === undefined || movements === undefined) throw new AltchainRefusal("ANSWER_UNREADABLE");
    const block = { number: Number(slot), hash: head.hash, timestamp: Number(head.time ?? 0n) };
    const read = await this.#read(block, head.signatures, signature, movements);
    this.#pastRead.set(signature, read);
    return read;
  }
}

function placeOf({ slot, hash, time }: TokenBlock): Block {
  return { number: Number(slot), hash, timestamp: Number(time ?? 0n) };
}

/**
 * Follows the other blockchain into its ledger: its blocks one by one, each with its parent, so that the number of
 * addresses matters as little as on the other chains. What an account gained or lost is read from the balances that the
 * node reports around a transaction, never from what the transaction says it does.
 */
import { newBlocks, placeNow, type TokenBlock } from "../../../shared/altchain/blocks.ts";
import { burnIn } from "../../../shared/altchain/burns.ts";
import { blockAt, movementsIn, transactionsOf, usedAccounts } from "../../../shared/altchain/history.ts";
import type { Movement } from "../../../shared/altchain/movements.ts";
import type { AltchainNode, HistoryCommitment } from "../../../shared/altchain/node.ts";
import { AltchainRefusal } from "../../../shared/altchain/refusals.ts";
import type { AltchainToken } from "../../../shared/altchain/token.ts";
import type { Logger } from "../../base/logging.ts";
import { altEvents } from "./alt-events.ts";
import { altKeyOf, spellAlt } from "./alt-keys.ts";
import { keysOf } from "./events.ts";
import type { Block, Entry, Ledger } from "./ledger.ts";
import { createPassing } from "../../base/chain/passing.ts";
import type { Watched, WatchedRequest } from "./watched.ts";

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

const ACCOUNTS_AT_ONCE = 8;

export function createAltFollower(
  { name, node, token, domain, commitment, pollIntervalMs }: FollowedAltchain,
  watched: Watched,
  ledger: Ledger,
  logger: Logger,
) {
  const log = logger.child({ chain: name });
  const newcomers = watched.newcomers();
  const isOurs = (account: string): boolean => watched.addresses("alt").has(altKeyOf(account));

  async function pass(): Promise<void> {
    if (ledger.tip() === undefined) await begin();
    for (;;) {
      const tip = ledger.tip()!;
      const news = await newBlocks(node, token, { slot: BigInt(tip.number), hash: tip.hash }, commitment);
      if (news.forked) {
        await leaveOrphans();
        if (ledger.tip() === undefined) await begin();
        continue;
      }
      for (const block of news.blocks) {
        const place = placeOf(block);
        ledger.append([place], await entriesOf(place, block));
      }
      // Behind the look for a fork: below a tip that was taken back nothing is believed, and nobody would leave it.
      await welcome();
      if (news.blocks.length === 0 || passing.isStopped()) return;
    }
  }

  async function begin(): Promise<void> {
    const { slot, hash } = await placeNow(node, commitment);
    const head = await blockAt(node, slot, commitment);
    if (head?.hash !== hash) throw new AltchainRefusal("ANSWER_UNREADABLE");
    ledger.append([{ number: Number(slot), hash, timestamp: Number(head.time ?? 0n) }], []);
    newcomers.all();
  }

  async function leaveOrphans(): Promise<void> {
    const blocks = ledger.blocks();
    let [low, high] = [0, blocks.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (await isCanonical(blocks[middle]!)) low = middle + 1;
      else high = middle;
    }
    // The tip was found to be gone when its successor named another parent, whatever is said of it now.
    const ancestor = blocks[Math.min(low, blocks.length - 1) - 1]?.number ?? -1;
    log.warn({ from: blocks.at(-1)?.number, to: ancestor }, "the chain was reorganised");
    ledger.rollbackTo(ancestor);
  }

  async function isCanonical({ number, hash }: Block): Promise<boolean> {
    return (await blockAt(node, BigInt(number), commitment))?.hash === hash;
  }

  async function entriesOf(place: Block, { transactions, slot }: TokenBlock): Promise<readonly Entry[]> {
    const ours = transactions.filter(({ movements }) => movements.some(({ account }) => isOurs(account)));
    if (ours.length === 0) return [];
    const head = await blockAt(node, slot, commitment);
    if (head?.hash !== place.hash) throw new AltchainRefusal("ANSWER_UNREADABLE");
    const entries: Entry[] = [];
    for (const { signature, movements } of ours)
      entries.push(...(await entriesIn(place, head.signatures, signature, movements)));
    return entries;
  }

  async function entriesIn(
    block: Block,
    signatures: readonly string[],
    signature: string,
    movements: readonly Movement[],
  ): Promise<readonly Entry[]> {
    const isSpent = movements.some(({ account, before, after }) => after < before && isOurs(account));
    const burn = isSpent ? await burnIn(node, token, signature, commitment) : undefined;
    const logIndex = signatures.indexOf(signature);
    if (logIndex < 0) throw new AltchainRefusal("ANSWER_UNREADABLE");
    return altEvents(token.mint, domain, movements, burn)
      .map((event, part): Entry => ({ block, tx: signature, logIndex, part, event }))
      .filter(({ event }) => keysOf(event).some((key) => watched.keeps("alt", key, event)));
  }

  /** Blocks of the past are too many to be read again; but an account that was never used does not even exist. */
  async function welcome(): Promise<void> {
    const fresh = newcomers.take();
    if (fresh.length === 0) return;
    try {
      await lookBack(fresh);
    } catch (error) {
      newcomers.giveBack(fresh);
      throw error;
    }
  }

  async function lookBack(fresh: readonly WatchedRequest[]): Promise<void> {
    const tip = ledger.tip()!;
    const since = new Map<string, bigint>();
    for (const request of fresh)
      for (const { key, where } of request.keys)
        if (where === "alt") since.set(spellAlt(key), BigInt(request.since[name] ?? 0));
    if (since.size === 0) return;
    const used = await usedAccounts(node, [...since.keys()], BigInt(tip.number), commitment);
    const found = new Map<string, bigint>();
    while (used.length > 0) {
      const some = used.splice(0, ACCOUNTS_AT_ONCE);
      const lists = await Promise.all(
        some.map((account) => transactionsOf(node, account, since.get(account)!, commitment)),
      );
      for (const { signature, slot } of lists.flat())
        if (slot <= BigInt(tip.number)) found.set(signature, slot);
    }
    const entries: Entry[] = [];
    for (const [signature, slot] of found) {
      const head = await blockAt(node, slot, commitment);
      const movements = await movementsIn(node, token, signature, commitment);
      if (head === undefined || movements === undefined) throw new AltchainRefusal("ANSWER_UNREADABLE");
      const block = { number: Number(slot), hash: head.hash, timestamp: Number(head.time ?? 0n) };
      entries.push(...(await entriesIn(block, head.signatures, signature, movements)));
    }
    if (!(await isCanonical(tip))) throw new AltchainRefusal("ANSWER_UNREADABLE");
    ledger.insert(entries);
  }

  const passing = createPassing(pass, pollIntervalMs, (error) =>
    log.warn({ err: error }, "watching waits for the other blockchain"),
  );
  return { name, ledger, isWaiting: newcomers.isWaiting, ...passing };
}

function placeOf({ slot, hash, time }: TokenBlock): Block {
  return { number: Number(slot), hash, timestamp: Number(time ?? 0n) };
}

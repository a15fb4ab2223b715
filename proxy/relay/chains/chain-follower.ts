/**
 * Follows one EVM chain into its ledger. The node is believed only as far as its answers fit together: a block must name
 * its parent, a log its block. A fork is noticed by hashes; what stood on the branch that ended is taken back.
 */
import type { Logger } from "../../base/logging.ts";
import { ChainUnreachable } from "../../base/chain/json-rpc.ts";
import type { Chain, Header, LogRange, RawLog } from "../../base/chain/provider.ts";
import { keysOf } from "./events.ts";
import type { WatchedContracts } from "./logs-seen.ts";
import type { Entry, Ledger } from "./ledger.ts";
import { everythingSaid, saidOf, type LogQuestion } from "./log-questions.ts";
import { createPassing } from "../../base/chain/passing.ts";
import { createReader } from "./reader.ts";
import type { Watched, WatchedRequest, Where } from "./watched.ts";

export interface FollowedChain {
  /** As the settings call it. */
  readonly name: string;
  readonly where: Where;
  readonly contracts: WatchedContracts;
  readonly chain: Chain;
  readonly pollIntervalMs: number;
}

export type ChainFollower = ReturnType<typeof createChainFollower>;

/** So near to the tip blocks are asked for by hash: a node that lags behind refuses that, and would leave out of a range what it has not. */
const NEAR_BLOCKS = 8;
/** Further behind than this, blocks are taken in ranges. */
const CAREFUL_BLOCKS = 64;
const RANGE_BLOCKS = 2_000;
/** A chain's clock and ours may differ by so much. */
const CLOCKS_SECS = 600;
const HEADERS_AT_ONCE = 16;

export function createChainFollower(
  { name, where, contracts, chain, pollIntervalMs }: FollowedChain,
  watched: Watched,
  ledger: Ledger,
  logger: Logger,
) {
  const log = logger.child({ chain: name });
  const newcomers = watched.newcomers();
  const ofBlocks = everythingSaid(contracts);
  let rangeBlocks = RANGE_BLOCKS;
  let isRightChain = false;

  async function pass(): Promise<void> {
    if (!isRightChain && !(await chain.isConfiguredChain())) throw new ChainUnreachable("another chain");
    isRightChain = true;
    const head = await chain.header("latest");
    if (head === undefined) throw new ChainUnreachable("the node has no newest block");
    if (ledger.tip() === undefined) await take(head);
    const known = ledger.tip()?.hash;
    if (head.hash !== known && head.parentHash !== known) {
      await leaveOrphans();
      if (ledger.tip() === undefined) await take(head);
    }
    await welcome();
    for (;;) {
      const tip = ledger.tip()!;
      if (tip.number >= head.number || passing.isStopped()) return;
      const careful = head.number - CAREFUL_BLOCKS;
      if (tip.number + 1 < careful) {
        const addresses = [...watched.addresses(where)];
        await inRanges(addresses, tip.number + 1, careful, (entries, last) => ledger.append([last], entries));
      } else if (!(await takeNext(tip.hash, tip.number + 1, head))) return;
    }
  }

  /** Goes back to the newest block of ours that the chain still has. Whatever is above it, it has not. */
  async function leaveOrphans(): Promise<void> {
    const blocks = ledger.blocks();
    let [low, high] = [0, blocks.length];
    // Mostly it is the tip.
    if (high > 0 && (await isCanonical(blocks.at(-1)!))) return;
    high -= 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (await isCanonical(blocks[middle]!)) low = middle + 1;
      else high = middle;
    }
    const ancestor = blocks[low - 1]?.number ?? -1;
    log.warn({ from: blocks.at(-1)?.number, to: ancestor }, "the chain was reorganised");
    ledger.rollbackTo(ancestor);
    if (ancestor < 0) newcomers.all();
  }

  async function isCanonical(block: { readonly number: number; readonly hash: string }): Promise<boolean> {
    return (await chain.header(block.number))?.hash === block.hash;
  }

  /** False when the block does not follow the tip: the next pass goes back first. */
  async function takeNext(tipHash: string, number: number, head: Header): Promise<boolean> {
    const header = number === head.number ? head : await chain.header(number);
    if (header?.parentHash !== tipHash) return false;
    await take(header);
    return true;
  }

  async function take(header: Header): Promise<void> {
    const logs = watched.size === 0 ? [] : await ask(ofBlocks, { blockHash: header.hash });
    ledger.append([header], entriesOf(logs, new Map([[header.number, header]])));
  }

  /** Of addresses that are new here: what blocks say of them which were taken without knowing them. */
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
    const addresses = fresh.flatMap(({ keys }) => keys.filter((one) => one.where === where));
    const keys = [...new Set(addresses.map(({ key }) => key))];
    const tip = ledger.tip()!.number;
    const since = await firstBlockOf(fresh, tip);
    const near = Math.max(since, tip - NEAR_BLOCKS + 1);
    await inRanges(keys, since, near - 1, (entries) => ledger.insert(entries));
    for (let number = near; number <= tip; number++) {
      const block = ledger.blockAt(number) ?? (await chain.header(number));
      if (block === undefined) throw new ChainUnreachable("the node lost a block");
      const logs = await ask(ofBlocks, { blockHash: block.hash as Header["hash"] });
      ledger.insert(entriesOf(logs, new Map([[number, block]])));
    }
  }

  async function firstBlockOf(fresh: readonly WatchedRequest[], tip: number): Promise<number> {
    let first = Infinity;
    let madeAt = Infinity;
    for (const request of fresh) {
      const since = request.since[name];
      if (since === undefined) madeAt = Math.min(madeAt, request.madeAt);
      else first = Math.min(first, since);
    }
    return madeAt === Infinity ? first : Math.min(first, await blockBefore(madeAt - CLOCKS_SECS, tip));
  }

  /** The newest block that is not younger. */
  async function blockBefore(timestamp: number, tip: number): Promise<number> {
    let [low, high] = [0, tip];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      const header = await chain.header(middle);
      if (header === undefined) throw new ChainUnreachable("the node lost a block");
      if (header.timestamp <= timestamp) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Nodes bound what they answer at once, each in its own way and words: a range that fails is halved. */
  async function inRanges(
    addresses: readonly string[],
    from: number,
    to: number,
    use: (entries: readonly Entry[], last: Header) => void,
  ): Promise<void> {
    for (let next = from; next <= to && !passing.isStopped();) {
      const last = Math.min(next + rangeBlocks - 1, to);
      try {
        await readRange(addresses, next, last, use);
        rangeBlocks = Math.min(rangeBlocks * 2, RANGE_BLOCKS);
        next = last + 1;
      } catch (error) {
        if (rangeBlocks === 1) throw error;
        rangeBlocks >>= 1;
        if (error instanceof ChainUnreachable) throw error;
      }
    }
  }

  async function readRange(
    addresses: readonly string[],
    fromBlock: number,
    toBlock: number,
    use: (entries: readonly Entry[], last: Header) => void,
  ): Promise<void> {
    const last = await chain.header(toBlock);
    if (last === undefined) throw new ChainUnreachable("the node lost a block");
    const logs = await ask(saidOf(contracts, addresses), { fromBlock, toBlock });
    const headers = new Map([[toBlock, last]]);
    const numbers = new Set(entriesOf(logs, undefined).map(({ block }) => block.number));
    numbers.delete(toBlock);
    const missing = [...numbers];
    while (missing.length > 0) {
      for (const header of await Promise.all(
        missing.splice(0, HEADERS_AT_ONCE).map((number) => chain.header(number)),
      )) {
        if (header === undefined) throw new ChainUnreachable("the node lost a block");
        headers.set(header.number, header);
      }
    }
    // Nothing may have moved while the range was read in several answers.
    if (!(await isCanonical(last))) throw new ChainUnreachable("the chain moved while it was read");
    use(entriesOf(logs, headers), last);
  }

  async function ask(questions: readonly LogQuestion[], range: LogRange): Promise<RawLog[]> {
    const found = new Map<string, RawLog>();
    for (const { address, topics } of questions)
      for (const one of await chain.logs(address, range, topics))
        found.set(`${String(one.blockNumber)} ${String(one.logIndex)}`, one);
    return [...found.values()].sort(
      (one, other) => one.blockNumber - other.blockNumber || one.logIndex - other.logIndex,
    );
  }

  /** Those that concern somebody, of blocks with these headers. Without headers only to learn which are needed. */
  function entriesOf(
    logs: readonly RawLog[],
    headers:
      | ReadonlyMap<number, { readonly number: number; readonly hash: string; readonly timestamp: number }>
      | undefined,
  ): Entry[] {
    const read = createReader(contracts);
    return logs.flatMap((one) => {
      const { blockNumber: number, blockHash: hash, txHash: tx, logIndex } = one;
      const events = read(one).filter((event) =>
        keysOf(event).some((key) => watched.keeps(where, key, event)),
      );
      const block = headers === undefined ? { number, hash, timestamp: 0 } : headers.get(number);
      if (block?.hash !== hash && (events.length > 0 || block !== undefined))
        throw new ChainUnreachable("a log is of another block");
      return block === undefined ? [] : events.map((event, part) => ({ block, tx, logIndex, part, event }));
    });
  }

  const passing = createPassing(pass, pollIntervalMs, (error) => {
    isRightChain = false;
    if (error instanceof ChainUnreachable)
      log.warn({ reason: error.message }, "watching waits for the chain");
    else log.error({ err: error }, "watching failed");
  });
  return { name, ledger, isWaiting: newcomers.isWaiting, ...passing };
}

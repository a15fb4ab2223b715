/**
 * The pool as chain nodes show it, for a wallet that has no service or does not want to ask it: history, the roots that a
 * proof may use, and the calls that need nobody's help. Never sends anything: that is its caller's account's to do.
 */
import type { Address } from "../../protocol/brands.ts";
import type { Home, Kind } from "../../protocol/statements.ts";
import type { FullViewingKey } from "../../notes/keys.ts";
import type { NoteTree } from "../../notes/merkle.ts";
import { POOL } from "../statements/execute-call.ts";
import { planAdvance, type AdvancePlan } from "./advance.ts";
import { askedAgain } from "./asking-again.ts";
import type { ChainOptions } from "./chain-options.ts";
import { History, type ReadOptions } from "./history.ts";
import { doubted, hex, type Block, type Nodes } from "./nodes.ts";
import { CLAIM_ADDED, readClaim, type ClaimAdded } from "./pool-log.ts";
import { PoolView } from "./pool-view.ts";
import { RootFinder, type Roots } from "./roots.ts";
import { earlierShown, type Earlier } from "./earlier.ts";
import { voidDeposits, type VoidDeposit } from "./void-deposits.ts";

const CONFIRMATIONS = 12;
const MAX_AGE_SECS = 900;
const POLL_MS = 4_000;
/** The same as in PoolSettings.sol: they mine when they are asked to. */
const DEVELOPMENT_CHAINS = [31_337n, 31_338n, 1_337n];

export interface Pinned {
  readonly home: Home;
  readonly keyHashes: Readonly<Partial<Record<Kind, string>>>;
  readonly now: () => number;
}

export class PoolChain {
  readonly #nodes: Nodes;
  readonly #home: Home;
  readonly #fromBlock: number;
  readonly #pollMs: number;
  readonly #history: History;
  readonly #roots: RootFinder;
  #found: { readonly at: Block; readonly tree: NoteTree; readonly roots: Promise<Roots> } | undefined;

  constructor(options: ChainOptions, nodes: Nodes, { home, keyHashes, now }: Pinned) {
    const { fromBlock = 0, finality = CONFIRMATIONS, pollMs = POLL_MS, onProgress } = options;
    const isDevelopment = DEVELOPMENT_CHAINS.includes(home.chainId);
    const maxAgeSecs = options.maxAgeSecs ?? (isDevelopment ? Infinity : MAX_AGE_SECS);
    this.#nodes = nodes;
    this.#home = home;
    this.#fromBlock = fromBlock;
    this.#pollMs = pollMs;
    this.#history = new History({
      nodes,
      home,
      keyHashes,
      now,
      fromBlock,
      finality,
      pollMs,
      maxAgeSecs,
      onProgress,
    });
    this.#roots = new RootFinder(nodes, home, fromBlock);
  }

  events(options: ReadOptions): ReturnType<History["events"]> {
    return this.#history.events(options);
  }

  /** The chain's own clock at the last block that was read, Unix seconds. */
  get time(): number {
    return this.#history.synced.timestamp;
  }

  /** As of the last block that was read; `tree` is what was read. */
  roots(tree: NoteTree, signal?: AbortSignal): Promise<Roots> {
    const at = this.#history.synced;
    if (this.#found?.at !== at || this.#found.tree !== tree) {
      const find = (): Promise<Roots> => this.#roots.find(at, tree, signal);
      const found = { at, tree, roots: askedAgain(find, this.#pollMs, signal) };
      this.#found = found;
      found.roots.catch(() => {
        if (this.#found === found) this.#found = undefined;
      });
    }
    return this.#found.roots;
  }

  /** Undefined when every leaf is in the tree. */
  advance(tree: NoteTree, signal?: AbortSignal): Promise<AdvancePlan | undefined> {
    return planAdvance(this.#history, tree, this.view(signal), signal);
  }

  /** What became empty of what was read. */
  emptied(): ReturnType<History["emptied"]> {
    return this.#history.emptied();
  }

  /** What the pool is shown of a statement that comes again. Undefined where it was not executed. */
  earlier(statement: Earlier, signal?: AbortSignal): Promise<string | undefined> {
    const range = { from: this.#fromBlock, to: this.#history.synced.number, signal };
    const find = (): Promise<string | undefined> => earlierShown(this.#nodes, this.#home, range, statement);
    return askedAgain(find, this.#pollMs, signal);
  }

  /** Of the pool at the last block that was read. */
  view(signal?: AbortSignal): PoolView {
    return new PoolView(this.#nodes, this.#home, this.#history.synced.number, signal);
  }

  /** What the call takes, and `besides`. Throws NodeRefused where it reverts. */
  async gasLimit(from: string, data: string, besides = 0n, signal?: AbortSignal): Promise<bigint> {
    const call = { from, to: this.#home.pool, data, value: hex(0) };
    const taken = await this.#nodes.estimate(call, signal);
    return taken + taken / 4n + besides;
  }

  /** Claims to a public account, whoever made them. */
  claimsOf(asset: Address, recipient: Address, signal?: AbortSignal): Promise<ClaimAdded[]> {
    const find = async (): Promise<ClaimAdded[]> => {
      const claims = await this.#claims(asset, signal);
      return claims.filter((claim) => claim.recipient === recipient);
    };
    return askedAgain(find, this.#pollMs, signal);
  }

  /** With the call that has them paid back. */
  voidDeposits(keys: FullViewingKey, signal?: AbortSignal): Promise<VoidDeposit[]> {
    const range = { from: this.#fromBlock, to: this.#history.synced.number, signal };
    const find = (): Promise<VoidDeposit[]> => voidDeposits(this.#nodes, this.#home, range, keys);
    return askedAgain(find, this.#pollMs, signal);
  }

  async #claims(asset: Address, signal: AbortSignal | undefined): Promise<ClaimAdded[]> {
    const topics = [CLAIM_ADDED, null, `0x${asset.slice(2).padStart(64, "0")}`];
    const found: ClaimAdded[] = [];
    const [{ number }, view] = [this.#history.synced, this.view(signal)];
    const range = { topics, signal };
    for await (const { logs } of this.#nodes.logs(this.#home.pool, this.#fromBlock, number, range))
      found.push(...logs.map(readClaim).filter((claim) => claim.asset === asset));
    const made = await view.claimCount(asset);
    if (BigInt(found.length) !== made)
      throw doubted(`the pool has made ${made} claims, and its logs ${found.length}`);
    return found;
  }
}

/** The pool's error, where a revert's data is one. */
export function refusalOf(
  data: string | undefined,
): { readonly name: string; readonly args: readonly unknown[] } | undefined {
  try {
    return data === undefined ? undefined : (POOL.parseError(data) ?? undefined);
  } catch {
    return undefined;
  }
}

export function payClaimCall(asset: Address, id: bigint): string {
  return POOL.encodeFunctionData("payClaim", [asset, id]);
}

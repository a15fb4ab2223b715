/**
 * Which roots a proof may use now, and which ones later: found backwards from the newest block, so that nothing needs
 * to be remembered. A root counts only if one's own leaves give it. A log of an earlier root that a node leaves out makes
 * money look younger than it is, until roots are looked for at a later block.
 */
import type { Field } from "../../protocol/brands.ts";
import type { Home } from "../../protocol/statements.ts";
import type { NoteTree } from "../../notes/merkle.ts";
import { doubted, type Block, type Nodes } from "./nodes.ts";
import { readEntry, ROOT_UPDATED, ROOTS_REVOKED } from "./pool-log.ts";
import { PoolView } from "./pool-view.ts";

export interface KnownRoot {
  readonly root: Field;
  readonly leafCount: number;
  /** Unix seconds from which a proof may use it. */
  readonly provableFrom: number;
}

export interface Roots {
  /** The newest that a proof may use; undefined while there is none. */
  readonly aged: KnownRoot | undefined;
  /** When a proof may use a root over that many leaves; undefined where no root covers them. */
  coveredFrom(leafCount: number): Promise<number | undefined>;
}

interface Told {
  readonly root: Field;
  readonly leafCount: number;
}

const FIRST_SPAN = 5_000;
/** Without it nothing would seem to cover the newest leaves. */
export const LEFT_OUT = "it leaves out the log of the pool's root";

export class RootFinder {
  readonly #nodes: Nodes;
  readonly #home: Home;
  readonly #fromBlock: number;

  constructor(nodes: Nodes, home: Home, fromBlock: number) {
    this.#nodes = nodes;
    this.#home = home;
    this.#fromBlock = fromBlock;
  }

  /** As of `at`, up to which `tree` was read. */
  async find(at: Block, tree: NoteTree, signal?: AbortSignal): Promise<Roots> {
    const view = new PoolView(this.#nodes, this.#home, at.number, signal);
    const current = await view.currentRoot();
    const younger: Told[] = [];
    const revoked: { readonly first: number; readonly last: number }[] = [];
    for (let to = at.number, span = FIRST_SPAN; to >= this.#fromBlock; span *= 2) {
      const from = Math.max(this.#fromBlock, to - span + 1);
      const told = await this.#between(from, to, revoked, signal);
      const found = await newestAged(told, view, at.timestamp);
      younger.unshift(...told.slice(found.place + 1));
      const newest = younger.at(-1) ?? found.root;
      if (newest !== undefined && newest.root !== current.root) throw doubted(LEFT_OUT);
      if (found.root !== undefined) {
        requireOwn(tree, found.root);
        return { aged: found.root, coveredFrom: coverage(younger, found.root, tree, view) };
      }
      to = from - 1;
    }
    if (younger.length === 0 && current.leafCount > 0) throw doubted(LEFT_OUT);
    return { aged: undefined, coveredFrom: coverage(younger, undefined, tree, view) };
  }

  /** Roots in order, without those that were revoked in this range or later. */
  async #between(
    from: number,
    to: number,
    revoked: { readonly first: number; readonly last: number }[],
    signal: AbortSignal | undefined,
  ): Promise<Told[]> {
    const told: (Told & { readonly sequence: number })[] = [];
    const topics = [[ROOT_UPDATED, ROOTS_REVOKED]];
    for await (const { logs } of this.#nodes.logs(this.#home.pool, from, to, { topics, signal }))
      for (const log of logs) {
        const entry = readEntry(log);
        if (entry?.type === "root") told.push(entry);
        else if (entry?.type === "revoked") revoked.push(entry);
        else throw doubted("a log that was not asked for");
      }
    const isRevoked = (sequence: number): boolean =>
      revoked.some(({ first, last }) => first <= sequence && sequence <= last);
    return told.filter(({ sequence }) => !isRevoked(sequence));
  }
}

/** A later root is never provable before an earlier one, so it is searched in halves. */
async function newestAged(
  told: readonly Told[],
  view: PoolView,
  now: number,
): Promise<{ readonly place: number; readonly root: KnownRoot | undefined }> {
  let root: KnownRoot | undefined;
  let [low, high] = [0, told.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const one = told[middle]!;
    const from = await provableFrom(one, view);
    if (from <= now) {
      root = { ...one, provableFrom: from };
      low = middle + 1;
    } else high = middle;
  }
  return { place: low - 1, root };
}

function coverage(
  younger: readonly Told[],
  aged: KnownRoot | undefined,
  tree: NoteTree,
  view: PoolView,
): Roots["coveredFrom"] {
  return async (leafCount) => {
    if (aged !== undefined && leafCount <= aged.leafCount) return aged.provableFrom;
    const first = younger.find((one) => one.leafCount >= leafCount);
    if (first === undefined) return undefined;
    requireOwn(tree, first);
    return provableFrom(first, view);
  };
}

async function provableFrom({ root }: Told, view: PoolView): Promise<number> {
  const record = await view.rootRecord(root);
  if (record === undefined) throw doubted("the pool does not have a root that its log names");
  return record.provableFrom;
}

function requireOwn(tree: NoteTree, { root, leafCount }: Told): void {
  if (leafCount > tree.leafCount || tree.root(leafCount) !== root)
    throw doubted("the leaves that it shows do not give a root of the pool");
}

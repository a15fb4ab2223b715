/**
 * Several nodes of one chain as one. Each question goes to the first that is not set aside. One that does not answer, is
 * busy, lags, serves another chain, or has contradicted what headers and the pool say is set aside with a line that names
 * it, longer each time, and tried again later. There is no vote: what is believed is what fits together, whoever says it.
 */
import type { Logger } from "../logging.ts";
import { ChainUnreachable } from "./json-rpc.ts";
import { lackingTold } from "./optional-methods.ts";
import { createChain, type Chain, type ChainOptions, type Header } from "./provider.ts";

const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 300_000;
/** A node that is so many blocks behind another lags; fewer are the way of a block through the world. */
const MOST_BEHIND = 3;

export interface Nodes {
  readonly chain: Chain;
  /** Those that are set aside now, and why. */
  warnings(): readonly string[];
}

export interface NodesOptions extends Pick<ChainOptions, "signal" | "onAsked"> {
  readonly logger: Pick<Logger, "error" | "child">;
  /** Milliseconds, of any clock that only goes on. */
  readonly now?: () => number;
}

interface Node {
  /** Without path and query, where a vendor's key may be. */
  readonly shownAs: string;
  readonly chain: Chain;
  isRightChain: boolean;
  restUntil: number;
  restMs: number;
  reason: string;
}

/** `urls`: one, or several with spaces between them, the preferred one first. */
export function openNodes(urls: string, chainId: bigint, { logger, now, ...options }: NodesOptions): Nodes {
  const nodes = urls.split(/\s+/).map((url): Node => {
    const shownAs = new URL(url).host;
    const onLacking = lackingTold(logger.child({ node: shownAs }));
    return {
      ...{ shownAs, chain: createChain(url, chainId, { ...options, onLacking }) },
      ...{ isRightChain: false, restUntil: -Infinity, restMs: 0, reason: "" },
    };
  });
  const [only] = nodes;
  if (only !== undefined && nodes.length === 1) return { chain: only.chain, warnings: () => [] };
  return new SeveralNodes(nodes, { logger, now: now ?? (() => performance.now()), signal: options.signal });
}

type Method = Exclude<keyof Chain, "chainId" | "doubt">;
type Parts = Required<Pick<NodesOptions, "logger" | "now">> & Pick<NodesOptions, "signal">;

class SeveralNodes implements Nodes {
  readonly #nodes: readonly Node[];
  readonly #parts: Parts;
  /** Of any of them. */
  #highest = 0;
  /** The one that answered last. */
  #current: Node | undefined;
  readonly chain: Chain;

  constructor(nodes: readonly Node[], parts: Parts) {
    this.#nodes = nodes;
    this.#parts = parts;
    const { chain } = nodes[0]!;
    const asking = Object.entries(chain).map(([name, value]) =>
      typeof value === "function"
        ? [name, (...args: unknown[]) => this.#ask(name as Method, args)]
        : [name, value],
    );
    // Each method of a node under its own name; `doubt` is none that a node is asked.
    const all = Object.fromEntries(asking) as Chain;
    this.chain = { ...all, doubt: (reason) => this.#current && this.#setAside(this.#current, reason) };
  }

  warnings(): readonly string[] {
    const now = this.#parts.now();
    return this.#nodes
      .filter(({ restUntil }) => restUntil > now)
      .map(({ shownAs, reason }) => `the node ${shownAs} is set aside: ${reason}`);
  }

  async #ask(method: Method, args: readonly unknown[]): Promise<unknown> {
    let fault: unknown;
    let lagging: Header | undefined;
    for (const node of this.#inOrder()) {
      try {
        await this.#requireRightChain(node);
        const answer: unknown = await (node.chain[method] as (...args: unknown[]) => unknown)(...args);
        const head = method === "header" && args[0] === "latest" ? (answer as Header | undefined) : undefined;
        if (head !== undefined && head.number + MOST_BEHIND < this.#highest) {
          this.#setAside(node, `it is ${String(this.#highest - head.number)} blocks behind`);
          if (lagging === undefined || head.number > lagging.number) lagging = head;
          continue;
        }
        this.#highest = Math.max(this.#highest, head?.number ?? 0);
        this.#current = node;
        return answer;
      } catch (error) {
        if (!(error instanceof ChainUnreachable) || this.#parts.signal?.aborted === true) throw error;
        this.#setAside(node, error.message);
        fault = error;
      }
    }
    // All of them are there: the chain itself has gone back.
    if (lagging === undefined) throw fault;
    this.#highest = lagging.number;
    return lagging;
  }

  /** Those that rest come last, the one first that has rested longest: with all of them at rest the service goes on. */
  #inOrder(): readonly Node[] {
    const now = this.#parts.now();
    const resting = this.#nodes.filter(({ restUntil }) => restUntil > now);
    return [
      ...this.#nodes.filter(({ restUntil }) => restUntil <= now),
      ...resting.sort((one, other) => one.restUntil - other.restUntil),
    ];
  }

  async #requireRightChain(node: Node): Promise<void> {
    if (node.isRightChain) return;
    if (!(await node.chain.isConfiguredChain())) throw new ChainUnreachable("it serves another chain");
    node.isRightChain = true;
  }

  #setAside(node: Node, reason: string): void {
    const now = this.#parts.now();
    const isNews = node.restUntil <= now;
    const isLongAgo = now - node.restUntil > LONGEST_REST_MS;
    if (isNews) node.restMs = isLongAgo ? FIRST_REST_MS : Math.min(node.restMs * 2, LONGEST_REST_MS);
    node.restUntil = now + node.restMs;
    node.reason = reason;
    node.isRightChain = false;
    if (isNews)
      this.#parts.logger.error(
        { node: node.shownAs, reason, forMs: node.restMs },
        "a node is set aside, and others are asked",
      );
  }
}

// Any interleaving of blocks, reorganisations, refusals and newcomers: the book is that of the chain's last branch.
import assert from "node:assert/strict";
import fc from "fast-check";
import { Interface } from "ethers";
import { ChainRefused, ChainUnreachable } from "../../../../proxy/base/chain/json-rpc.ts";
import type { Chain, Header, RawLog } from "../../../../proxy/base/chain/provider.ts";
import { WatchingBook } from "../../../../proxy/relay/chain-book.ts";
import { createLogger } from "../../../../proxy/base/logging.ts";
import type { BridgeRecord } from "../../../../proxy/base/store/bridge-records.ts";
import { bridgeDraft, BRIDGE_USDC, madeAddress, madeHash } from "../../../support/bridges.ts";
import { factsText } from "../../../support/watched-bridge.ts";

const FORWARDERS = madeAddress(0xfac);
const words = new Interface([
  "event Transfer(address indexed from, address indexed to, uint256 value)",
  "event Swept(address indexed vault, uint64 leafIndex, uint256 amount, uint256 fees)",
  "event Touched(address indexed vault, address indexed token, uint256 amount, bool hasMinimum)",
]);
const RECORDS = [1, 2, 3].map((n): BridgeRecord => ({ ...bridgeDraft(n, {}), since: { home: 0 } }));

type Happening = { readonly who: number; readonly what: "deposit" | "sweep" | "touch" };
interface Made {
  readonly header: Header;
  readonly logs: readonly RawLog[];
}

/** One chain in memory whose branches end and begin as the test says. */
class Branches {
  blocks: Made[] = [];
  /** Calls that are answered before the next is not. */
  failsAfter = Infinity;
  /** No question for logs is answered before so many are asked. */
  answersAfter = 0;
  #made = 0;
  readonly #waiting: (() => void)[] = [];

  constructor() {
    this.grow([]);
  }

  grow(happenings: readonly Happening[]): void {
    const number = this.blocks.length;
    const hash = madeHash(++this.#made);
    const parentHash = this.blocks.at(-1)?.header.hash ?? madeHash(0);
    const logs = happenings.map((one, logIndex) => logOf(one, number, hash, logIndex));
    this.blocks.push({ header: { number, hash, parentHash, timestamp: this.#made, baseFee: 0n }, logs });
  }

  drop(depth: number): void {
    this.blocks = this.blocks.slice(0, Math.max(1, this.blocks.length - depth));
  }

  chain(): Chain {
    const answer = <T>(value: T): Promise<T> => {
      this.failsAfter -= 1;
      return this.failsAfter < 0 ? Promise.reject(new ChainUnreachable("cut")) : Promise.resolve(value);
    };
    const asked: Pick<Chain, "chainId" | "isConfiguredChain" | "header" | "logs" | "call"> = {
      chainId: 31_337n,
      isConfiguredChain: () => answer(true),
      call: () => Promise.reject(new ChainRefused(-32_000, "no", "0x")),
      header: (at) => answer((at === "latest" ? this.blocks.at(-1) : this.blocks[at as number])?.header),
      logs: async (_address, range) => {
        if (--this.answersAfter > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
        else for (const resolve of this.#waiting.splice(0)) resolve();
        if ("blockHash" in range) {
          const found = this.blocks.find(({ header }) => header.hash === range.blockHash);
          if (found === undefined) throw new ChainRefused(-32_000, "unknown block", "0x");
          return answer([...found.logs]);
        }
        return answer(this.blocks.slice(range.fromBlock, range.toBlock + 1).flatMap(({ logs }) => logs));
      },
    };
    return asked as Chain;
  }
}

function logOf(
  { who, what }: Happening,
  blockNumber: number,
  blockHash: Header["hash"],
  logIndex: number,
): RawLog {
  const vault = RECORDS[who]!.address;
  const place = { blockNumber, blockHash, txHash: madeHash(blockNumber * 1_000 + logIndex), logIndex };
  const said = (name: string, args: readonly unknown[], address: string): RawLog => ({
    ...{ ...place, address },
    ...words.encodeEventLog(name, args),
  });
  switch (what) {
    case "deposit":
      return said("Transfer", [madeAddress(9), vault, 10n + BigInt(logIndex)], BRIDGE_USDC);
    case "sweep":
      return said("Swept", [vault, BigInt(blockNumber), 5n, 1n], FORWARDERS);
    case "touch":
      return said("Touched", [vault, BRIDGE_USDC, 10n, blockNumber % 2 === 0], FORWARDERS);
  }
}

function bookOf(branches: Branches): WatchingBook {
  return new WatchingBook(
    {
      ...{ timeoutSecs: 86_400, bridgingSecs: 1 },
      chains: [
        {
          ...{ name: "home", where: "home", chain: branches.chain(), confirmations: 2, blockSecs: 1 },
          ...{ pollIntervalMs: 1, contracts: { tokens: [BRIDGE_USDC], forwarders: FORWARDERS } },
        },
      ],
    },
    createLogger("silent"),
  );
}

const happening = fc.record({
  who: fc.integer({ min: 0, max: 2 }),
  what: fc.constantFrom<Happening["what"]>("deposit", "sweep", "touch"),
});
const move = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ kind: fc.constant("grow" as const), with: fc.array(happening, { maxLength: 3 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("leap" as const), blocks: fc.integer({ min: 60, max: 300 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("drop" as const), depth: fc.integer({ min: 1, max: 12 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("drop" as const), depth: fc.integer({ min: 200, max: 600 }) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant("look" as const), calls: fc.integer({ min: 0, max: 9 }) }),
  },
  { weight: 5, arbitrary: fc.constant({ kind: "follow" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant("watch" as const), who: fc.integer({ min: 0, max: 2 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("unwatch" as const), who: fc.integer({ min: 0, max: 2 }) }),
  },
);

describe("relay over any branches", function () {
  it("says what the last branch alone says", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { minLength: 5, maxLength: 40 }), async (moves) => {
        const branches = new Branches();
        const book = bookOf(branches);
        for (const one of moves) {
          if (one.kind === "grow") branches.grow(one.with);
          else if (one.kind === "leap") for (let i = 0; i < one.blocks; i++) branches.grow([]);
          else if (one.kind === "drop") branches.drop(one.depth);
          else if (one.kind === "watch") book.watch(RECORDS[one.who]!);
          else if (one.kind === "unwatch") book.unwatch(RECORDS[one.who]!.id);
          else {
            branches.failsAfter = one.kind === "look" ? one.calls : Infinity;
            await book.sync().catch((error: unknown) => assert.ok(error instanceof ChainUnreachable));
            branches.failsAfter = Infinity;
          }
        }
        for (const record of RECORDS) book.watch(record);
        branches.grow([]);
        for (let pass = 0; pass < 3; pass++) await book.sync().catch(() => undefined);
        const fresh = bookOf(branches);
        for (const record of RECORDS) fresh.watch(record);
        await fresh.sync();
        for (const record of RECORDS) {
          assert.equal(book.isComplete(record.id), true);
          assert.equal(factsText(book, record), factsText(fresh, record));
        }
        const seen = branches.blocks.flatMap(({ logs }) => logs).filter(({ topics }) => topics.length === 3);
        const arrivals = RECORDS.flatMap(({ id }) => fresh.factsOf(id)!.home.arrivals);
        assert.equal(arrivals.length, seen.filter(({ address }) => address === BRIDGE_USDC).length);
      }),
      { numRuns: 150 },
    );
  });

  it("looks for everything again when the chain is another one from the beginning", async () => {
    const branches = new Branches();
    for (let i = 0; i < 700; i++) branches.grow([]);
    const book = bookOf(branches);
    const [record] = RECORDS as [BridgeRecord];
    book.watch(record);
    await book.sync();
    branches.drop(10_000);
    branches.grow([{ who: 0, what: "deposit" }]);
    for (let i = 0; i < 20; i++) branches.grow([]);
    await book.sync();
    assert.equal(book.factsOf(record.id)!.home.arrivals.length, 1);
  });

  it("asks for blocks near the head side by side: it keeps up where a question takes half a block's time", async () => {
    const branches = new Branches();
    const book = bookOf(branches);
    const [record] = RECORDS as [BridgeRecord];
    book.watch(record);
    await book.sync();
    for (let i = 0; i < 20; i++) branches.grow(i === 15 ? [{ who: 0, what: "deposit" }] : []);
    branches.answersAfter = 8;
    await book.sync();
    assert.equal(book.factsOf(record.id)!.home.arrivals.length, 1);
  });
});

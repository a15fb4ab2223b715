// The pool and the enclaves against the circuits that this proxy was built with, and against what it offers.
import assert from "node:assert/strict";
import type { Pool } from "../../../../proxy/base/chain/pool.ts";
import { ChainUnreachable } from "../../../../proxy/base/chain/json-rpc.ts";
import type { Chain } from "../../../../proxy/base/chain/provider.ts";
import { requireRoomForCalls, requireSamePool, warnOfOffers } from "../../../../proxy/api/check-chain.ts";
import { circuitsHashOf, warnOfOtherCircuits } from "../../../../proxy/api/enclave-link/same-circuits.ts";
import { createLogger, type Logger } from "../../../../proxy/base/logging.ts";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex, word } from "../../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../../shared/protocol/hash.ts";
import { KIND_NAMES, KINDS, type Kind } from "../../../../shared/protocol/statements.ts";

const keyOf = (kind: Kind): Bytes32 => toHex(word(BigInt(KINDS[kind].id))) as Bytes32;
const USDC = `0x${"11".repeat(20)}` as Address;
const WETH = `0x${"22".repeat(20)}` as Address;
const chain = { isConfiguredChain: async () => true } as unknown as Chain;
const unreachable = (): Promise<never> => Promise.reject(new ChainUnreachable("gone"));

function logged(): { logger: Logger; lines: { level: string; msg: string }[] } {
  const lines: { level: string; msg: string }[] = [];
  const write = (line: string): void => void lines.push(JSON.parse(line) as never);
  return { logger: createLogger("trace", { write }), lines };
}

describe("api/check-chain", () => {
  it("compares every kind, and ends the start at the first that differs", async () => {
    const { logger } = logged();
    const asked: Kind[] = [];
    const pool = {
      verifyingKeyHash: async (kind: Kind) => (asked.push(kind), keyOf(kind)),
    } as unknown as Pool;
    await requireSamePool(chain, pool, keyOf, logger);
    assert.deepEqual(asked, KIND_NAMES);
    for (const odd of KIND_NAMES) {
      const ours = (kind: Kind): string => (kind === odd ? toHex(word(99n)) : keyOf(kind));
      await assert.rejects(requireSamePool(chain, pool, ours, logger), new RegExp(`another circuit ${odd}$`));
    }
  });

  it("starts while the node is unreachable", async () => {
    const { logger, lines } = logged();
    await requireSamePool(chain, { verifyingKeyHash: unreachable } as unknown as Pool, keyOf, logger);
    assert.equal(lines.length, 1);
  });

  it("warns of assets that the pool does not take, and of swaps without an executor, and goes on", async () => {
    const assets = [{ address: USDC }, { address: WETH }];
    const isAsset = async (asset: Address): Promise<boolean> => asset === USDC;
    const warnings = async (swaps: boolean, executor: Pool["executor"]): Promise<number> => {
      const { logger, lines } = logged();
      await warnOfOffers({ isAsset, executor }, { assets, swaps }, logger);
      return lines.length;
    };
    assert.equal(await warnings(false, async () => undefined), 1);
    assert.equal(await warnings(true, async () => USDC), 1);
    assert.equal(await warnings(true, async () => undefined), 2);
    assert.equal(await warnings(true, unreachable), 1);
  });
});

describe("api/check-chain: gas of a call", () => {
  it("ends the start where no block could hold a full one, and bears a node that is away or does not tell", async () => {
    const telling = (gasLimit?: bigint) => ({ header: async () => ({ gasLimit }) }) as unknown as Chain;
    await requireRoomForCalls(telling(30_000_000n), 2n ** 24n);
    await requireRoomForCalls(telling(), 2n ** 24n);
    await requireRoomForCalls({ header: unreachable }, 2n ** 24n);
    await assert.rejects(requireRoomForCalls(telling(30_000_000n), 32_000_000n), /CLOISTER_GAS_PER_CALL/);
  });
});

describe("enclave-link/same-circuits", () => {
  const keys = new Map(KIND_NAMES.map((kind) => [kind, keyOf(kind)]));

  it("hashes the keys in order of kind id, as the enclave does", () => {
    const expected = keccakHex(concatBytes(...[1n, 2n, 3n, 4n].map(word)));
    assert.equal(circuitsHashOf(new Map([...keys].reverse())), expected);
    assert.notEqual(circuitsHashOf(new Map(keys).set("spend9", keyOf("spend"))), expected);
    assert.equal(mustFromHex(expected).length, 32);
  });

  it("tells an enclave with other circuits from one that is unreachable, and never throws", async () => {
    const expected = circuitsHashOf(keys);
    const levels = async (circuits: () => Promise<(Bytes32 | undefined)[]>): Promise<string[]> => {
      const { logger, lines } = logged();
      await warnOfOtherCircuits({ circuits }, expected, logger);
      return lines.map(({ level }) => level);
    };
    assert.deepEqual(await levels(async () => [expected]), []);
    assert.deepEqual(await levels(async () => [undefined, keyOf("spend"), expected]), ["warn", "error"]);
    assert.deepEqual(await levels(() => Promise.reject(new Error("broken"))), ["error"]);
  });
});

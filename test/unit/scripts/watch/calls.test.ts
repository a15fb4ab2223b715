import assert from "node:assert/strict";
import { ChainBusy, ChainRefused, ChainUnreachable } from "../../../../proxy/base/chain/json-rpc.ts";
import { attester, NO_UPDATE, sealUpdate } from "../../../../scripts/stack/pool-transaction.ts";
import { handedTo, poolInterface, type Handed } from "../../../../scripts/watch/calls.ts";
import type { ChainNode, Frame } from "../../../../scripts/watch/node.ts";
import { mustField, ZERO_BYTES32, type Address, type Bytes32 } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";

const POOL = asAddress(`0x${"c1".repeat(20)}`)!;
const OTHER = asAddress(`0x${"0a".repeat(20)}`)!;
const HASH = `0x${"77".repeat(32)}` as Bytes32;

/** Calldata of `execute` with one member that its deadline tells from others. */
function execute(deadline: bigint, update: unknown = NO_UPDATE): string {
  const member = {
    kind: 2,
    deadline,
    signals: [1n],
    ext: "0x",
    proof: "0x",
    authorization: "0x",
    attestations: "0x",
  };
  return poolInterface.encodeFunctionData("execute", [[member], update]);
}

function frame(type: string, to: Address, input: string, more: Partial<Frame> = {}): Frame {
  return { type, to, input, isReverted: false, calls: [], ...more };
}

/** A node of which only the trace is asked, and whether it is there. */
function tracing(trace: () => Frame, chainId: ChainNode["chainId"]): ChainNode {
  const never = (): never => {
    throw new Error("not asked in these tests");
  };
  return {
    chainId,
    header: never,
    logs: never,
    transaction: never,
    logsOf: never,
    call: never,
    trace: async () => trace(),
  };
}

const isThere = async (): Promise<bigint> => 1n;
const isAway = (): never => {
  throw new ChainUnreachable("away");
};

function ask(
  to: Address | undefined,
  input: string,
  trace: () => Frame = () => assert.fail("no trace is needed"),
  chainId: ChainNode["chainId"] = isThere,
): Promise<Handed[] | string> {
  return handedTo(POOL, { hash: HASH, blockHash: HASH, to, input }, tracing(trace, chainId));
}

const deadlines = (handed: Handed[] | string): unknown =>
  typeof handed === "string"
    ? handed
    : handed.map((one) => (one.type === "member" ? one.deadline : one.type));

function reasonOf(handed: Handed[] | string): string {
  return typeof handed === "string" ? handed : "it is known";
}

describe("scripts/watch/calls", () => {
  it("takes a direct call from the transaction, and asks for no trace", async () => {
    assert.deepEqual(deadlines(await ask(POOL, execute(5n))), [5n]);
    const removal = poolInterface.encodeFunctionData("removeSigner", [OTHER]);
    assert.deepEqual(await ask(POOL, removal), []);
  });

  it("puts an update behind the members, unless it is the empty one", async () => {
    const update = sealUpdate(
      { chainId: 1n, pool: POOL },
      {
        oldRoot: mustField(1n),
        newRoot: mustField(2n),
        fromIndex: 0n,
        toIndex: 3n,
        headBefore: ZERO_BYTES32,
        headAfter: HASH,
      },
      [attester(1)],
    );
    assert.deepEqual(deadlines(await ask(POOL, execute(5n, update))), [5n, "update"]);
    // To no leaf at all, but signed: the pool answers this one.
    const odd = { ...update, toIndex: 0n };
    assert.deepEqual(deadlines(await ask(POOL, execute(5n, odd))), [5n, "update"]);
  });

  it("takes every call of other contracts that took effect, in order", async () => {
    const root = frame("CALL", OTHER, "0x", {
      calls: [
        frame("CALL", POOL, execute(1n), { calls: [frame("CALL", OTHER, "0x")] }),
        frame("CALL", OTHER, "0x", { calls: [frame("CALL", POOL, execute(2n))] }),
        frame("CALL", POOL, execute(3n)),
      ],
    });
    assert.deepEqual(deadlines(await ask(OTHER, "0x", () => root)), [1n, 2n, 3n]);
    assert.deepEqual(deadlines(await ask(undefined, "0x", () => root)), [1n, 2n, 3n]);
  });

  it("leaves out calls that had no effect on the pool, which could stand in for the real one", async () => {
    const root = frame("CALL", OTHER, "0x", {
      calls: [
        frame("DELEGATECALL", POOL, execute(1n)),
        frame("STATICCALL", POOL, execute(2n)),
        frame("CALLCODE", POOL, execute(3n)),
        frame("CALL", POOL, execute(4n), { isReverted: true }),
        frame("CALL", OTHER, "0x", { isReverted: true, calls: [frame("CALL", POOL, execute(5n))] }),
        frame("CALL", OTHER, execute(6n)),
        frame("CALL", POOL, execute(7n)),
      ],
    });
    assert.deepEqual(deadlines(await ask(OTHER, "0x", () => root)), [7n]);
  });

  it("says when it cannot know: no trace, or calldata that does not decode", async () => {
    const refused = await ask(OTHER, "0x", () => {
      throw new ChainRefused(-32601, "no such method", "0x");
    });
    assert.match(reasonOf(refused), /does not trace/);
    assert.match(reasonOf(await ask(POOL, execute(5n).slice(0, 200))), /does not decode/);
    // Some nodes cut the connection where others refuse.
    assert.match(reasonOf(await ask(OTHER, "0x", isAway)), /does not trace/);
    await assert.rejects(ask(OTHER, "0x", isAway, isAway), ChainUnreachable);
    const isBusy = (): never => {
      throw new ChainBusy("too many requests");
    };
    await assert.rejects(ask(OTHER, "0x", isBusy), ChainBusy);
  });
});

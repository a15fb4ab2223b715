// The log that is read by hand, against a general decoder with the compiler's ABI.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import fc from "fast-check";
import { EXECUTED_TOPIC, readExecuted } from "../../../../proxy/chain/executed-log.ts";
import type { LogData } from "../../../../proxy/chain/provider.ts";
import { POOL_ABI } from "../../../../shared/contracts/abi.ts";
import { FIELD_ORDER } from "../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../shared/protocol/bytes.ts";
import { KIND_NAMES, KINDS, kindById } from "../../../../shared/protocol/statements.ts";

const ABI = new Interface(POOL_ABI);
const ADDRESS = `0x${"aa".repeat(20)}`;
const uint = (bits: number): fc.Arbitrary<bigint> => fc.bigInt({ min: 0n, max: (1n << BigInt(bits)) - 1n });
const values = fc.array(uint(253), { maxLength: 9 });

const drawn: fc.Arbitrary<LogData> = fc
  .tuple(
    fc.uint8Array({ minLength: 32, maxLength: 32 }).map(toHex),
    fc.constantFrom(...KIND_NAMES).map((kind) => KINDS[kind].id),
    uint(32),
    values,
    values,
    fc.uint8Array({ maxLength: 900 }).map(toHex),
  )
  .map((args) => ({ address: ADDRESS, ...ABI.encodeEventLog("Executed", args) }));

function theirs(log: LogData): unknown {
  const { args } = ABI.parseLog({ topics: [...log.topics], data: log.data })!;
  return {
    kind: "executed",
    statement: args["statementHash"] as string,
    statementKind: kindById(Number(args["kind"])),
    firstLeafIndex: Number(args["firstLeafIndex"]),
    nullifiers: [...(args["nullifiers"] as Iterable<bigint>)],
    commitments: [...(args["commitments"] as Iterable<bigint>)],
    ciphertexts: args["ciphertexts"] as string,
  };
}

/** With another number in one of its words. */
function bent({ data, ...log }: LogData, at: number, value: bigint): LogData {
  const place = 2 + 64 * at;
  return { ...log, data: data.slice(0, place) + toHex(word(value)).slice(2) + data.slice(place + 64) };
}

describe("chain/executed-log", () => {
  const good: LogData = {
    address: ADDRESS,
    ...ABI.encodeEventLog("Executed", [
      `0x${"ab".repeat(32)}`,
      2,
      7n,
      [1n, 2n],
      [3n],
      `0x${"cd".repeat(40)}`,
    ]),
  };

  it("is read as a general decoder reads it", () => {
    fc.assert(
      fc.property(drawn, (log) => {
        const mine = readExecuted(log);
        assert.ok(mine !== undefined && log.topics[0] === EXECUTED_TOPIC);
        assert.equal(mine.ciphertexts.constructor, Uint8Array);
        assert.deepEqual({ ...mine, ciphertexts: toHex(mine.ciphertexts) }, theirs(log));
      }),
      { numRuns: 300 },
    );
  });

  it("is refused when it is cut, longer, or says another place, count or length anywhere", () => {
    assert.ok(readExecuted(good));
    const refused = (log: LogData): void => assert.equal(readExecuted(log), undefined, log.data);
    const words = (good.data.length - 2) / 64;
    for (let left = 0; left < words; left++) refused({ ...good, data: good.data.slice(0, 2 + 64 * left) });
    refused({ ...good, data: `${good.data}${"00".repeat(32)}` });
    refused({ ...good, data: good.data.slice(0, -2) });
    refused({ ...good, data: good.data.replace("cd", "zz") });
    // firstLeafIndex, three places, the count of nullifiers, that of commitments, the length of the ciphertexts.
    for (const at of [1, 2, 3, 4, 7, 9]) {
      for (const value of [0n, 5n, 33n, 129n, 1_000_000n, 1n << 40n, (1n << 256n) - 1n])
        refused(bent(good, at, value));
    }
    refused(bent(good, 0, 1n << 60n));
    for (const at of [5, 6, 8]) refused(bent(good, at, FIELD_ORDER));
  });

  it("is refused with topics that are none of its own", () => {
    const [topic, statement, kind] = good.topics as [string, string, string];
    for (const topics of [
      [],
      [topic],
      [topic, statement],
      [topic, statement, kind, kind],
      [topic, "0x12", kind],
    ])
      assert.equal(readExecuted({ ...good, topics }), undefined);
    for (const id of [0n, 9n, 1n << 200n])
      assert.equal(readExecuted({ ...good, topics: [topic, statement, toHex(word(id))] }), undefined);
    assert.equal(readExecuted({ ...good, topics: [topic, statement, "no number"] }), undefined);
  });
});

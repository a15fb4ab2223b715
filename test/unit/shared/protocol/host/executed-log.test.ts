// The packed log, against an encoder of the tests' own.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import fc from "fast-check";
import { POOL_ABI } from "../../../../../shared/contracts/abi.ts";
import { FIELD_ORDER } from "../../../../../shared/protocol/brands.ts";
import { toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { EXECUTED_TOPIC, readExecuted } from "../../../../../shared/protocol/host/executed-log.ts";
import { CIPHERTEXT_BYTES, KIND_NAMES, KINDS, type Kind } from "../../../../../shared/protocol/statements.ts";
import { executedLog, type Said } from "../../../../support/oracle.ts";

const hex = (length: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: length, maxLength: length }).map(toHex);
const field = fc.bigInt({ min: 0n, max: FIELD_ORDER - 1n });
const amount = fc.bigInt({ min: 1n, max: (1n << 128n) - 1n });
const listOf = <T>(one: fc.Arbitrary<T>, count: number): fc.Arbitrary<T[]> =>
  fc.array(one, { minLength: count, maxLength: count });

function said(kind: Kind): fc.Arbitrary<Said> {
  const { id, inputs, outputs, leaves } = KINDS[kind];
  const moves = fc.record({ asset: hex(20), amount, party: hex(20) }, { noNullPrototype: true });
  const moved =
    kind === "private-swap"
      ? moves.map(({ asset, amount }) => ({ moved: { asset, amount } }))
      : moves.map((moved) => ({ moved }));
  const isPublic = kind === "deposit-shield" || kind === "private-swap";
  return fc
    .tuple(
      fc.record({
        statementHash: hex(32),
        kindId: fc.constant(id),
        firstLeafIndex: fc.nat({ max: 2 ** 32 - 2 }),
        proofHash: hex(32),
        nullifiers: listOf(field, inputs),
        commitments: listOf(field, outputs),
        ephemeralKey: hex(32),
        ciphertexts: listOf(hex(CIPHERTEXT_BYTES), leaves),
      }),
      isPublic ? moved : fc.oneof(moved, fc.constant({})),
    )
    .map(([common, more]) => ({ ...common, ...more }));
}
const drawn = fc.oneof(...KIND_NAMES.map(said));
const one = (kind: Kind, seed = 7): Said => fc.sample(said(kind), { numRuns: 1, seed })[0]!;

describe("executed-log", () => {
  it("has the topic of the event in the compiler's ABI", () => {
    assert.equal(EXECUTED_TOPIC, new Interface(POOL_ABI).getEvent("Executed")?.topicHash);
  });

  it("is read as it was written", () => {
    fc.assert(
      fc.property(drawn, (written) => {
        const read = readExecuted(executedLog(written));
        assert.ok(read !== undefined);
        const { statement, kind, ephemeralKey, ciphertexts, moved, ...rest } = read;
        assert.deepEqual(
          {
            ...{ statementHash: statement, kindId: KINDS[kind].id, ...rest },
            ...{ ephemeralKey: toHex(ephemeralKey), ciphertexts: ciphertexts.map(toHex), moved },
          },
          { ...written, moved: written.moved && { party: undefined, ...written.moved } },
        );
      }),
      { numRuns: 200 },
    );
  });

  it("is refused after every truncation, and with every extension but one by what moved", () => {
    for (const kind of KIND_NAMES) {
      const { topics, data } = executedLog(one(kind));
      const whole = (data.length - 2) / 2;
      assert.ok(readExecuted({ topics, data }));
      // What a private transfer, or one that comes again, does not say may be left out: as a log that is one, too.
      const moved = { "deposit-shield": 0, spend: 56, spend9: 56, "private-swap": 36 }[kind];
      const others = moved === 0 ? [] : [whole - moved, whole + moved];
      for (let length = 0; length < whole; length++) {
        if (others.includes(length)) continue;
        assert.equal(readExecuted({ topics, data: data.slice(0, 2 + 2 * length) }), undefined, `${length}`);
      }
      for (let more = 1; more < 300; more++) {
        if (others.includes(whole + more)) continue;
        const extended = `${data}${"01".repeat(more)}`;
        assert.equal(readExecuted({ topics, data: extended }), undefined, `${kind} and ${more}`);
      }
      assert.equal(readExecuted({ topics, data: data.slice(0, -1) }), undefined, "half a byte");
    }
  });

  it("is refused with a kind that is none, or is another's length", () => {
    for (const kind of KIND_NAMES) {
      const { topics, data } = executedLog({ ...one(kind, 8) });
      for (let id = 0; id < 256; id++) {
        const bent = `0x${toHex(Uint8Array.of(id)).slice(2)}${data.slice(4)}`;
        const isTwin = id === KINDS[kind].id;
        if (!isTwin) assert.equal(readExecuted({ topics, data: bent }), undefined, `${kind} as ${id}`);
      }
    }
  });

  it("is refused with a number that the pool cannot write", () => {
    const spend = one("spend", 9);
    const bad: Partial<Said>[] = [
      { nullifiers: [FIELD_ORDER, 1n] },
      { nullifiers: [1n, (1n << 256n) - 1n] },
      { commitments: [1n, 2n, 3n, FIELD_ORDER] },
      { firstLeafIndex: 1n << 53n },
      { firstLeafIndex: (1n << 64n) - 1n },
      { moved: { asset: `0x${"11".repeat(20)}`, amount: 0n, party: `0x${"22".repeat(20)}` } },
    ];
    assert.ok(readExecuted(executedLog(spend)));
    for (const change of bad)
      assert.equal(readExecuted(executedLog({ ...spend, ...change })), undefined, Object.keys(change)[0]);
  });

  it("is refused with topics that are none of its own", () => {
    const { topics, data } = executedLog(one("spend"));
    const [topic, statement] = topics as [string, string];
    const others = [[], [topic], [topic, statement, statement], [topic, "0x12"], [statement, topic]];
    for (const bent of [...others, [topic, undefined], [topic, 7], [topic, toHex(word(7n)).slice(0, -2)]])
      assert.equal(readExecuted({ topics: bent, data }), undefined);
  });

  it("answers anything at all with a refusal and never throws", () => {
    const { topics } = executedLog(one("spend"));
    const text = fc.oneof(fc.string(), fc.uint8Array({ maxLength: 900 }).map(toHex), fc.anything());
    fc.assert(
      fc.property(fc.oneof(fc.array(fc.anything()), fc.constant(topics)), text, (any, data) => {
        assert.equal(readExecuted({ topics: any, data }), undefined);
      }),
      { numRuns: 500 },
    );
    assert.equal(readExecuted({ topics, data: `0x${"02".repeat(5_000_000)}` }), undefined);
  });
});

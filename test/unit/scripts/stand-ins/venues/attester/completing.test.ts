// What the attester fills in, and when it signs: every rule with the refusal beside it.
import assert from "node:assert/strict";
import { ZERO_BYTES32, type Address, type Bytes32 } from "../../../../../../shared/protocol/brands.ts";
import {
  addressToWord,
  encodeBurn,
  encodeMessage,
  parseBurn,
  parseMessage,
  type BurnBody,
  type CctpMessage,
} from "../../../../../../shared/protocol/host/cctp.ts";
import {
  complete,
  completeAgain,
  nonceOf,
  readEmitted,
  type Depth,
  type Emission,
  type Terms,
} from "../../../../../../scripts/stand-ins/venues/attester/completing.ts";

const word = (byte: string): Bytes32 => addressToWord(`0x${byte.repeat(20)}` as Address);
const NONCE = `0x${"77".repeat(32)}` as Bytes32;
const TERMS: Terms = { fastFeeBps: 1.3, destinationBlock: 40, expiresAfterBlocks: 10 };

function aBurn(changes: Partial<BurnBody> = {}): BurnBody {
  return {
    burnToken: word("d4"),
    mintRecipient: word("e5"),
    amount: 1_000_000n,
    messageSender: word("f6"),
    maxFee: 130n,
    feeExecuted: 0n,
    expirationBlock: 0n,
    hookData: Uint8Array.of(1, 2, 3),
    ...changes,
  };
}

function aMessage(body: Uint8Array, changes: Partial<CctpMessage> = {}): CctpMessage {
  return {
    sourceDomain: 6,
    destinationDomain: 3,
    nonce: ZERO_BYTES32,
    sender: word("b2"),
    recipient: word("c3"),
    destinationCaller: ZERO_BYTES32,
    minFinalityThreshold: 1_000,
    finalityThresholdExecuted: 0,
    body,
    ...changes,
  };
}

function emission(depth: Depth, burn = aBurn(), changes: Partial<CctpMessage> = {}): Emission {
  return { depth, message: aMessage(encodeBurn(burn), changes), isBurn: true, nonce: NONCE };
}

function facts(message: Uint8Array | undefined): object | undefined {
  const header = message === undefined ? undefined : parseMessage(message);
  if (header === undefined) return undefined;
  const { feeExecuted, expirationBlock } = parseBurn(header.body) ?? assert.fail("no burn");
  return { finality: header.finalityThresholdExecuted, feeExecuted, expirationBlock, nonce: header.nonce };
}
const FAST = { finality: 1_000, feeExecuted: 130n, expirationBlock: 50n, nonce: NONCE };
const FINAL = { finality: 2_000, feeExecuted: 0n, expirationBlock: 0n, nonce: NONCE };

describe("the attester's completion", () => {
  it("of a fast message comes after its block, with fee and last block; before that nothing does", () => {
    assert.deepEqual(complete(emission("seen"), TERMS), { message: undefined, delayReason: null });
    const { message, delayReason } = complete(emission("fast"), TERMS);
    assert.deepEqual(facts(message), FAST);
    assert.equal(delayReason, null);
  });

  it("changes nonce, finality, fee and last block, and nothing else", () => {
    const given = emission("fast");
    const read = parseMessage(complete(given, TERMS).message ?? assert.fail("not yet")) ?? assert.fail();
    const burn = parseBurn(read.body) ?? assert.fail("no burn");
    const undone = {
      ...read,
      nonce: ZERO_BYTES32,
      finalityThresholdExecuted: 0,
      body: encodeBurn({ ...burn, feeExecuted: 0n, expirationBlock: 0n }),
    };
    assert.deepEqual(encodeMessage(undone), encodeMessage(given.message));
  });

  it("rounds the fee up: nothing is fast for nothing", () => {
    const small = complete(emission("fast", aBurn({ amount: 2n, maxFee: 1n })), TERMS);
    assert.deepEqual(facts(small.message), { ...FAST, feeExecuted: 1n });
  });

  it("waits for the end when the fee is above the ceiling, and then takes none", () => {
    for (const burn of [aBurn({ maxFee: 129n }), aBurn({ amount: 1n, maxFee: 1n })]) {
      const waiting = complete(emission("fast", burn), TERMS);
      assert.deepEqual(waiting, { message: undefined, delayReason: "insufficient_fee" });
      const done = complete(emission("final", burn), TERMS);
      assert.deepEqual([facts(done.message), done.delayReason], [FINAL, "insufficient_fee"]);
    }
  });

  it("of a message that asks for finality waits for it", () => {
    const asked = { minFinalityThreshold: 2_000 };
    assert.equal(complete(emission("fast", aBurn(), asked), TERMS).message, undefined);
    const { message, delayReason } = complete(emission("final", aBurn(), asked), TERMS);
    assert.deepEqual([facts(message), delayReason], [FINAL, null]);
  });

  it("is not fast towards a chain whose block it does not know", () => {
    const blind = { ...TERMS, destinationBlock: undefined };
    assert.equal(complete(emission("fast"), blind).message, undefined);
    assert.deepEqual(facts(complete(emission("final"), blind).message), FINAL);
  });

  it("leaves the body of anybody's message alone, also one that reads as a burn", () => {
    const body = encodeBurn(aBurn({ amount: 190_000_000_000n }));
    const given: Emission = { depth: "fast", message: aMessage(body), isBurn: false, nonce: NONCE };
    const read = parseMessage(complete(given, TERMS).message ?? assert.fail("not yet"));
    assert.deepEqual([read?.finalityThresholdExecuted, read?.nonce, read?.body], [1_000, NONCE, body]);
  });
});

describe("the attester's second completion", () => {
  const attested = complete(emission("fast"), TERMS).message ?? assert.fail("not attested");
  const later = { ...TERMS, destinationBlock: 60 };

  it("has a new last block while the burn can be undone, and none when it is final; the fee stays", () => {
    assert.deepEqual(facts(completeAgain(emission("fast"), attested, later)), {
      ...FAST,
      expirationBlock: 70n,
    });
    assert.deepEqual(facts(completeAgain(emission("final"), attested, later)), {
      ...FINAL,
      feeExecuted: 130n,
    });
  });

  it("does not exist for what is final already, or towards a chain that is away", () => {
    const final = complete(emission("final"), TERMS).message ?? assert.fail("not attested");
    assert.equal(completeAgain(emission("final"), final, later), undefined);
    assert.equal(
      completeAgain(emission("fast"), attested, { ...later, destinationBlock: undefined }),
      undefined,
    );
  });
});

describe("the attester's nonce", () => {
  it("differs for two burns of one transaction, for two transactions, two chains and two contents", () => {
    const [one, other] = [Uint8Array.of(1), Uint8Array.of(2)];
    const all = [
      ...[nonceOf(6, "0xaa", 0, one), nonceOf(6, "0xaa", 1, one), nonceOf(6, "0xab", 0, one)],
      ...[nonceOf(7, "0xaa", 0, one), nonceOf(6, "0xaa", 0, other)],
    ];
    assert.equal(new Set(all).size, all.length);
    assert.equal(nonceOf(6, "0xaa", 0, one), all[0]);
  });
});

describe("what the attester reads from a chain", () => {
  it("is a message of that chain without a nonce", () => {
    const good = encodeMessage(aMessage(new Uint8Array(0)));
    assert.notEqual(readEmitted(good, 6), undefined);
    assert.equal(readEmitted(good, 7), undefined);
    assert.equal(readEmitted(encodeMessage(aMessage(new Uint8Array(0), { nonce: NONCE })), 6), undefined);
    assert.equal(readEmitted(good.slice(1), 6), undefined);
  });
});

// Messages written out by hand from the layout, field after field, and what is no message.
import assert from "node:assert/strict";
import { computeAddress, SigningKey } from "ethers";
import fc from "fast-check";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../../../../shared/protocol/bytes.ts";
import {
  addressToWord,
  attestersOf,
  BURN_BYTES,
  encodeBurn,
  encodeMessage,
  HEADER_BYTES,
  messageHash,
  parseAttestation,
  parseBurn,
  parseMessage,
  wordToAddress,
} from "../../../../../shared/protocol/host/cctp.ts";

/** Header, offset by offset. */
const HEADER = [
  ["version", "00000001"], // 0
  ["sourceDomain", "00000006"], // 4
  ["destinationDomain", "00000003"], // 8
  ["nonce", "a1".repeat(32)], // 12
  ["sender", "00".repeat(12) + "b2".repeat(20)], // 44
  ["recipient", "00".repeat(12) + "c3".repeat(20)], // 76
  ["destinationCaller", "00".repeat(32)], // 108
  ["minFinalityThreshold", "000003e8"], // 140
  ["finalityThresholdExecuted", "000007d0"], // 144
] as const;
/** Body of a burn. */
const BURN = [
  ["version", "00000001"], // 0
  ["burnToken", "00".repeat(12) + "d4".repeat(20)], // 4
  ["mintRecipient", "00".repeat(12) + "e5".repeat(20)], // 36
  ["amount", "00".repeat(28) + "000f4240"], // 68
  ["messageSender", "00".repeat(12) + "f6".repeat(20)], // 100
  ["maxFee", "00".repeat(31) + "64"], // 132
  ["feeExecuted", "00".repeat(31) + "0a"], // 164
  ["expirationBlock", "00".repeat(30) + "0102"], // 196
  ["hookData", "beef"], // 228
] as const;
const bytesOf = (fields: readonly (readonly [string, string])[]): Uint8Array =>
  mustFromHex(`0x${fields.map(([, hex]) => hex).join("")}`);
const wordOf = (byte: string, leading = 12): Bytes32 =>
  `0x${"00".repeat(leading)}${byte.repeat(32 - leading)}` as Bytes32;

const BURN_READ = {
  burnToken: wordOf("d4"),
  mintRecipient: wordOf("e5"),
  amount: 1_000_000n,
  messageSender: wordOf("f6"),
  maxFee: 100n,
  feeExecuted: 10n,
  expirationBlock: 258n,
  hookData: Uint8Array.of(0xbe, 0xef),
};

describe("a CCTP message", () => {
  const bytes = bytesOf([...HEADER, ...BURN]);

  it("is read field by field from the layout, and written back to the same bytes", () => {
    const message = parseMessage(bytes) ?? assert.fail("not read");
    const { body, ...header } = message;
    assert.deepEqual(header, {
      sourceDomain: 6,
      destinationDomain: 3,
      nonce: wordOf("a1", 0),
      sender: wordOf("b2"),
      recipient: wordOf("c3"),
      destinationCaller: wordOf("00"),
      minFinalityThreshold: 1_000,
      finalityThresholdExecuted: 2_000,
    });
    assert.deepEqual(parseBurn(body), BURN_READ);
    assert.equal(toHex(encodeMessage(message)), toHex(bytes));
    assert.equal(toHex(encodeBurn(BURN_READ)), toHex(body));
    assert.equal(bytesOf(HEADER).length, HEADER_BYTES);
    assert.equal(bytesOf(BURN).length, BURN_BYTES + 2);
  });

  it("may have an empty body, and a burn no hook", () => {
    assert.equal(parseMessage(bytesOf(HEADER))?.body.length, 0);
    assert.equal(parseBurn(bytesOf(BURN.slice(0, -1)))?.hookData.length, 0);
    assert.equal(parseBurn(new Uint8Array(0)), undefined);
  });

  it("has no second spelling: whatever is read is written back to the same bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 140, maxLength: 460 }), fc.boolean(), (random, isOurs) => {
        const input = Uint8Array.from([...(isOurs ? [0, 0, 0, 1] : []), ...random]);
        const message = parseMessage(input);
        assert.equal(message !== undefined, input.length >= HEADER_BYTES && startsWithOne(input));
        if (message !== undefined) assert.deepEqual(encodeMessage(message), input);
        const burn = parseBurn(input);
        assert.equal(burn !== undefined, input.length >= BURN_BYTES && startsWithOne(input));
        if (burn !== undefined) assert.deepEqual(encodeBurn(burn), input);
      }),
    );
  });

  it("is no other thing: a byte short, another version, text", () => {
    const header = bytesOf(HEADER);
    for (const wrong of [
      header.slice(0, -1),
      Uint8Array.from([0, 0, 0, 0, ...header.slice(4)]),
      toHex(bytes),
    ])
      assert.equal(parseMessage(wrong), undefined);
    const burn = bytesOf(BURN.slice(0, -1));
    for (const wrong of [burn.slice(0, -1), Uint8Array.from([0, 0, 0, 2, ...burn.slice(4)]), null])
      assert.equal(parseBurn(wrong), undefined);
  });

  it("is not written with numbers that do not fit", () => {
    const message = parseMessage(bytes) ?? assert.fail("not read");
    assert.throws(() => encodeMessage({ ...message, sourceDomain: 2 ** 32 }), RangeError);
    assert.throws(() => encodeBurn({ ...BURN_READ, amount: 1n << 256n }), RangeError);
  });

  it("names EVM addresses in words, and other chains' keys are none", () => {
    const address = `0x${"b2".repeat(20)}` as Address;
    assert.equal(addressToWord(address), wordOf("b2"));
    assert.equal(wordToAddress(wordOf("b2")), address);
    assert.equal(wordToAddress(wordOf("b2", 11)), undefined);
  });
});

describe("an attestation", () => {
  const message = bytesOf([...HEADER, ...BURN]);
  const keys = ["11", "22", "33"]
    .map((byte) => new SigningKey(`0x${byte.repeat(32)}`))
    .sort((a, b) => (addressOf(a) < addressOf(b) ? -1 : 1));
  const [one, two, three] = keys as [SigningKey, SigningKey, SigningKey];
  const signed = (signers: readonly SigningKey[], bytes = message): Uint8Array =>
    mustFromHex(`0x${signers.map((key) => key.sign(messageHash(bytes)).serialized.slice(2)).join("")}`);

  it("shows its signers when their addresses rise", () => {
    assert.deepEqual(attestersOf(message, signed([one, two, three])), keys.map(addressOf));
    assert.equal(attestersOf(message, signed([two, one])), undefined);
    assert.equal(attestersOf(message, signed([one, one])), undefined);
  });

  it("of other bytes shows other signers", () => {
    const changed = Uint8Array.from(message);
    changed[HEADER_BYTES + 99] = 1; // the amount
    const signers = attestersOf(changed, signed([one]));
    assert.notEqual(signers?.[0], addressOf(one));
  });

  it("is whole signatures, canonical ones", () => {
    const good = signed([one, two]);
    assert.equal(parseAttestation(good)?.length, 2);
    for (const wrong of [new Uint8Array(0), good.slice(1), Uint8Array.from([...good, 0]), toHex(good)])
      assert.equal(parseAttestation(wrong), undefined);
    const with64 = (v: number): Uint8Array => Uint8Array.from(good, (byte, i) => (i === 64 ? v : byte));
    for (const v of [0, 1, 26, 29]) assert.equal(parseAttestation(with64(v)), undefined, String(v));
  });

  it("is not its own mirror image, with s in the upper half", () => {
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const good = signed([one]);
    const s = order - BigInt(toHex(good.slice(32, 64)));
    const flipped = mustFromHex(
      `${toHex(good.slice(0, 32))}${s.toString(16).padStart(64, "0")}${good[64] === 27 ? "1c" : "1b"}`,
    );
    assert.equal(parseAttestation(flipped), undefined);
    assert.equal(attestersOf(message, flipped), undefined);
  });
});

function addressOf(key: SigningKey): Address {
  return computeAddress(key).toLowerCase() as Address;
}

function startsWithOne(bytes: Uint8Array): boolean {
  return bytes[0] === 0 && bytes[1] === 0 && bytes[2] === 0 && bytes[3] === 1;
}

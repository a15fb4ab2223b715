// The attester's book over chains that move: what is undone goes, what was given out stays, nothing is signed twice.
import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { ZERO_BYTES32, type Address, type Bytes32 } from "../../../../../../shared/protocol/brands.ts";
import { mustFromHex } from "../../../../../../shared/protocol/bytes.ts";
import {
  addressToWord,
  attestersOf,
  encodeBurn,
  encodeMessage,
  parseBurn,
  parseMessage,
  type BurnBody,
  type CctpMessage,
} from "../../../../../../shared/protocol/host/cctp.ts";
import {
  afterLook,
  afterReattest,
  bookShape,
  EMPTY_BOOK,
  type Attesting,
  type Book,
} from "../../../../../../scripts/stand-ins/venues/attester/book.ts";
import type { Depth } from "../../../../../../scripts/stand-ins/venues/attester/completing.ts";
import { openKeys } from "../../../../../../scripts/stand-ins/venues/attester/keys.ts";
import type { Sighted } from "../../../../../../scripts/stand-ins/venues/attester/sources.ts";

const word = (byte: string): Bytes32 => addressToWord(`0x${byte.repeat(20)}` as Address);
const BURN: BurnBody = {
  burnToken: word("d4"),
  mintRecipient: word("e5"),
  amount: 1_000_000n,
  messageSender: word("f6"),
  maxFee: 100n,
  feeExecuted: 0n,
  expirationBlock: 0n,
  hookData: new Uint8Array(0),
};
const MESSAGE: CctpMessage = {
  sourceDomain: 6,
  destinationDomain: 3,
  nonce: ZERO_BYTES32,
  sender: word("b2"),
  recipient: word("c3"),
  destinationCaller: ZERO_BYTES32,
  minFinalityThreshold: 1_000,
  finalityThresholdExecuted: 0,
  body: encodeBurn(BURN),
};
const SLOW: CctpMessage = { ...MESSAGE, minFinalityThreshold: 2_000 };

const sighted = (depth: Depth, message = MESSAGE, ordinal = 0): Sighted => ({
  transaction: "0xaa",
  ordinal,
  message,
  content: encodeMessage(message),
  isBurn: true,
  depth,
});

describe("the attester's book", () => {
  let folder: string;
  let attesting: Attesting;
  let addresses: readonly Address[];
  let signatures = 0;
  let block = 40;

  before(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), "attester-"));
    const keys = await openKeys(folder);
    addresses = keys.addresses;
    attesting = {
      attest: (message) => {
        signatures += 1;
        return keys.attest(message);
      },
      termsFor: () => ({ fastFeeBps: 1, destinationBlock: block, expiresAfterBlocks: 10 }),
    };
  });
  after(() => rm(folder, { recursive: true, force: true }));
  beforeEach(() => {
    signatures = 0;
    block = 40;
  });

  const look = (book: Book, all: readonly Sighted[], position = "1"): Book =>
    afterLook(book, 6, { sighted: all, position, block: 9 }, attesting);
  const attestedIn = ({ entries }: Book): boolean[] => entries.map(({ attested }) => attested !== null);

  it("holds keys of its own, readable by nobody else, the same at the next start", async () => {
    for (const name of ["attester-1.key", "attester-2.key"])
      assert.equal((await stat(path.join(folder, name))).mode & 0o777, 0o600);
    assert.deepEqual((await openKeys(folder)).addresses, addresses);
    assert.equal(addresses.length, 2);
    assert.ok(addresses[0]! < addresses[1]!);
  });

  it("signs with both keys, in the order that the contract asks for", () => {
    const [entry] = look(EMPTY_BOOK, [sighted("fast")]).entries;
    const { message, attestation } = entry?.attested ?? assert.fail("not attested");
    assert.deepEqual(attestersOf(mustFromHex(message), mustFromHex(attestation)), addresses);
  });

  it("never attests what a reorganisation took away before it was due", () => {
    const seen = look(EMPTY_BOOK, [sighted("fast", SLOW)]);
    assert.deepEqual(attestedIn(seen), [false]);
    assert.deepEqual(look(seen, []).entries, []);
    assert.equal(signatures, 0);
  });

  it("gives two equal burns of one transaction two nonces and two attestations", () => {
    const book = look(EMPTY_BOOK, [sighted("final", SLOW, 0), sighted("final", SLOW, 1)]);
    assert.deepEqual(attestedIn(book), [true, true]);
    assert.equal(new Set(book.entries.map(({ nonce }) => nonce)).size, 2);
  });

  it("keeps what it attested fast when the burn is undone, and signs no second one when it comes back", () => {
    const fast = look(EMPTY_BOOK, [sighted("fast")]);
    const undone = look(fast, []);
    assert.deepEqual(
      undone.entries.map(({ on_chain, attested }) => [on_chain, attested]),
      [[false, fast.entries[0]?.attested]],
    );
    assert.equal(afterReattest(undone, undone.entries[0]!.nonce, attesting), undefined);
    const back = look(undone, [sighted("final")]);
    assert.deepEqual(back.entries[0]?.attested, fast.entries[0]?.attested);
    assert.equal(back.entries.length, 1);
    assert.equal(signatures, 1);
  });

  it("attests what the same transaction burns in another block as another message", () => {
    const fast = look(EMPTY_BOOK, [sighted("fast")]);
    const more = { ...MESSAGE, body: encodeBurn({ ...BURN, amount: BURN.amount + 1n }) };
    const { entries } = look(fast, [sighted("final", more)]);
    assert.deepEqual(
      entries.map(({ on_chain, depth, attested }) => [on_chain, depth, attested !== null]),
      [
        [false, "seen", true],
        [true, "final", true],
      ],
    );
    const [first, second] = entries.map(({ attested }) => parseMessage(mustFromHex(attested!.message))!);
    assert.notEqual(first!.nonce, second!.nonce);
    assert.equal(parseBurn(second!.body)?.amount, BURN.amount + 1n);
  });

  it("does not change when nothing did", () => {
    const once = look(EMPTY_BOOK, [sighted("fast"), sighted("seen", SLOW, 1)]);
    assert.equal(look(once, [sighted("fast"), sighted("seen", SLOW, 1)]), once);
    const final = look(once, [sighted("final"), sighted("final", SLOW, 1)], "7");
    // Final ones are below the next look, and stay.
    assert.equal(look(final, [], "7"), final);
    assert.deepEqual(attestedIn(final), [true, true]);
  });

  it("renews a fast attestation, and no other", () => {
    const fast = look(EMPTY_BOOK, [sighted("fast"), sighted("final", SLOW, 1), sighted("seen", SLOW, 2)]);
    const [first, second, third] = fast.entries.map(({ nonce }) => nonce) as [Bytes32, Bytes32, Bytes32];
    block = 60;
    const renewed = afterReattest(fast, first, attesting) ?? assert.fail("refused");
    const { message, attestation } = renewed.entries[0]?.attested ?? assert.fail("not attested");
    const burn = parseBurn(parseMessage(mustFromHex(message))?.body);
    assert.deepEqual([burn?.expirationBlock, burn?.feeExecuted], [70n, 100n]);
    assert.deepEqual(attestersOf(mustFromHex(message), mustFromHex(attestation)), addresses);
    assert.equal(afterReattest(fast, second, attesting), undefined);
    assert.equal(afterReattest(fast, third, attesting), undefined);
    assert.equal(afterReattest(fast, ZERO_BYTES32, attesting), undefined);
  });

  it("is read from disk as it was written", () => {
    const book = look(EMPTY_BOOK, [sighted("fast"), sighted("seen", SLOW, 1)]);
    assert.deepEqual(bookShape.parse(JSON.parse(JSON.stringify(book))), book);
  });
});

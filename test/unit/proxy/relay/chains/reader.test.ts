// What the exchange's contract says of an account, and of which message it says so: its event names none.
import assert from "node:assert/strict";
import { Interface } from "ethers";
import { keyOf, type BridgeEvent } from "../../../../../proxy/relay/chains/events.ts";
import { createReader } from "../../../../../proxy/relay/chains/reader.ts";
import { madeAddress, madeHash } from "../../../../support/bridges.ts";

const [FORWARDER, TRANSMITTER] = [madeAddress(1), madeAddress(2)];
const [TOKEN, OTHER_TOKEN, WALLET] = [madeAddress(3), madeAddress(4), madeAddress(5)];
const [ALICE, BOB, STRANGER] = [madeAddress(6), madeAddress(7), madeAddress(8)];
const [FIRST, SECOND] = [madeHash(11), madeHash(12)];
const words = new Interface([
  "event MessageReceived(address indexed caller, uint32 sourceDomain, bytes32 indexed nonce, bytes32 sender, uint32 indexed finalityThresholdExecuted, bytes messageBody)",
  "event MintAndForward(address indexed forwardRecipient, address indexed forwardingAddress, address indexed token, uint32 destinationId, uint256 amount)",
]);

type Said = readonly [by: string, name: string, args: readonly unknown[], tx?: number];
const received = (nonce: string, { caller = FORWARDER, by = TRANSMITTER, tx = 1 } = {}): Said => [
  ...([by, "MessageReceived", [caller, 3, nonce, madeHash(0), 2_000, "0x"]] as const),
  tx,
];
const forwarded = (account: string, { by = FORWARDER, token = TOKEN, tx = 1 } = {}): Said => [
  ...([by, "MintAndForward", [account, WALLET, token, 0, 5n]] as const),
  tx,
];
const credited = (account: string, nonce: string): BridgeEvent => ({
  ...{ kind: "credited", account: keyOf(account), nonce, amount: 5n },
});

function eventsOf(...said: readonly Said[]): readonly BridgeEvent[] {
  const cctp = { domain: 19, messenger: madeAddress(9), transmitter: TRANSMITTER, senders: {} };
  const read = createReader({ tokens: [TOKEN], forwarders: madeAddress(10), exchange: FORWARDER, cctp });
  return said.flatMap(([address, name, args, tx = 1], logIndex) => {
    const log = { address, ...words.encodeEventLog(name, args) };
    return read({
      ...log,
      logIndex,
      blockNumber: 7,
      blockHash: madeHash(7),
      txHash: madeHash(100 + tx),
    });
  });
}

describe("relay/chains/reader: a credit at the exchange", () => {
  it("is of the message that the exchange's contract received before it, in the same transaction", () => {
    assert.deepEqual(eventsOf(received(FIRST), forwarded(ALICE)), [credited(ALICE, FIRST)]);
    assert.deepEqual(eventsOf(received(FIRST), forwarded(ALICE), received(SECOND), forwarded(BOB)), [
      ...[credited(ALICE, FIRST), credited(BOB, SECOND)],
    ]);
    const later = { tx: 2 };
    assert.deepEqual(
      eventsOf(received(FIRST), forwarded(ALICE), received(SECOND, later), forwarded(BOB, later)),
      [...[credited(ALICE, FIRST), credited(BOB, SECOND)]],
    );
  });

  it("is never of what a stranger received or says between", () => {
    const seen = eventsOf(
      ...[received(SECOND, { by: STRANGER }), forwarded(BOB, { by: STRANGER })],
      ...[received(SECOND, { caller: STRANGER }), received(FIRST)],
      ...[received(SECOND, { caller: STRANGER }), received(SECOND, { by: STRANGER })],
      ...[forwarded(BOB, { by: STRANGER }), forwarded(ALICE), forwarded(BOB, { by: STRANGER })],
    );
    assert.deepEqual(seen, [credited(ALICE, FIRST)]);
  });

  it("is none without a message of its own, twice for one, in another transaction, or in another token", () => {
    assert.deepEqual(eventsOf(forwarded(ALICE)), []);
    assert.deepEqual(eventsOf(received(FIRST, { caller: STRANGER }), forwarded(ALICE)), []);
    assert.deepEqual(eventsOf(received(FIRST), forwarded(ALICE), forwarded(BOB)), [credited(ALICE, FIRST)]);
    assert.deepEqual(eventsOf(received(FIRST), forwarded(ALICE, { tx: 2 })), []);
    assert.deepEqual(eventsOf(received(FIRST), forwarded(ALICE, { token: OTHER_TOKEN })), []);
  });
});

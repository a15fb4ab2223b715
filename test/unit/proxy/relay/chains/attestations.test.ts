// A server that answers as the attesters' API does, or as it should not: late, wrong, long, or not at all.
import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { PATIENCE_MS } from "../../../../../scripts/base/poll.ts";
import { Attestations } from "../../../../../proxy/relay/chains/attestations.ts";
import {
  AttesterUnavailable,
  createAttesterClient,
} from "../../../../../proxy/relay/chains/attester-client.ts";
import { readBurnMessage } from "../../../../../proxy/relay/chains/burn-message.ts";
import type { Burn } from "../../../../../proxy/relay/fold/facts.ts";
import { createLogger } from "../../../../../proxy/base/logging.ts";
import { mustFromHex, toHex, word } from "../../../../../shared/protocol/bytes.ts";
import { encodeBurn, encodeMessage } from "../../../../../shared/protocol/host/cctp.ts";
import { attest } from "../../../../contract/forwarders/attesting.ts";
import { madeHash } from "../../../../support/bridges.ts";

const EMITTED = encodeMessage({
  ...{
    sourceDomain: 6,
    destinationDomain: 3,
    nonce: madeHash(0),
    sender: madeHash(61),
    recipient: madeHash(31),
  },
  ...{ destinationCaller: madeHash(0), minFinalityThreshold: 1_000, finalityThresholdExecuted: 0 },
  body: encodeBurn({
    ...{
      burnToken: madeHash(62),
      mintRecipient: madeHash(32),
      amount: 5_000_000n,
      messageSender: madeHash(63),
    },
    ...{ maxFee: 500n, feeExecuted: 0n, expirationBlock: 0n, hookData: new Uint8Array() },
  }),
});

function burnOf(n: number, message: string | undefined = toHex(EMITTED)): Burn {
  const { terms, header } = readBurnMessage(toHex(EMITTED))!;
  const place = {
    chain: "second",
    block: 1,
    blockHash: madeHash(1),
    tx: madeHash(100 + n),
    logIndex: n,
    at: 1,
  };
  return {
    ...{
      id: `burn ${String(n)}`,
      place: { ...place, confirmations: 1, isFinal: false },
      to: "home",
    },
    ...{
      ...terms,
      minFinality: header.minFinalityThreshold,
      message,
      delivery: undefined,
    },
  };
}

describe("relay attestations", () => {
  let server: Server;
  let url: string;
  let asked: string[];
  let answer: (path: string) => { readonly status: number; readonly text: string };
  let head: number;
  let clock: number;
  let burns: Burn[];
  let news: string[];
  let desk: Attestations;

  const told = (...all: readonly object[]) => ({ status: 200, text: JSON.stringify({ messages: all }) });
  const complete = (filling: Parameters<typeof attest>[1] = {}) => ({
    ...{ ...attest(EMITTED, { nonce: 7n, finality: 1_000, ...filling }), eventNonce: madeHash(7) },
    ...{ status: "complete", cctpVersion: 2, delayReason: null },
  });
  const pending = {
    message: "0x",
    attestation: "PENDING",
    eventNonce: madeHash(7),
    status: "pending_confirmations",
  };

  beforeEach(async () => {
    [asked, news, burns, head, clock] = [[], [], [burnOf(1)], 10, 0];
    answer = () => ({ status: 404, text: "{}" });
    server = createServer((request, response) => {
      asked.push(`${String(request.method)} ${String(request.url)}`);
      const { status, text } = answer(String(request.url));
      response.writeHead(status).end(text);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    desk = deskOf(PATIENCE_MS);
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const deskOf = (timeoutMs: number): Attestations =>
    new Attestations(createAttesterClient({ url, timeoutMs, maxBytes: 20_000 }), createLogger("silent"), {
      ...{ pollIntervalMs: 5, wanted: () => burns, headOf: () => head, now: () => clock },
      onChange: ({ id }) => void news.push(id),
    });
  const status = () => desk.of(burns[0]!)?.status;

  /** As public clients of the API have met them. */
  for (const [what, one] of [
    [
      "nulls",
      { attestation: "PENDING", message: null, decodedMessage: null, status: "pending_confirmations" },
    ],
    ["empty bytes", pending],
    ["nothing but its status", { status: "pending_confirmations" }],
    [
      "a status that nobody knows",
      { ...pending, status: "insufficient_fee", delayReason: "insufficient_fee" },
    ],
    ["complete without an attestation", { ...complete(), attestation: null }],
    ["no object", null],
  ] as const)
    it(`one that is told as ${what} is pending, and takes nothing from the one beside it`, async () => {
      burns = [burnOf(1), { ...burnOf(1), id: "twin" }];
      answer = () => told(one as object, complete());
      await desk.passing.sync();
      assert.deepEqual(
        burns.map((burn) => desk.of(burn)!.status),
        ["complete", "pending"],
      );
    });

  it("waits while it is pending, each time longer, and has it when it is complete", async () => {
    await desk.passing.sync();
    assert.equal(status(), "pending");
    await desk.passing.sync();
    assert.equal(asked.length, 1);
    answer = () => told(pending);
    clock = 1_000;
    await desk.passing.sync();
    clock = 2_500;
    await desk.passing.sync();
    assert.equal(asked.length, 2, "not before twice the time");
    answer = () => told(complete());
    clock = 3_000;
    await desk.passing.sync();
    assert.equal(status(), "complete");
    assert.equal(desk.of(burns[0]!)!.nonce, madeHash(7));
    assert.deepEqual(news, ["burn 1", "burn 1"]);
    clock = 62_999;
    await desk.passing.sync();
    assert.equal(asked.length, 3, "what is complete is not asked for again at once");
    assert.equal(asked[0], `GET /v2/messages/6?transactionHash=${madeHash(101)}`);
  });

  for (const [what, bend] of [
    ["another amount", (bytes: Uint8Array) => bytes.set(word(9n), 148 + 68)],
    ["another recipient", (bytes: Uint8Array) => bytes.set(word(9n), 148 + 36)],
    ["another sender", (bytes: Uint8Array) => bytes.set(word(9n), 44)],
    ["another source", (bytes: Uint8Array) => bytes.set([9], 7)],
    ["another caller", (bytes: Uint8Array) => bytes.set(word(9n), 108)],
    ["a fee above what was allowed", (bytes: Uint8Array) => bytes.set(word(501n), 148 + 164)],
    ["no nonce", (bytes: Uint8Array) => bytes.set(word(0n), 12)],
  ] as const) {
    it(`leaves a well attested message with ${what} alone`, async () => {
      answer = () => told(complete({ bend }));
      await desk.passing.sync();
      assert.equal(status(), "pending");
      burns = [burnOf(1, undefined)];
      if (what !== "another sender" && what !== "another caller" && what !== "no nonce") {
        clock = 1e6;
        await desk.passing.sync();
        assert.equal(status(), "pending", "nor for a burn that emitted none");
      }
    });
  }

  it("leaves an attestation alone that is none", async () => {
    answer = () => told({ ...complete(), attestation: `0x${"11".repeat(130)}` });
    await desk.passing.sync();
    assert.equal(status(), "pending");
  });

  it("asks again for one that has not served for a minute, and takes the right one then", async () => {
    const right = complete();
    const wrong = mustFromHex(right.attestation);
    wrong[20]! ^= 1;
    answer = () => told({ ...right, attestation: toHex(wrong) });
    await desk.passing.sync();
    // By its form it is one; the contract refuses it.
    assert.equal(status(), "complete");
    answer = () => told(right);
    clock = 60_000;
    await desk.passing.sync();
    assert.equal(desk.of(burns[0]!)!.attestation, right.attestation);
    assert.equal(asked.length, 2);
  });

  it("gives each of two like burns of one transaction a message of its own", async () => {
    burns = [burnOf(1), { ...burnOf(1), id: "twin" }];
    answer = () => told(complete(), complete({ nonce: 8n }));
    await desk.passing.sync();
    assert.deepEqual(
      burns.map((burn) => desk.of(burn)!.nonce),
      [madeHash(7), madeHash(8)],
    );
    assert.equal(asked.length, 1);
  });

  it("asks for an expired one to be attested again, and says it is expired until then", async () => {
    answer = (path) =>
      path.startsWith("/v2/reattest/")
        ? { status: 200, text: "{}" }
        : told(complete({ expirationBlock: 100n }));
    await desk.passing.sync();
    assert.equal(status(), "complete");
    head = 99;
    assert.equal(status(), "expired");
    clock = 1_000;
    await desk.passing.sync();
    assert.equal(asked.at(-1), `POST /v2/reattest/${madeHash(7)}`);
    assert.equal(status(), "expired");
    answer = () => told(complete({ finality: 2_000 }));
    clock = 10_000;
    await desk.passing.sync();
    assert.equal(status(), "complete");
  });

  it("bears an hour without attesters, asks ever less, and goes on where it was", async () => {
    answer = () => ({ status: 503, text: "away" });
    for (clock = 0; clock < 3_600_000; clock += 1_000)
      await desk.passing.sync().catch((error: unknown) => assert.ok(error instanceof AttesterUnavailable));
    assert.equal(desk.isAway(), true);
    assert.ok(asked.length > 50 && asked.length < 80, String(asked.length));
    answer = () => told(complete());
    clock += 60_000;
    await desk.passing.sync();
    assert.equal(desk.isAway(), false);
    assert.equal(status(), "complete");
  });

  for (const [what, bad] of [
    ["no JSON", { status: 200, text: "{" }],
    ["another form", { status: 200, text: "[]" }],
    ["too long", { status: 200, text: "x".repeat(30_000) }],
    ["refused by HTTP 400", { status: 400, text: "{}" }],
    ["a redirect's status", { status: 304, text: "" }],
  ] as const)
    it(`an answer that is of no use (${what}) is that burn's matter; the others go on`, async () => {
      burns = [burnOf(1), burnOf(2)];
      answer = (path) => (path.includes(madeHash(101).slice(2)) ? bad : told(complete()));
      await desk.passing.sync();
      assert.deepEqual(
        burns.map((burn) => desk.of(burn)!.status),
        ["pending", "complete"],
      );
      assert.equal(desk.isAway(), false);
      answer = () => told(complete());
      clock = 1_000;
      await desk.passing.sync();
      assert.equal(status(), "complete");
    });

  it("one transaction with 65 burns of a unit, or with thousands, holds up nobody's money", async () => {
    const client = createAttesterClient({ url });
    for (const times of [65, 3_000]) {
      const dust = { ...complete(), decodedMessage: { padding: "x".repeat(1_500) } };
      answer = () => told(...Array.from({ length: times }, () => dust));
      assert.equal((await client.messagesOf(6, madeHash(1))).length, times);
    }
  });

  it("asks no more in a pass than the API bears, and for everybody in turn, however many burns wait", async () => {
    const many = 40;
    burns = Array.from({ length: many }, (_, i) => burnOf(i));
    const askedEach: number[] = [];
    for (let pass = 0; pass < 6; pass++) {
      const before = asked.length;
      await desk.passing.sync();
      askedEach.push(asked.length - before);
      clock += 60_000;
    }
    assert.ok(
      askedEach.every((times) => times === askedEach[0] && times <= 20),
      String(askedEach),
    );
    const times = new Map(asked.map((one) => [one, asked.filter((other) => other === one).length]));
    assert.equal(times.size, many);
    assert.ok(Math.max(...times.values()) - Math.min(...times.values()) <= 1, String([...times.values()]));
  });

  it("does not ask again for one that is delivered, nor for it to be attested again", async () => {
    answer = () => told(complete({ expirationBlock: 100n }));
    head = 200;
    const place = { ...burns[0]!.place, chain: "home" };
    burns = [{ ...burns[0]!, delivery: { place, amount: 1n, nonce: madeHash(7), credit: undefined } }];
    await desk.passing.sync();
    clock = 120_000;
    await desk.passing.sync();
    assert.equal(asked.length, 1);
    assert.equal(desk.of(burns[0]!)!.nonce, madeHash(7));
  });

  it("an answer that never comes is of no use; where none comes at all the attester is away", async () => {
    burns = [burnOf(1), burnOf(2)];
    server.removeAllListeners("request");
    server.on("request", ({ url: path }, response) => {
      if (path!.includes(madeHash(102).slice(2))) response.end(told(complete()).text);
    });
    desk = deskOf(100);
    await desk.passing.sync();
    assert.deepEqual(
      [...burns.map((burn) => desk.of(burn)!.status), desk.isAway()],
      ["pending", "complete", false],
    );
    burns = [burnOf(1)];
    clock = 60_000;
    await desk.passing.sync();
    assert.equal(desk.isAway(), true);
  });

  it("forgets what is delivered or was taken back", async () => {
    answer = () => told(complete());
    await desk.passing.sync();
    const [burn] = burns;
    burns = [];
    await desk.passing.sync();
    assert.equal(desk.of(burn!), undefined);
  });

  it("reads the fee table, also with parts of a basis point", async () => {
    answer = () => ({ status: 200, text: '[{"finalityThreshold":1000,"minimumFee":1.3}]' });
    const client = createAttesterClient({ url });
    assert.deepEqual(await client.fees(6, 3), [{ finalityThreshold: 1000, minimumFee: 1.3 }]);
    answer = () => ({ status: 404, text: "{}" });
    assert.equal(await client.fees(6, 99), undefined);
  });

  it("compares by the bytes, so a message of another length is none", () => {
    assert.equal(readBurnMessage(toHex(mustFromHex(toHex(EMITTED)).slice(0, 200))), undefined);
  });
});

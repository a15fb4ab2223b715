import assert from "node:assert/strict";
import fc from "fast-check";
import { FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex, word } from "../../../shared/protocol/bytes.ts";
import {
  decodeRequest,
  encodeReply,
  FRAME_HEADER_BYTES,
  FrameSplitter,
  MAX_FRAME_BYTES,
  REFUSALS,
  type AttestRequest,
  type EnclaveRequest,
} from "../../../shared/protocol/enclave-messages.ts";
import { decodeReply, encodeRequest } from "../../../shared/protocol/host/enclave-host.ts";
import { anyReply, anyRequest, anyRequestId, REPLIES, REQUESTS } from "./messages.ts";

const fromSpaced = (hex: string): Uint8Array => mustFromHex(`0x${hex.replaceAll(" ", "")}`);
const payloadOf = (frame: Uint8Array): Uint8Array => frame.slice(FRAME_HEADER_BYTES);
const requestNamed = (wanted: string): EnclaveRequest =>
  REQUESTS.find(({ name }) => name === wanted)!.message;

describe("the wire between proxy and enclave", () => {
  for (const { name, requestId, message, hex } of REQUESTS) {
    it(`request ${name}: both ends have these bytes`, () => {
      const frame = fromSpaced(hex);
      assert.equal(toHex(encodeRequest(requestId, message)), toHex(frame));
      assert.deepEqual(new FrameSplitter().push(frame), [payloadOf(frame)]);
      assert.deepEqual(decodeRequest(payloadOf(frame)), { requestId, message });
    });
  }

  for (const { name, requestId, message, hex } of REPLIES) {
    it(`reply ${name}: both ends have these bytes`, () => {
      const frame = fromSpaced(hex);
      assert.equal(toHex(encodeReply(requestId, message)), toHex(frame));
      assert.deepEqual(new FrameSplitter().push(frame), [payloadOf(frame)]);
      assert.deepEqual(decodeReply(payloadOf(frame)), { requestId, message });
    });
  }

  it("keeps every refusal's code where it is: old clients know it by its number", () => {
    assert.deepEqual(
      [...REFUSALS],
      [
        "WRONG_PHASE",
        "BUSY",
        "UNKNOWN_KIND",
        "SIGNAL_COUNT",
        "SIGNAL_RANGE",
        "PROOF_NOT_CANONICAL",
        "PROOF_NOT_ON_CURVE",
        "PROOF_NOT_IN_SUBGROUP",
        "PROOF_AT_INFINITY",
        "EXT_MALFORMED",
        "NULLIFIERS_NOT_DISTINCT",
        "CONTEXT_MISMATCH",
        "STATEMENT_INVALID",
        "PROOF_INVALID",
        "FRONTIER_INVALID",
        "LEAVES_INVALID",
        "NONCE_INVALID",
        "PLATFORM_UNAVAILABLE",
        "RESTORE_REFUSED",
      ],
    );
  });

  it("reads back any request and any reply, and nothing shorter or longer", () => {
    fc.assert(
      fc.property(anyRequestId, anyRequest, (requestId, message) => {
        const payload = payloadOf(encodeRequest(requestId, message));
        assert.deepEqual(decodeRequest(payload), { requestId, message });
        assert.equal(decodeRequest(payload.slice(0, -1)), undefined);
        assert.equal(decodeRequest(concatBytes(payload, Uint8Array.of(0))), undefined);
      }),
    );
    fc.assert(
      fc.property(anyRequestId, anyReply, (requestId, message) => {
        const payload = payloadOf(encodeReply(requestId, message));
        assert.deepEqual(decodeReply(payload), { requestId, message });
        // What comes last has no length but the frame's.
        if (["attestation", "genesis", "release-request"].includes(message.type)) return;
        assert.equal(decodeReply(payload.slice(0, -1)), undefined);
        assert.equal(decodeReply(concatBytes(payload, Uint8Array.of(0))), undefined);
      }),
    );
  });

  it("has one spelling for each message: what is read is written the same", () => {
    const mutated = fc
      .tuple(anyRequestId, anyRequest, fc.nat(), fc.nat(255))
      .map(([id, request, at, value]) => {
        const payload = payloadOf(encodeRequest(id, request));
        payload[at % payload.length] = value;
        return payload;
      });
    fc.assert(
      fc.property(mutated, (payload) => {
        const read = decodeRequest(payload);
        if (read !== undefined)
          assert.deepEqual(payloadOf(encodeRequest(read.requestId, read.message)), payload);
      }),
    );
  });

  it("never throws, whatever arrives", () => {
    // Known types and short counts, so that the readers of bodies are reached as well.
    const type = fc.constantFrom(1, 2, 3, 4, 5, 6, 7, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0xff, 0, 99);
    const likely = fc
      .tuple(fc.uint8Array({ minLength: 4, maxLength: 4 }), type, fc.uint8Array({ maxLength: 700 }))
      .map(([id, kind, body]) => concatBytes(id, Uint8Array.of(kind), body));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), likely), (payload) => {
        decodeRequest(payload);
        decodeReply(payload);
      }),
      { numRuns: 5_000 },
    );
  });

  describe("a request that is none", () => {
    const attest = payloadOf(encodeRequest(1, requestNamed("attest")));
    const root = payloadOf(encodeRequest(1, requestNamed("attest-root")));
    const restore = payloadOf(encodeRequest(1, requestNamed("restore")));
    const bent = (payload: Uint8Array, at: number, value: number): Uint8Array => {
      const copy = new Uint8Array(payload);
      copy[at] = value;
      return copy;
    };
    const countOfSignals = 4 + 1 + 8 + 20 + 1 + 8 + 256;
    const countOfNodes = 4 + 1 + 8 + 20 + 8 + 32;
    const countOfLeaves = countOfNodes + 1 + 64;
    const bad: Record<string, Uint8Array> = {
      "has no type": new Uint8Array(4),
      "has the type of a reply": bent(attest, 4, 0x86),
      "counts more signals than it carries": bent(attest, countOfSignals, 3),
      "counts fewer signals than it carries": bent(attest, countOfSignals, 1),
      "announces an ext of 4 GiB": bent(attest, countOfSignals + 65, 0xff),
      "counts more nodes than it carries": bent(root, countOfNodes, 200),
      "counts no leaves": bent(root.slice(0, countOfLeaves + 2), countOfLeaves + 1, 0),
      "counts 65,281 leaves": bent(root, countOfLeaves, 0xff),
      "ends within the pool's address": root.slice(0, 20),
      "ends within the head": root.slice(0, 50),
      "seals less than it says": bent(restore, 5, 2),
      "ends within the birth certificate": restore.slice(0, 5 + 2 + 256 + 2 + 1),
      "has no envelope at all": restore.slice(0, 5 + 2 + 256 + 2 + 2),
      "asks for a document and says more": Uint8Array.of(0, 0, 0, 1, 4, 0),
      "challenges with fewer bytes than it says": Uint8Array.of(0, 0, 0, 1, 3, 2, 0),
    };
    for (const [what, payload] of Object.entries(bad)) {
      it(what, () => assert.equal(decodeRequest(payload), undefined));
    }

    it("carries 257 leaves, which no frame's length forbids", () => {
      const message = requestNamed("attest-root");
      assert.ok(message.type === "attest-root");
      const many = (count: number): Uint8Array =>
        payloadOf(encodeRequest(1, { ...message, leaves: Array.from({ length: count }, () => 1n) }));
      assert.notEqual(decodeRequest(many(256)), undefined);
      assert.equal(decodeRequest(many(257)), undefined);
    });
  });

  describe("a reply that no honest enclave sends", () => {
    const status = payloadOf(encodeReply(1, REPLIES[0]!.message));
    const root = payloadOf(encodeReply(1, REPLIES.find(({ name }) => name === "attest-root")!.message));
    it("names a phase that does not exist", () => {
      assert.equal(decodeReply(status.with(5, 3)), undefined);
    });
    it("names a refusal that does not exist", () => {
      assert.equal(decodeReply(Uint8Array.of(0, 0, 0, 1, 0xff, REFUSALS.length)), undefined);
    });
    for (const at of [5, 37]) {
      it(`gives a root of r (at byte ${String(at)})`, () => {
        const copy = new Uint8Array(root);
        copy.set(word(FIELD_ORDER), at);
        assert.equal(decodeReply(copy), undefined);
      });
    }
    it("ends within its signature", () => assert.equal(decodeReply(root.slice(0, -65)), undefined));
    it("restores no whole signer", () => {
      assert.equal(decodeReply(Uint8Array.of(0, 0, 0, 1, 0x85, ...new Uint8Array(19))), undefined);
    });
    it("seals more than it carries", () => {
      assert.equal(decodeReply(Uint8Array.of(0, 0, 0, 1, 0x83, 0, 3, 1, 2)), undefined);
    });
    it("is empty", () => assert.equal(decodeReply(new Uint8Array(0)), undefined));
  });

  it("throws for a message of ours that its layout cannot carry", () => {
    const attest = requestNamed("attest") as AttestRequest;
    const misfits: EnclaveRequest[] = [
      { ...attest, proof: new Uint8Array(255) },
      { ...attest, chainId: 1n << 64n },
      { ...attest, kindId: 256 },
      { ...attest, deadline: -1n },
      { ...attest, signals: [1n << 256n] },
      { ...attest, ext: new Uint8Array(MAX_FRAME_BYTES) },
      { type: "attestation", nonce: new Uint8Array(256) },
      { type: "genesis", challenge: new Uint8Array(256) },
    ];
    for (const message of misfits) assert.throws(() => encodeRequest(1, message), RangeError);
    assert.throws(
      () => encodeReply(1, { type: "attestation", document: new Uint8Array(MAX_FRAME_BYTES) }),
      RangeError,
    );
  });
});

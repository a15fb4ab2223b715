import assert from "node:assert/strict";
import { decodeCbor, encodeCbor, type Cbor } from "../../../shared/protocol/cbor.ts";
import {
  decodeAttestationReply,
  decodeRandomReply,
  encodeAttestationRequest,
  encodeRandomRequest,
} from "../../../enclave/nsm.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";

const map = (...entries: [string, Cbor][]): Cbor => new Map(entries);

describe("enclave/nsm", () => {
  it("asks for randomness with a bare text, as a unit variant is spelled", () => {
    assert.equal(toHex(encodeRandomRequest()), "0x6947657452616e646f6d");
  });

  it("asks for a document with all three fields, null when absent", () => {
    const userData = Uint8Array.of(1);
    const nonce = Uint8Array.of(2);
    const publicKey = Uint8Array.of(3);
    assert.deepEqual(
      decodeCbor(encodeAttestationRequest({ userData, nonce })),
      map(["Attestation", map(["user_data", userData], ["nonce", nonce], ["public_key", null])]),
    );
    assert.deepEqual(
      decodeCbor(encodeAttestationRequest({ userData, nonce, publicKey })),
      map(["Attestation", map(["user_data", userData], ["nonce", nonce], ["public_key", publicKey])]),
    );
  });

  it("takes as much randomness as it asked for, never less", () => {
    const random = Uint8Array.from({ length: 256 }, (_, i) => i);
    const reply = encodeCbor(map(["GetRandom", map(["random", random])]));
    assert.deepEqual(decodeRandomReply(reply, 32), random.slice(0, 32));
    assert.deepEqual(decodeRandomReply(reply, 256), random);
    assert.equal(decodeRandomReply(reply, 257), undefined);
  });

  it("takes a document that is there", () => {
    const document = Uint8Array.of(9, 9);
    const reply = (value: Cbor): Uint8Array => encodeCbor(map(["Attestation", map(["document", value])]));
    assert.deepEqual(decodeAttestationReply(reply(document)), document);
    assert.equal(decodeAttestationReply(reply(new Uint8Array(0))), undefined);
    assert.equal(decodeAttestationReply(reply("document")), undefined);
  });

  it("takes an error, another answer, and what is no CBOR, for no answer", () => {
    const others: Cbor[] = [
      map(["Error", "InternalError"]),
      map(["DescribeNSM", map(["random", new Uint8Array(32)], ["document", new Uint8Array(32)])]),
      "GetRandom",
      null,
      map(["GetRandom", map(["random", "text"])]),
    ];
    for (const reply of [...others.map(encodeCbor), new Uint8Array(0), Uint8Array.of(0xff)]) {
      assert.equal(decodeRandomReply(reply, 1), undefined);
      assert.equal(decodeAttestationReply(reply), undefined);
    }
  });
});

import assert from "node:assert/strict";
import { decodeCbor, encodeCbor, entryOf, type Cbor } from "../../../../../shared/protocol/cbor.ts";
import {
  decodeAttestationReply,
  decodeRandomReply,
  encodeAttestationRequest,
  encodeRandomRequest,
} from "../../../../../enclave/nsm.ts";
import { makeRoot, toPem } from "../../../../../scripts/image/certificates.ts";
import { simulatedModule } from "../../../../../scripts/stand-ins/platform/nsm.ts";
import { openDocument } from "../../../enclave/support/documents.ts";
import { MEASUREMENT } from "../../../enclave/support/platforms.ts";

describe("scripts/stand-ins/platform/nsm", () => {
  const root = makeRoot(new Date());
  const module = simulatedModule(root, MEASUREMENT);
  const error = (reply: Uint8Array): Cbor | undefined => entryOf(decodeCbor(reply), "Error");

  it("gives 256 random bytes, others each time", () => {
    const draw = (): Uint8Array | undefined => decodeRandomReply(module.answer(encodeRandomRequest()), 256);
    assert.equal(draw()?.length, 256);
    assert.notDeepEqual(draw(), draw());
  });

  it("signs what it is given under its root, with sixteen registers of which three are measured", () => {
    const request = { nonce: Uint8Array.of(1), userData: Uint8Array.of(2), publicKey: Uint8Array.of(3) };
    const document = decodeAttestationReply(module.answer(encodeAttestationRequest(request)));
    assert.ok(document);
    const fields = openDocument(document, toPem(root.certificate));
    assert.equal(entryOf(fields, "digest"), "SHA384");
    assert.deepEqual(entryOf(fields, "nonce"), request.nonce);
    assert.deepEqual(entryOf(fields, "user_data"), request.userData);
    assert.deepEqual(entryOf(fields, "public_key"), request.publicKey);
    const registers = Array.from({ length: 17 }, (_, i) => entryOf(entryOf(fields, "pcrs"), i));
    const hex = registers.map((value) =>
      value === undefined ? "none" : Buffer.from(value as Uint8Array).toString("hex"),
    );
    const empty = "00".repeat(48);
    const { pcr0, pcr1, pcr2 } = MEASUREMENT;
    assert.deepEqual(hex, [pcr0, pcr1, pcr2, ...Array.from({ length: 13 }, () => empty), "none"]);
  });

  it("fails under another root, and when a byte is changed", () => {
    const reply = module.answer(
      encodeAttestationRequest({ nonce: Uint8Array.of(1), userData: Uint8Array.of(2) }),
    );
    const document = decodeAttestationReply(reply)!;
    assert.throws(() => openDocument(document, toPem(makeRoot(new Date()).certificate)));
    const changed = new Uint8Array(document);
    changed[document.length - 1]! ^= 1;
    assert.throws(() => openDocument(changed, toPem(root.certificate)), /signed by the leaf/);
  });

  it("refuses what the real module refuses", () => {
    const attest = (fields: Record<string, Cbor>): Uint8Array =>
      module.answer(encodeCbor(new Map([["Attestation", new Map(Object.entries(fields))]])));
    assert.equal(error(attest({ nonce: new Uint8Array(513) })), "InputTooLarge");
    assert.equal(error(attest({ user_data: new Uint8Array(513) })), "InputTooLarge");
    assert.equal(error(attest({ public_key: new Uint8Array(1025) })), "InputTooLarge");
    assert.ok(
      decodeAttestationReply(attest({ nonce: new Uint8Array(512), public_key: new Uint8Array(1024) })),
    );
    assert.ok(decodeAttestationReply(attest({})));
    for (const request of [
      encodeCbor("DescribeNSM"),
      encodeCbor(new Map([["Attestation", null]])),
      Uint8Array.of(0xff),
    ]) {
      assert.equal(error(module.answer(request)), "InvalidOperation");
    }
  });
});

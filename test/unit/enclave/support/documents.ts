// Reads an attestation document as a verifier would, with node:crypto: signature, chain, fields.
import assert from "node:assert/strict";
import { verify, X509Certificate } from "node:crypto";
import { decodeCbor, encodeCbor, entryOf, type Cbor } from "../../../../shared/protocol/cbor.ts";

/** Fails unless the document is signed by a leaf whose chain ends in `rootPem`. */
export function openDocument(document: Uint8Array, rootPem: string): Cbor {
  const [header, unprotected, payload, signature] = decodeCbor(document) as readonly Cbor[];
  assert.deepEqual(unprotected, new Map());
  assert.deepEqual(decodeCbor(header as Uint8Array), new Map([[1, -35]]));
  const fields = decodeCbor(payload as Uint8Array)!;

  const bundle = entryOf(fields, "cabundle") as readonly Uint8Array[];
  const chain = [...bundle, entryOf(fields, "certificate") as Uint8Array].map(
    (der) => new X509Certificate(der),
  );
  const root = new X509Certificate(rootPem);
  assert.deepEqual(chain[0]?.raw, root.raw, "the bundle begins with the root");
  const now = Date.now();
  chain.forEach((certificate, i) => {
    const issuer = chain[Math.max(i - 1, 0)]!;
    assert.ok(certificate.verify(issuer.publicKey), "signed by the one before");
    assert.ok(certificate.checkIssued(issuer));
    assert.equal(certificate.ca, i < chain.length - 1);
    assert.ok(Date.parse(certificate.validFrom) <= now && now <= Date.parse(certificate.validTo));
    assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, "secp384r1");
  });
  const signed = encodeCbor(["Signature1", header!, new Uint8Array(0), payload!]);
  const key = { key: chain.at(-1)!.publicKey, dsaEncoding: "ieee-p1363" as const };
  assert.ok(verify("sha384", signed, key, signature as Uint8Array), "signed by the leaf");
  return fields;
}

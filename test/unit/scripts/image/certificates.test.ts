import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { makeIntermediate, makeLeaf, makeRoot, ROOT_NAME } from "../../../../scripts/image/certificates.ts";

const NOW = new Date("2026-03-01T12:34:56Z");
const read = (certificate: Uint8Array): X509Certificate => new X509Certificate(certificate);

describe("scripts/image/certificates", () => {
  const root = makeRoot(NOW);
  const intermediate = makeIntermediate(root, NOW);
  const leaf = makeLeaf(intermediate, "module", NOW);

  it("makes a chain that node:crypto accepts", () => {
    for (const [subject, issuer] of [
      [root, root],
      [intermediate, root],
      [leaf, intermediate],
    ] as const) {
      const certificate = read(subject.certificate);
      assert.ok(certificate.checkIssued(read(issuer.certificate)));
      assert.ok(certificate.verify(read(issuer.certificate).publicKey));
      assert.ok(certificate.checkPrivateKey(subject.privateKey));
      assert.equal(certificate.ca, subject !== leaf);
      assert.equal(certificate.subject, `CN=${subject.name}`);
      assert.equal(certificate.publicKey.asymmetricKeyDetails?.namedCurve, "secp384r1");
    }
    assert.equal(read(root.certificate).verify(read(leaf.certificate).publicKey), false);
    assert.match(ROOT_NAME, /not for production/);
  });

  it("gives a leaf three hours, and dates from 2050 on a four-digit year", () => {
    const hours = Date.parse(read(leaf.certificate).validTo) - NOW.getTime();
    assert.equal(hours, 3 * 3_600_000);
    const late = read(makeRoot(new Date("2045-01-01T00:00:00Z")).certificate);
    assert.equal(new Date(late.validFrom).getUTCFullYear(), 2044);
    assert.ok(Date.parse(late.validTo) > Date.parse("2054-01-01"));
  });
});

import assert from "node:assert/strict";
import { sign, X509Certificate } from "node:crypto";
import fc from "fast-check";
import { p384 } from "@noble/curves/nist.js";
import { concatBytes, equalBytes } from "../../../../shared/protocol/bytes.ts";
import { isSigned, readCertificate, verifyChain } from "../../../../shared/protocol/x509.ts";
import {
  authority,
  authorityUsage,
  BASIC_CONSTRAINTS,
  certificateOf,
  chainOf,
  der,
  ECDSA_WITH_SHA256,
  ecKey,
  endEntity,
  extension,
  generalizedTime,
  hex,
  KEY_USAGE,
  KEYS,
  leafUsage,
  NOW,
  partsOf,
  sequence,
  time,
  utcTime,
  type CertificateParts,
  type ChainChanges,
  type Role,
} from "../../../support/crafted-attestation.ts";

const crafted = (role: Role, changes: Partial<CertificateParts> = {}): Uint8Array =>
  certificateOf(partsOf(role, changes));
const read = (role: Role, changes: Partial<CertificateParts> = {}): ReturnType<typeof readCertificate> =>
  readCertificate(crafted(role, changes));
/** extKeyUsage: one that is not understood here. */
const UNKNOWN = "551d25";

describe("shared/protocol/x509, reading", () => {
  it("reads what node:crypto reads", () => {
    for (const role of ["root", "region", "zone", "leaf"] as const) {
      const bytes = crafted(role);
      const ours = readCertificate(bytes);
      const theirs = new X509Certificate(bytes);
      assert.ok(ours);
      assert.equal(ours.notBeforeMs, Date.parse(theirs.validFrom));
      assert.equal(ours.notAfterMs, Date.parse(theirs.validTo));
      assert.equal(ours.isAuthority, theirs.ca);
      assert.deepEqual(ours.publicKey, KEYS[role].spki.slice(-97));
      assert.deepEqual(equalBytes(ours.issuer, ours.subject), theirs.issuer === theirs.subject);
    }
  });

  it("reads rights: authority, path length, usage", () => {
    const rights = (role: Role, extensions: readonly Uint8Array[]): unknown[] => {
      const certificate = read(role, { extensions });
      return [certificate?.isAuthority, certificate?.pathLength, certificate?.keyUsage];
    };
    assert.deepEqual(rights("root", [authority(), authorityUsage()]), [true, Infinity, 0x86]);
    assert.deepEqual(rights("zone", [authority(0), authorityUsage()]), [true, 0, 0x86]);
    assert.deepEqual(rights("zone", [authority(127), authorityUsage()]), [true, 127, 0x86]);
    assert.equal(rights("leaf", [endEntity(), leafUsage()])[0], false);
    assert.equal(rights("leaf", [leafUsage()])[0], false);
    const plain = extension(BASIC_CONSTRAINTS, false, hex("3000"));
    assert.equal(rights("leaf", [plain, leafUsage()])[0], false);
  });

  it("does not mind an unknown extension that is not critical", () => {
    const extra = extension(UNKNOWN, false, hex("3000"));
    assert.ok(read("leaf", { extensions: [endEntity(), leafUsage(), extra] }));
  });

  const refused: Record<string, [Role, Partial<CertificateParts>]> = {
    "a byte left over": ["leaf", { alter: (bytes) => concatBytes(bytes, Uint8Array.of(0)) }],
    "a certificate cut off": ["leaf", { alter: (bytes) => bytes.slice(0, -1) }],
    "version 1": ["leaf", { version: hex("a003020100") }],
    "version 2": ["leaf", { version: hex("a003020101") }],
    "no version": ["leaf", { version: new Uint8Array(0) }],
    "no serial number": ["leaf", { serial: new Uint8Array(0) }],
    "unique identifiers": ["leaf", { uniqueIds: hex("810200ff") }],
    "another algorithm inside and outside": [
      "leaf",
      { algorithm: ECDSA_WITH_SHA256, outerAlgorithm: ECDSA_WITH_SHA256, hash: "sha256" },
    ],
    "another algorithm inside": ["leaf", { algorithm: ECDSA_WITH_SHA256 }],
    "another algorithm outside": ["leaf", { outerAlgorithm: ECDSA_WITH_SHA256 }],
    "algorithm parameters": [
      "leaf",
      { algorithm: hex("300c06082a8648ce3d0403030500"), outerAlgorithm: hex("300c06082a8648ce3d0403030500") },
    ],
    "a signature that does not end at a byte": ["leaf", { unusedSignatureBits: 1 }],
    "a P-256 key": ["leaf", { key: ecKey("P-256").spki }],
    "a compressed key": ["leaf", { key: compressed() }],
    "a hybrid key": ["leaf", { key: altered(KEYS.leaf.spki, 23, 0x02) }],
    "no end of validity": ["leaf", { validity: sequence(time(new Date(NOW))) }],
    "three dates": ["leaf", { validity: sequence(...[1, 2, 3].map(() => time(new Date(NOW)))) }],
    "a date without its Z": ["leaf", { from: utcTime("260301120000") }],
    "a date of another zone": ["leaf", { from: utcTime("2603011200+0100") }],
    "a date without seconds": ["leaf", { from: utcTime("2603011200Z") }],
    "a date with fractions": ["leaf", { from: generalizedTime("20260301120000.5Z") }],
    "a date in text": ["leaf", { from: der(0x0c, new TextEncoder().encode("260301120000Z")) }],
    "a long date in text": ["leaf", { from: der(0x0c, new TextEncoder().encode("20260301120000Z")) }],
    "month 0": ["leaf", { from: utcTime("260001120000Z") }],
    "month 13": ["leaf", { from: utcTime("261301120000Z") }],
    "day 0": ["leaf", { from: utcTime("260300120000Z") }],
    "day 32": ["leaf", { from: utcTime("260332120000Z") }],
    "hour 24": ["leaf", { from: utcTime("260301240000Z") }],
    "minute 60": ["leaf", { from: utcTime("260301126000Z") }],
    "second 60": ["leaf", { from: utcTime("260301120060Z") }],
    "no extensions": ["leaf", { extensions: [] }],
    "no key usage": ["leaf", { extensions: [endEntity()] }],
    "an unknown critical extension": [
      "leaf",
      { extensions: [endEntity(), leafUsage(), extension(UNKNOWN, true, hex("3000"))] },
    ],
    "an extension twice": ["leaf", { extensions: [endEntity(), leafUsage(), leafUsage()] }],
    "constraints twice, the second an authority's": [
      "leaf",
      { extensions: [endEntity(), leafUsage(), authority()] },
    ],
    "an extension that is no sequence": [
      "leaf",
      { extensions: [endEntity(), leafUsage(), der(0x31, hex("0603551d25"), hex("04023000"))] },
    ],
    "an extension without a value": [
      "leaf",
      { extensions: [endEntity(), leafUsage(), sequence(hex("0603551d25"))] },
    ],
    "a critical mark that is spelled false": [
      "leaf",
      { extensions: [endEntity(), sequence(hex("0603551d0f"), hex("010100"), hex("0404030206c0"))] },
    ],
    "a critical mark that is spelled 01": [
      "leaf",
      { extensions: [endEntity(), sequence(hex("0603551d0f"), hex("010101"), hex("0404030206c0"))] },
    ],
    "a critical mark of two bytes": [
      "leaf",
      { extensions: [endEntity(), sequence(hex("0603551d0f"), hex("0102ff00"), hex("0404030206c0"))] },
    ],
    "a critical mark of no bytes": [
      "leaf",
      { extensions: [endEntity(), sequence(hex("0603551d0f"), hex("0100"), hex("0404030206c0"))] },
    ],
    "an authority whose constraints are not critical": [
      "zone",
      { extensions: [extension(BASIC_CONSTRAINTS, false, hex("30030101ff")), authorityUsage()] },
    ],
    "a cA that is spelled false": [
      "leaf",
      { extensions: [extension(BASIC_CONSTRAINTS, true, hex("3003010100")), leafUsage()] },
    ],
    "a cA that is spelled 01": [
      "zone",
      { extensions: [extension(BASIC_CONSTRAINTS, true, hex("3003010101")), authorityUsage()] },
    ],
    "a path length without cA": [
      "leaf",
      { extensions: [extension(BASIC_CONSTRAINTS, true, hex("3003020100")), leafUsage()] },
    ],
    "a negative path length": [
      "zone",
      { extensions: [extension(BASIC_CONSTRAINTS, true, hex("30060101ff020180")), authorityUsage()] },
    ],
    "a path length of two bytes": [
      "zone",
      { extensions: [extension(BASIC_CONSTRAINTS, true, hex("30070101ff02020000")), authorityUsage()] },
    ],
    "constraints with a byte left over": [
      "leaf",
      { extensions: [extension(BASIC_CONSTRAINTS, true, hex("300000")), leafUsage()] },
    ],
    "a usage with padding that is not zero": [
      "leaf",
      { extensions: [endEntity(), extension(KEY_USAGE, true, hex("030206c1"))] },
    ],
    "a usage that ends with a zero bit": [
      "leaf",
      { extensions: [endEntity(), extension(KEY_USAGE, true, hex("03020580"))] },
    ],
    "a usage with eight bits of padding": [
      "leaf",
      { extensions: [endEntity(), extension(KEY_USAGE, true, hex("03020880"))] },
    ],
    "a usage without bits": [
      "leaf",
      { extensions: [endEntity(), extension(KEY_USAGE, true, hex("030100"))] },
    ],
    "a usage that is no bit string": [
      "leaf",
      { extensions: [endEntity(), extension(KEY_USAGE, true, hex("040206c0"))] },
    ],
    "an indefinite length": [
      "leaf",
      { extensions: [endEntity(), leafUsage(), hex("30800603551d25040230000000")] },
    ],
  };
  for (const [what, [role, changes]] of Object.entries(refused)) {
    it(`refuses ${what}`, () => {
      assert.ok(read(role));
      assert.equal(read(role, changes), undefined);
    });
  }

  it("refuses what is no certificate", () => {
    for (const bytes of [new Uint8Array(0), hex("3000"), hex("020105"), KEYS.leaf.spki])
      assert.equal(readCertificate(bytes), undefined);
  });

  it("reads dates as the calendar has them", () => {
    const dates = fc.date({
      min: new Date("1950-01-01T00:00:00Z"),
      max: new Date("9999-12-31T23:59:59Z"),
      noInvalidDate: true,
    });
    const seconds = dates.map((date) => Math.floor(date.getTime() / 1000) * 1000);
    const days = [
      "1970-01-01",
      "1999-12-31",
      "2000-02-29",
      "2049-12-31",
      "2050-01-01",
      "2100-02-28",
      "2400-02-29",
    ];
    fc.assert(
      fc.property(seconds, (ms) => {
        assert.equal(read("leaf", { from: time(new Date(ms)) })?.notBeforeMs, ms);
      }),
      { numRuns: 200, examples: days.map((day) => [Date.parse(`${day}T23:59:59Z`)]) },
    );
    assert.equal(read("leaf", { from: utcTime("500101000000Z") })?.notBeforeMs, Date.UTC(1950, 0, 1));
    assert.equal(
      read("leaf", { from: utcTime("491231235959Z") })?.notBeforeMs,
      Date.UTC(2049, 11, 31, 23, 59, 59),
    );
  });
});

describe("shared/protocol/x509, chains", () => {
  const verify = (changes: ChainChanges = {}, at = NOW): ReturnType<typeof verifyChain> =>
    verifyChain(chainOf(changes).map(readCertificate), at);

  it("accepts root, region, zone, leaf", () => assert.equal(verify(), undefined));

  it("accepts a leaf right under the root", () => {
    const { root } = KEYS;
    const chain = [crafted("root"), crafted("leaf", { issuer: "root", signer: root.privateKey })];
    assert.equal(verifyChain(chain.map(readCertificate), NOW), undefined);
  });

  const broken: Record<string, ChainChanges> = {
    "a leaf signed by a foreign key": { leaf: { signer: KEYS.foreign.privateKey } },
    "an authority signed by a foreign key": { region: { signer: KEYS.foreign.privateKey } },
    "a leaf that names another issuer": { leaf: { issuer: "region" } },
    "an authority that names another issuer": { zone: { issuer: "root" } },
    "an authority that is none": { zone: { extensions: [endEntity(), authorityUsage()] } },
    "an authority without constraints": { zone: { extensions: [authorityUsage()] } },
    "a root that is no authority": { root: { extensions: [endEntity(), authorityUsage()] } },
    "an authority that may not sign certificates": {
      zone: { extensions: [authority(0), extension(KEY_USAGE, true, hex("03020780"))] },
    },
    "a root that may not sign certificates": {
      root: { extensions: [authority(), extension(KEY_USAGE, true, hex("03020780"))] },
    },
    "a path longer than the region allows": { region: { extensions: [authority(0), authorityUsage()] } },
    "a path longer than the root allows": { root: { extensions: [authority(1), authorityUsage()] } },
    "a leaf that is an authority": { leaf: { extensions: [authority(0), authorityUsage()] } },
    "a leaf that may not sign": {
      leaf: { extensions: [endEntity(), extension(KEY_USAGE, true, hex("03020640"))] },
    },
    "a certificate that cannot be read": { zone: { version: hex("a003020100") } },
    "a key that is not on the curve": { region: { key: altered(KEYS.region.spki, 60, 0xff) } },
  };
  for (const [what, changes] of Object.entries(broken)) {
    it(`refuses ${what}`, () => assert.equal(verify(changes), "CHAIN_INVALID"));
  }

  it("takes one usage alone for each: a leaf signs, an authority signs certificates", () => {
    for (let unused = 0; unused < 8; unused += 1) {
      const bit = 1 << unused;
      const usage = extension(KEY_USAGE, true, Uint8Array.of(3, 2, unused, bit));
      const leaf = verify({ leaf: { extensions: [endEntity(), usage] } });
      const zone = verify({ zone: { extensions: [authority(0), usage] } });
      // RFC 5280 4.2.1.3: digitalSignature is bit 0, keyCertSign bit 5, counted from the top of the byte.
      assert.equal(leaf, bit === 0x80 ? undefined : "CHAIN_INVALID");
      assert.equal(zone, bit === 0x04 ? undefined : "CHAIN_INVALID");
    }
  });

  it("refuses certificates in another order, one left out, and one twice", () => {
    const [root, region, zone, leaf] = chainOf().map(readCertificate);
    for (const chain of [
      [root, zone, region, leaf],
      [leaf, zone, region, root],
      [root, zone, leaf],
      [root, region, region, zone, leaf],
      [root, region, zone],
      [root, root],
    ]) {
      assert.equal(verifyChain(chain, NOW), "CHAIN_INVALID");
    }
  });

  it("judges the dates of every certificate, bounds included", () => {
    const from = new Date(NOW);
    const later = new Date(NOW + 1000);
    const earlier = new Date(NOW - 1000);
    for (const role of ["root", "region", "zone", "leaf"] as const) {
      assert.equal(verify({ [role]: { from: time(from) } }), undefined);
      assert.equal(verify({ [role]: { until: time(from) } }), undefined);
      assert.equal(verify({ [role]: { from: time(later) } }), "CERTIFICATE_NOT_YET_VALID");
      assert.equal(verify({ [role]: { until: time(earlier) } }), "CERTIFICATE_EXPIRED");
    }
    assert.equal(verify({}, NOW + 3 * 3_600_000), "CERTIFICATE_EXPIRED");
    assert.equal(verify({}, Number.NaN), "CERTIFICATE_EXPIRED");
  });

  it("calls a chain expired that no clock makes good again, though another of it has not begun", () => {
    const later = time(new Date(NOW + 1000));
    const earlier = time(new Date(NOW - 1000));
    assert.equal(verify({ root: { from: later }, leaf: { until: earlier } }), "CERTIFICATE_EXPIRED");
    assert.equal(verify({ root: { until: earlier }, leaf: { from: later } }), "CERTIFICATE_EXPIRED");
  });

  it("calls a forged certificate forged, whatever its dates", () => {
    const forged = { signer: KEYS.foreign.privateKey, until: time(new Date(NOW - 1000)) };
    assert.equal(verify({ leaf: forged }), "CHAIN_INVALID");
  });
});

describe("shared/protocol/x509, signatures", () => {
  const message = new TextEncoder().encode("message");
  const key = KEYS.leaf.spki.slice(-97);
  const made = (format: "der" | "ieee-p1363"): Uint8Array =>
    new Uint8Array(sign("sha384", message, { key: KEYS.leaf.privateKey, dsaEncoding: format }));

  it("accepts both halves of s, in both forms", () => {
    const { Fn } = p384.Point;
    const signature = made("ieee-p1363");
    const s = Fn.toBytes(Fn.neg(Fn.fromBytes(signature.slice(48))));
    const twin = concatBytes(signature.slice(0, 48), s);
    assert.ok(isSigned(message, signature, key, "compact"));
    assert.ok(isSigned(message, twin, key, "compact"));
    assert.ok(isSigned(message, made("der"), key, "der"));
  });

  it("refuses another message, another key, zeros, and DER that is not strict", () => {
    const signature = made("ieee-p1363");
    assert.ok(!isSigned(Uint8Array.of(1), signature, key, "compact"));
    assert.ok(!isSigned(message, signature, KEYS.foreign.spki.slice(-97), "compact"));
    assert.ok(!isSigned(message, new Uint8Array(96), key, "compact"));
    const strict = made("der");
    const integers = concatBytes(hex("0200"), hex("020101"));
    for (const bytes of [
      concatBytes(strict, Uint8Array.of(0)),
      strict.slice(0, -1),
      sequence(...[integers]),
      new Uint8Array(0),
      concatBytes(Uint8Array.of(0x30, 0x81), strict.slice(1)),
    ]) {
      assert.ok(!isSigned(message, bytes, key, "der"));
    }
  });
});

function altered(bytes: Uint8Array, at: number, mask: number): Uint8Array {
  const copy = bytes.slice();
  copy[at]! ^= mask;
  return copy;
}

/** The same key with only the sign of y. */
function compressed(): Uint8Array {
  const point = p384.Point.fromBytes(KEYS.leaf.spki.slice(-97)).toBytes(true);
  return sequence(hex("301006072a8648ce3d020106052b81040022"), der(0x03, Uint8Array.of(0), point));
}

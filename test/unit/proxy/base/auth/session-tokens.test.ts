import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import fc from "fast-check";
import {
  mintSessionToken,
  readSessionToken,
  type KeyRing,
  type SessionClaims,
} from "../../../../../proxy/base/auth/session-tokens.ts";

import { MAX_EXCHANGED_SUB, MAX_SESSION_TOKEN } from "../../../../../shared/api/credentials.ts";

const key = new Uint8Array(32).fill(1);
const ring: KeyRing = { current: "k1", keys: new Map([["k1", key]]) };
const claims: SessionClaims = {
  developerId: "d",
  sub: "u",
  perms: ["read"],
  exp: 1_900_000_000,
  epoch: 3,
  userEpoch: 0,
};

describe("session tokens", () => {
  it("give back what was put in, whatever printable sub", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 60 }), (sub) => {
        const token = mintSessionToken(ring, 1, { ...claims, sub });
        assert.match(token, /^sst_[A-Za-z0-9_.-]+$/);
        assert.deepEqual(readSessionToken(ring, 1, token), { ...claims, sub });
      }),
    );
  });

  it("carry the user's epoch once there is one", () => {
    const token = mintSessionToken(ring, 1, { ...claims, userEpoch: 2 });
    assert.deepEqual(readSessionToken(ring, 1, token), { ...claims, userEpoch: 2 });
  });

  it("have room for the longest of everything, and none for more", () => {
    const longest: SessionClaims = {
      developerId: "d".repeat(63),
      sub: "\u4e2d".repeat(MAX_EXCHANGED_SUB),
      perms: ["read", "write"],
      exp: Number.MAX_SAFE_INTEGER,
      epoch: Number.MAX_SAFE_INTEGER,
      userEpoch: Number.MAX_SAFE_INTEGER,
    };
    const named: KeyRing = { current: "k".repeat(16), keys: new Map([["k".repeat(16), key]]) };
    const token = mintSessionToken(named, Number.MAX_SAFE_INTEGER, longest);
    assert.ok(token.length <= MAX_SESSION_TOKEN, String(token.length));
    assert.deepEqual(readSessionToken(named, Number.MAX_SAFE_INTEGER, token), longest);
    assert.throws(() => mintSessionToken(named, 1, { ...longest, sub: "\u4e2d".repeat(600) }));
  });

  it("are read by every key of the ring while keys rotate, and no longer", () => {
    const old = mintSessionToken(ring, 1, claims);
    const rotated: KeyRing = {
      current: "k2",
      keys: new Map([
        ["k1", key],
        ["k2", new Uint8Array(32).fill(2)],
      ]),
    };
    assert.deepEqual(readSessionToken(rotated, 1, old), claims);
    assert.match(mintSessionToken(rotated, 1, claims), /^sst_k2\./);
    assert.equal(
      readSessionToken({ current: "k2", keys: new Map([["k2", new Uint8Array(32).fill(2)]]) }, 1, old),
      undefined,
    );
  });

  it("cannot move to another key id or chain", () => {
    const token = mintSessionToken(ring, 1, claims);
    const twin: KeyRing = {
      current: "k1",
      keys: new Map([
        ["k1", key],
        ["k2", key],
      ]),
    };
    assert.equal(readSessionToken(twin, 1, token.replace("sst_k1.", "sst_k2.")), undefined);
    assert.equal(readSessionToken(ring, 2, token), undefined);
  });

  it("with a genuine MAC over another shape are refused, not a fault", () => {
    const signed = `k1.${Buffer.from(JSON.stringify({ c: 1, d: "d" })).toString("base64url")}`;
    const mac = createHmac("sha256", key).update(`cloister session v1:${signed}`).digest("base64url");
    assert.equal(readSessionToken(ring, 1, `sst_${signed}.${mac}`), undefined);
  });

  it("never crash on what a stranger types", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        assert.equal(readSessionToken(ring, 1, text), undefined);
        assert.equal(readSessionToken(ring, 1, `sst_k1.${text}`), undefined);
      }),
    );
  });
});

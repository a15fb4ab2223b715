// What every store of idempotency answers promises.
import assert from "node:assert/strict";
import {
  KEEP_MS,
  LEASE_MS,
  type Claim,
  type IdempotencyStore,
  type StoredAnswer,
} from "../../../proxy/store/idempotency.ts";

export const AN_ANSWER: StoredAnswer = {
  status: 202,
  body: JSON.stringify({ ticket_id: "é" }),
  type: "application/json",
  location: "/sequence/ticket/1",
  retryAfter: "1",
};
const NOW = 1_800_000_000_000;

export function tokenOf(claim: Claim): string {
  assert.ok(claim.kind === "claimed", claim.kind);
  return claim.token;
}

export function idempotencyStoreSuite(of: () => [IdempotencyStore, IdempotencyStore]): void {
  it("one of many equal requests runs, the others hear that it does", async () => {
    const stores = of();
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, i) => stores[i % 2]!.claim("s", "f", NOW)),
    );
    assert.equal(claims.filter(({ kind }) => kind === "claimed").length, 1);
    assert.equal(claims.filter(({ kind }) => kind === "running").length, 11);
  });

  it("gives the answer back as it was, to this body only", async () => {
    const [one, other] = of();
    const token = tokenOf(await one.claim("s", "f", NOW));
    assert.deepEqual(await other.claim("s", "g", NOW), { kind: "other-body" });
    await one.answer("s", token, AN_ANSWER, NOW);
    assert.deepEqual(await other.claim("s", "f", NOW + 1), { kind: "answered", answer: AN_ANSWER });
    assert.deepEqual(await other.claim("s", "g", NOW + 1), { kind: "other-body" });
    assert.equal((await other.claim("t", "g", NOW + 1)).kind, "claimed");
  });

  it("keeps an answer without location and waiting time as such", async () => {
    const [one] = of();
    const bare = { status: 200, body: "", type: "text/plain", location: undefined };
    await one.answer("s", tokenOf(await one.claim("s", "f", NOW)), bare, NOW);
    assert.deepEqual(await one.claim("s", "f", NOW), { kind: "answered", answer: bare });
  });

  it("a claim that a crash left ends with its lease, an answer with its time, not a moment before", async () => {
    const [one, other] = of();
    await one.claim("s", "f", NOW);
    assert.equal((await other.claim("s", "f", NOW + LEASE_MS - 1)).kind, "running");
    const token = tokenOf(await other.claim("s", "g", NOW + LEASE_MS));
    const answeredAt = NOW + LEASE_MS + 5;
    await other.answer("s", token, AN_ANSWER, answeredAt);
    assert.equal((await one.claim("s", "g", answeredAt + KEEP_MS - 1)).kind, "answered");
    const again = await one.claim("s", "f", answeredAt + KEEP_MS);
    assert.equal(again.kind, "claimed");
    assert.equal((await one.claim("s", "f", answeredAt + KEEP_MS)).kind, "running");
  });

  it("who outlived its lease has no say", async () => {
    const [one, other] = of();
    const late = tokenOf(await one.claim("s", "f", NOW));
    const token = tokenOf(await other.claim("s", "f", NOW + LEASE_MS));
    await one.answer("s", late, { ...AN_ANSWER, status: 500 }, NOW + LEASE_MS);
    await one.release("s", late);
    assert.equal((await one.claim("s", "f", NOW + LEASE_MS)).kind, "running");
    await other.answer("s", token, AN_ANSWER, NOW + LEASE_MS);
    await one.release("s", late);
    assert.deepEqual(await one.claim("s", "f", NOW + LEASE_MS), { kind: "answered", answer: AN_ANSWER });
  });

  it("a claim given back is free, also for another body", async () => {
    const [one, other] = of();
    await one.release("s", tokenOf(await one.claim("s", "f", NOW)));
    assert.equal((await other.claim("s", "g", NOW)).kind, "claimed");
    await one.release("never", "x");
    assert.equal((await other.claim("never", "g", NOW)).kind, "claimed");
  });
}

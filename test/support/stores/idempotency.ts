// What every store of idempotency answers promises.
import assert from "node:assert/strict";
import {
  KEEP_MS,
  type Claim,
  type IdempotencyStore,
  type StoredAnswer,
} from "../../../proxy/base/store/idempotency.ts";

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

/** `lapse`: the process behind the first store is held still or dead, for so long that its claims are lost; the store of another one. */
export function idempotencyStoreSuite(
  of: () => [IdempotencyStore, IdempotencyStore],
  lapse: () => Promise<IdempotencyStore>,
): void {
  it("one of many equal requests runs, the others are told that it does", async () => {
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

  it("an answer ends with its time, not a moment before", async () => {
    const [one, other] = of();
    const token = tokenOf(await other.claim("s", "g", NOW));
    const answeredAt = NOW + 5;
    await other.answer("s", token, AN_ANSWER, answeredAt);
    assert.equal((await one.claim("s", "g", answeredAt + KEEP_MS - 1)).kind, "answered");
    const again = await one.claim("s", "f", answeredAt + KEEP_MS);
    assert.equal(again.kind, "claimed");
    assert.equal((await one.claim("s", "f", answeredAt + KEEP_MS)).kind, "running");
  });

  it("a slow request keeps its claim, whatever the clock says, and tells when to ask again", async () => {
    const [one, other] = of();
    const token = tokenOf(await one.claim("s", "f", NOW));
    const later = NOW + KEEP_MS - 1;
    const claim = await other.claim("s", "f", later);
    assert.ok(claim.kind === "running" && claim.retryAfterMs > 0 && claim.retryAfterMs <= 10_000);
    await one.answer("s", token, AN_ANSWER, later);
    assert.deepEqual(await other.claim("s", "f", later), { kind: "answered", answer: AN_ANSWER });
  });

  it("what a dead process has claimed is free for the same body, and for no other", async () => {
    const [one] = of();
    await one.claim("s", "f", NOW);
    const other = await lapse();
    assert.deepEqual(await other.claim("s", "g", NOW + 1), { kind: "other-body" });
    assert.equal((await other.claim("s", "f", NOW + 1)).kind, "claimed");
    assert.equal((await other.claim("s", "f", NOW + 1)).kind, "running");
    assert.equal((await other.claim("s", "g", NOW + 1 + KEEP_MS)).kind, "claimed");
  });

  it("who lost its claim has no say, neither before nor after the other has answered", async () => {
    const [one] = of();
    const late = tokenOf(await one.claim("s", "f", NOW));
    const other = await lapse();
    const token = tokenOf(await other.claim("s", "f", NOW));
    await one.answer("s", late, { ...AN_ANSWER, status: 422 }, NOW);
    await one.release("s", late);
    assert.equal((await other.claim("s", "f", NOW)).kind, "running");
    await other.answer("s", token, AN_ANSWER, NOW);
    await one.answer("s", late, { ...AN_ANSWER, status: 422 }, NOW);
    await one.release("s", late);
    assert.deepEqual(await other.claim("s", "f", NOW), { kind: "answered", answer: AN_ANSWER });
  });

  it("a claim given back is free, also for another body", async () => {
    const [one, other] = of();
    await one.release("s", tokenOf(await one.claim("s", "f", NOW)));
    assert.equal((await other.claim("s", "g", NOW)).kind, "claimed");
    await one.release("never", "x");
    assert.equal((await other.claim("never", "g", NOW)).kind, "claimed");
  });
}

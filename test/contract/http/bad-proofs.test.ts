// Proofs that do not verify, as a client meets the limit on them: by user, on every endpoint that takes a proof.
import assert from "node:assert/strict";
import { ApiError } from "../../../proxy/base/http/errors.ts";
import { startEdge, type Answer, type Edge } from "../../support/edge.ts";

describe("limit on bad proofs", () => {
  let edge: Edge;
  let judged: number;
  const judge = (json: unknown): never => {
    judged++;
    const isBad = typeof json === "object" && json !== null && "proof" in json;
    throw new ApiError(isBad ? "PROOF_INVALID" : "ROOT_UNKNOWN", "as the test wants it");
  };
  before(async () => {
    edge = await startEdge({
      limits: { badProofsPerMinute: 3 },
      handlers: {
        sequenceSpend: (ctx) => judge(ctx.state.json),
        attestSpend: (ctx) => judge(ctx.state.json),
      },
    });
  });
  after(() => edge.stop());
  beforeEach(() => {
    judged = 0;
    edge.advance(60_000);
  });

  const post = (path: string, session: string, bad = true, key?: string): Promise<Answer> =>
    edge.call("POST", path, {
      session,
      json: bad ? { proof: 1 } : {},
      headers: key === undefined ? {} : { "Idempotency-Key": key },
    });

  it("stops one user on every endpoint that takes a proof, before the body is looked at, and no other", async () => {
    const [one, other] = [await edge.session({ sub: "one" }), await edge.session({ sub: "other" })];
    for (const path of ["/sequence/spend", "/attest/spend", "/sequence/spend"]) {
      assert.equal((await post(path, one)).body.code, "PROOF_INVALID");
    }
    for (const path of ["/sequence/spend", "/attest/spend", "/relay", "/sequence/deposit-shield"]) {
      const { status, body, headers } = await post(path, one);
      assert.deepEqual([status, body.code, body.policy], [429, "RATE_LIMITED", "bad-proofs"], path);
      assert.ok(Number(headers.get("retry-after")) >= 1);
    }
    assert.equal(judged, 3);
    assert.equal((await edge.call("GET", "/whoami", { session: one })).status, 200);
    // Another session of the same user is the same user; another user and the developer's key are not.
    assert.equal((await post("/attest/spend", await edge.session({ sub: "one" }))).status, 429);
    assert.equal((await post("/attest/spend", other)).body.code, "PROOF_INVALID");
    assert.equal(
      (await edge.call("POST", "/attest/spend", { json: { proof: 1 } })).body.code,
      "PROOF_INVALID",
    );
    edge.advance(60_000);
    assert.equal((await post("/attest/spend", one)).body.code, "PROOF_INVALID");
  });

  it("lets twenty a minute pass where nothing is set", async () => {
    const usual = await startEdge({ handlers: { attestSpend: (ctx) => judge(ctx.state.json) } });
    try {
      const session = await usual.session({ sub: "one" });
      const ask = () => usual.call("POST", "/attest/spend", { session, json: { proof: 1 } });
      for (let i = 0; i < 20; i++) assert.equal((await ask()).body.code, "PROOF_INVALID");
      const { status, body } = await ask();
      assert.deepEqual([status, body.policy, judged], [429, "bad-proofs", 20]);
    } finally {
      await usual.stop();
    }
  });

  it("counts no other refusal, and no answer that is repeated for its key", async () => {
    const session = await edge.session({ sub: "patient" });
    for (let i = 0; i < 6; i++)
      assert.equal((await post("/sequence/spend", session, false)).body.code, "ROOT_UNKNOWN");
    for (let i = 0; i < 6; i++)
      assert.equal((await post("/sequence/spend", session, true, "once")).body.code, "PROOF_INVALID");
    assert.equal(judged, 7);
    assert.equal((await post("/sequence/spend", session)).body.code, "PROOF_INVALID");
  });
});

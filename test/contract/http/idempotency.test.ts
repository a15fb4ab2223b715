// Idempotency-Key on the transaction endpoints: one run, one answer, and what is not kept.
import assert from "node:assert/strict";
import { once, EventEmitter } from "node:events";
import { ENDPOINTS } from "../../../shared/api/endpoints.ts";
import { ApiError } from "../../../proxy/base/http/errors.ts";
import { startEdge, type Answer, type Edge } from "../../support/edge.ts";

describe("Idempotency-Key", () => {
  let edge: Edge;
  let runs = 0;
  const gate = new EventEmitter();
  let behaviour: (() => Promise<void> | void) | undefined;

  before(async () => {
    edge = await startEdge({
      handlers: {
        sequenceSpend: async (ctx) => {
          runs++;
          gate.emit("running");
          const run = String(runs);
          await behaviour?.();
          ctx.status = 202;
          ctx.set("Location", `/sequence/ticket/${run}`);
          ctx.body = { ticket_id: run };
        },
      },
    });
  });
  after(() => edge.stop());
  beforeEach(() => {
    runs = 0;
    behaviour = undefined;
  });

  const send = (key: string, json: unknown = { a: 1 }, session?: string): Promise<Answer> =>
    edge.call("POST", "/sequence/spend", {
      json,
      headers: { "Idempotency-Key": key },
      ...(session === undefined ? {} : { session }),
    });

  it("gives the stored answer, status and Location included, for the same key and body", async () => {
    const first = await send("one");
    const second = await send("one");
    assert.equal(runs, 1);
    assert.equal(second.status, 202);
    assert.deepEqual(second.body, first.body);
    assert.equal(second.headers.get("location"), "/sequence/ticket/1");
  });

  it("knows a body by what it says: other white space and another order of its fields are the same", async () => {
    const text = (body: string) =>
      edge.call("POST", "/sequence/spend", { raw: body, headers: { "Idempotency-Key": "said" } });
    assert.equal((await text('{"a":1,"b":{"c":[2,{"d":3,"e":4}]}}')).status, 202);
    assert.equal((await text('{ "b": {"c": [2, {"e": 4, "d": 3}]},\n "a": 1 }')).status, 202);
    assert.equal(runs, 1);
    assert.equal((await text('{"a":1,"b":{"c":[{"d":3,"e":4},2]}}')).body.code, "IDEMPOTENCY_MISMATCH");
  });

  it("keeps so many answers of all of a developer's users in a day, and gives those that it has also afterwards", async () => {
    const { key } = await edge.newDeveloper({ name: "Small", limits: { keyPerDay: 2 } });
    const [one, other] = await Promise.all(
      ["one", "other"].map(async (sub) => {
        const json = { sub, perms: ["write"], ttl_secs: 900 };
        return (await edge.call("POST", "/session", { json, headers: { "X-API-Key": key } })).body.token;
      }),
    );
    for (let i = 0; i < 20; i++) assert.equal((await send(`k ${String(i)}`, {}, one)).status, 202);
    const refused = async (): Promise<void> => {
      const { status, body } = await send("k 1", {}, other);
      assert.deepEqual([status, body.code, body.policy], [429, "RATE_LIMITED", "kept-answers-users"]);
    };
    await refused();
    assert.equal((await send("k 1", {}, one)).status, 202);
    assert.equal(runs, 20);
    // Nothing of it was kept, either.
    await refused();
  });

  it("gives a stored refusal with the time to wait that it named", async () => {
    behaviour = () => {
      throw new ApiError("NULLIFIER_PENDING", "another payment spends this note", { retryAfterSecs: 7 });
    };
    for (const time of ["first", "again"]) {
      const { status, body, headers } = await send("wait");
      assert.deepEqual(
        [status, body.code, headers.get("retry-after")],
        [409, "NULLIFIER_PENDING", "7"],
        time,
      );
    }
    assert.equal(runs, 1);
  });

  it("runs without a key every time", async () => {
    await edge.call("POST", "/sequence/spend", { json: {} });
    await edge.call("POST", "/sequence/spend", { json: {} });
    assert.equal(runs, 2);
  });

  it("refuses another body under the same key, and forgets after 24 h", async () => {
    await send("two");
    const { status, body } = await send("two", { a: 2 });
    assert.equal(status, 422);
    assert.equal(body.code, "IDEMPOTENCY_MISMATCH");
    assert.match(body.detail, /a corrected request needs a key of its own/);
    edge.advance(24 * 3_600_000 + 1);
    assert.equal((await send("two", { a: 2 })).status, 202);
    assert.equal(runs, 2);
  });

  it("answers 409 while the first is running", async () => {
    let release = (): void => undefined;
    behaviour = () => new Promise<void>((resolve) => (release = resolve));
    const running = once(gate, "running");
    const first = send("three");
    await running;
    const second = await send("three");
    assert.equal(second.status, 409);
    assert.equal(second.body.code, "IDEMPOTENCY_IN_PROGRESS");
    assert.ok(Number(second.headers.get("retry-after")) > 0);
    release();
    assert.equal((await first).status, 202);
    assert.equal((await send("three")).status, 202);
    assert.equal(runs, 1);
  });

  it("keeps a refusal that stands, and none that may be another the next time", async () => {
    behaviour = () => {
      throw new ApiError("PROOF_INVALID", "no");
    };
    const first = await send("four");
    assert.equal(first.status, 422);
    behaviour = undefined;
    const second = await send("four");
    assert.equal(second.body.code, "PROOF_INVALID");
    assert.equal(second.body.request_id, first.body.request_id);
    assert.match(second.headers.get("content-type") ?? "", /problem\+json/);
    assert.equal(runs, 1);

    for (const code of [...ENDPOINTS.sequenceSpend.codes, "RATE_LIMITED"] as const) {
      behaviour = () => {
        throw new ApiError(code, "no", { retryAfterSecs: 1 });
      };
      const { body: refusal } = await send(code);
      assert.equal(refusal.code, code);
      behaviour = undefined;
      const again = await send(code);
      assert.equal(again.status, refusal.retryable ? 202 : refusal.status, code);
      if (!refusal.retryable) assert.deepEqual(again.body, refusal);
    }
    behaviour = () => {
      throw new Error("a fault of ours");
    };
    assert.equal((await send("seven")).status, 500);
    behaviour = undefined;
    assert.equal((await send("seven")).status, 202);
  });

  it("a root that has become unknown: proved again, the payment goes under the same key, with its other body", async () => {
    behaviour = () => {
      throw new ApiError("ROOT_UNKNOWN", "prove again");
    };
    assert.equal((await send("root")).body.code, "ROOT_UNKNOWN");
    behaviour = undefined;
    const proved = await send("root", { a: "proved again" });
    assert.equal(proved.status, 202);
    assert.deepEqual((await send("root", { a: "proved again" })).body, proved.body);
    assert.equal((await send("root")).body.code, "IDEMPOTENCY_MISMATCH");
    assert.equal(runs, 2);
  });

  it("is scoped: another user, another developer or another path has the key to itself", async () => {
    await send("eight");
    await send("eight", { a: 2 }, await edge.session({ sub: "x" }));
    await send("eight", { a: 3 }, await edge.session({ sub: "y" }));
    assert.equal(runs, 3);
    const other = await edge.call("POST", "/sequence/deposit-shield", {
      json: { a: 4 },
      headers: { "Idempotency-Key": "eight" },
    });
    assert.equal(other.body.code, "CHAIN_UNAVAILABLE");
  });

  it("a slow request keeps its key, however slow it is", async () => {
    let release = (): void => undefined;
    behaviour = () => new Promise<void>((resolve) => (release = resolve));
    const running = once(gate, "running");
    const slow = send("nine");
    await running;
    edge.advance(600_000);
    assert.equal((await send("nine")).body.code, "IDEMPOTENCY_IN_PROGRESS");
    release();
    const { body } = await slow;
    assert.deepEqual((await send("nine")).body, body);
    assert.equal(runs, 1);
  });

  for (const [what, key] of [
    ["256 characters", "k".repeat(256)],
    ["a character beyond ASCII", "ké"],
  ] as const) {
    it(`refuses a key of ${what}`, async () => {
      const { status, body } = await send(key);
      assert.equal(status, 400);
      assert.equal(body.code, "INVALID_REQUEST");
    });
  }

  it("takes a key of 255 characters", async () => {
    assert.equal((await send("k".repeat(255))).status, 202);
  });
});

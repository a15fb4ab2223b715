import assert from "node:assert/strict";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import { createSessions } from "../../../../../proxy/api/sessions/sessions.service.ts";

describe("sessions service", () => {
  it("answers token, exp, sub and perms as minted", async () => {
    const asked: unknown[] = [];
    const sessions = createSessions({
      mint: async (...request) => {
        asked.push(request);
        return { token: "sst_x", exp: 5 };
      },
    });
    const answer = await sessions.mint("d", { sub: "u", perms: ["read"], ttlSecs: 60 });
    assert.deepEqual(answer, { token: "sst_x", exp: 5, sub: "u", perms: ["read"] });
    assert.deepEqual(asked, [["d", "u", ["read"], 60]]);
  });

  it("a developer that is gone has no sessions", async () => {
    const sessions = createSessions({ mint: async () => undefined });
    await assert.rejects(
      sessions.mint("d", { sub: "u", perms: ["read"], ttlSecs: 60 }),
      (error) => error instanceof ApiError && error.code === "INVALID_CREDENTIAL",
    );
  });
});

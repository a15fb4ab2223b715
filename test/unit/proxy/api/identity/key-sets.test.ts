// A provider's keys on a clock that the test moves.
import assert from "node:assert/strict";
import { errors } from "jose";
import { createKeySets, KeysUnavailable } from "../../../../../proxy/api/identity/key-sets.ts";

describe("key sets", () => {
  it("are asked for again at the very millisecond that the refusal named, and not one before", async () => {
    let now = 0;
    let fetches = 0;
    const keySets = createKeySets(
      async () => {
        fetches++;
        return '{"keys":[]}';
      },
      () => now,
      () => undefined,
    );
    const keyOf = keySets.keyOf({ jwksUrl: "https://keys.example/jwks", jwksHost: "keys.example" }, "caller");
    const ask = async (): Promise<unknown> =>
      keyOf({ alg: "ES256", kid: "unknown" }, { payload: "", signature: "" });
    const refused = (secs: number) => (error: unknown) =>
      error instanceof KeysUnavailable && error.retryAfterSecs === secs;
    await assert.rejects(ask, refused(60));
    now = 59_999;
    await assert.rejects(ask, refused(1));
    assert.equal(fetches, 1);
    now = 60_000;
    await assert.rejects(ask, errors.JWKSNoMatchingKey);
    assert.equal(fetches, 2);
  });
});

import assert from "node:assert/strict";
import { orAborted } from "../../../../../shared/client/base/aborting.ts";

const never = (): Promise<never> => new Promise(() => undefined);

describe("client/aborting", () => {
  const reason = new Error("left");

  it("is the promise's outcome, with a signal and without one", async () => {
    const { signal } = new AbortController();
    assert.equal(await orAborted(Promise.resolve(7), undefined), 7);
    assert.equal(await orAborted(Promise.resolve(7), signal), 7);
    await assert.rejects(orAborted(Promise.reject(reason), signal), reason);
  });

  it("is the signal's reason as soon as it is aborted, also before", async () => {
    const leaving = new AbortController();
    const waiting = orAborted(never(), leaving.signal);
    leaving.abort(reason);
    await assert.rejects(waiting, reason);
    await assert.rejects(orAborted(never(), AbortSignal.abort(reason)), reason);
  });
});

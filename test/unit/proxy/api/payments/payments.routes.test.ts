import assert from "node:assert/strict";
import { preferredWait } from "../../../../../proxy/api/payments/payments.routes.ts";

describe("payments/routes: Prefer (RFC 7240)", () => {
  it("reads wait, alone and among others, at most 30", () => {
    assert.equal(preferredWait("wait=5"), 5);
    assert.equal(preferredWait("respond-async, wait=10"), 10);
    assert.equal(preferredWait('Wait = "7"'), 7);
    assert.equal(preferredWait("wait=31"), 30);
  });

  it("ignores what it does not understand", () => {
    for (const prefer of ["", "respond-async", "wait", "wait=-1", "wait=1.5", "await=5", "wait=x"]) {
      assert.equal(preferredWait(prefer), undefined, prefer);
    }
  });
});

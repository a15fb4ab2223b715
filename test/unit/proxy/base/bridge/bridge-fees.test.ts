// Fees of a sweep: the rules of a deposit, and never more than the ceiling that the user's address commits to.
import assert from "node:assert/strict";
import fc from "fast-check";
import { bridgeFees } from "../../../../../proxy/base/bridge/bridge-fees.ts";

describe("fees of a bridge", () => {
  it("are those of the rules while the ceiling leaves room", () => {
    const rules = { service: { flat: 50n, bps: 0 }, developer: { flat: 1n, bps: 100 } };
    assert.deepEqual(bridgeFees(rules, 10_000n, 151n), { service: 50n, developer: 101n, isCapped: false });
    assert.deepEqual(bridgeFees({ service: undefined, developer: undefined }, 10n, 0n), {
      ...{ service: 0n, developer: 0n, isCapped: false },
    });
  });

  it("are cut at the ceiling, the developer's first, and say so", () => {
    const rules = { service: { flat: 50n, bps: 0 }, developer: { flat: 0n, bps: 10_000 } };
    assert.deepEqual(bridgeFees(rules, 10_000n, 80n), { service: 50n, developer: 30n, isCapped: true });
    assert.deepEqual(bridgeFees(rules, 10_000n, 20n), { service: 20n, developer: 0n, isCapped: true });
  });

  it("together never exceed the ceiling, whatever a rule asks", () => {
    const rule = fc.record({ flat: fc.bigInt(0n, 1n << 128n), bps: fc.integer({ min: 0, max: 10_000 }) });
    const amount = fc.bigInt(0n, (1n << 128n) - 1n);
    fc.assert(
      fc.property(rule, rule, amount, amount, (service, developer, of, ceiling) => {
        const fees = bridgeFees({ service, developer }, of, ceiling);
        assert.ok(fees.service >= 0n && fees.developer >= 0n);
        assert.ok(fees.service + fees.developer <= ceiling);
      }),
    );
  });
});

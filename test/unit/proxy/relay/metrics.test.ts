// The relay's figures: each of the table, nothing else, and a zero for what never happened.
import assert from "node:assert/strict";
import { BRIDGE_EVENTS, createRelayMetrics, RELAY_METRICS } from "../../../../proxy/relay/metrics.ts";
import { readExposition } from "../../../support/exposition.ts";

describe("relay/metrics", () => {
  it("shows what is counted and how the bridges stand at the moment it is asked", async () => {
    let hasLease = false;
    const metrics = createRelayMetrics(() => hasLease);
    const first = readExposition(await metrics.text());
    assert.deepEqual([...first.types.keys()].sort(), Object.keys(RELAY_METRICS).sort());
    for (const event of BRIDGE_EVENTS)
      assert.equal(first.value("cloister_bridge_events_total", { event }), 0, event);
    assert.equal(first.value("cloister_relay_lease_held"), 0);
    assert.ok(!first.samples.some(({ name }) => name === "cloister_bridge_unreachable"), "nobody has looked");

    hasLease = true;
    metrics.count("refund");
    let count = 4;
    metrics.observe(() => ({
      requests: count === 0 ? [] : [{ venue: "perpvenue", state: "awaiting_funds", count }],
      ...{ oldestWaitingSecs: 12.5, unreachable: 2 },
    }));
    const now = readExposition(await metrics.text());
    const waiting = { venue: "perpvenue", state: "awaiting_funds" };
    assert.equal(now.value("cloister_bridge_requests", waiting), 4);
    assert.equal(now.value("cloister_bridge_events_total", { event: "refund" }), 1);
    assert.equal(now.value("cloister_bridge_oldest_waiting_seconds"), 12.5);
    assert.equal(now.value("cloister_bridge_unreachable"), 2);
    assert.equal(now.value("cloister_relay_lease_held"), 1);
    count = 0;
    const after = readExposition(await metrics.text());
    assert.ok(!after.samples.some(({ name }) => name === "cloister_bridge_requests"), "of no request now");
  });
});

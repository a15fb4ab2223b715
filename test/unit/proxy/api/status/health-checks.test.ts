import assert from "node:assert/strict";
import type { CourierFaultCode } from "../../../../../proxy/api/enclave-link/key-courier.ts";
import { ClocksApart } from "../../../../../proxy/base/clocks.ts";
import { createHealthChecks, type HealthCheckParts } from "../../../../../proxy/api/status/health-checks.ts";
import type { EnclavePhase } from "../../../../../shared/protocol/enclave-messages.ts";

type Phases = readonly (EnclavePhase | undefined)[];

/** What is said of enclaves in these phases, of a pool that asks for so many attestations. */
async function saidOf(
  phases: Phases,
  threshold: () => Promise<number>,
  faults: readonly (CourierFaultCode | undefined)[] = [],
  open = 0,
) {
  const checks = createHealthChecks({
    directory: { phases: async () => [...phases] },
    courier: { faults: () => faults },
    disagreements: { open: () => open },
    threshold,
    database: { table: () => ({}) },
  } as unknown as HealthCheckParts);
  const { state, detail } = await checks.enclave();
  return [state, detail];
}

describe("health checks: enclaves", () => {
  const two = (): Promise<number> => Promise.resolve(2);

  it("are well when each of them serves", async () => {
    assert.deepEqual(await saidOf(["serving", "serving"], two), ["ok", undefined]);
  });

  it("are down when fewer serve than the pool asks for, and degraded when enough do", async () => {
    assert.deepEqual(await saidOf(["serving", undefined], two), ["down", "1 of 2 serve, 2 needed"]);
    assert.deepEqual(await saidOf(["serving"], two), ["down", "1 of 1 serve, 2 needed"]);
    assert.deepEqual(await saidOf([undefined, "serving", "serving"], two), [
      "degraded",
      "2 of 3 serve, 2 needed",
    ]);
    assert.deepEqual(await saidOf(["serving", "halted"], async () => 1), [
      "degraded",
      "1 of 2 serve, 1 needed",
    ]);
  });

  it("are down, however many serve, while a disagreement of the verifiers is open", async () => {
    assert.deepEqual(await saidOf(["serving", "serving"], two, [], 1), [
      "down",
      "stopped: the verifiers gave different verdicts",
    ]);
  });

  it("say why one has no key, once, and nothing of one that serves again", async () => {
    const faults = ["KMS_DENIED", "KMS_DENIED", "KMS_AWAY"] as const;
    assert.deepEqual(await saidOf(["booting", "booting", "serving"], two, faults), [
      "down",
      "1 of 3 serve, 2 needed; KMS denies the key to this enclave",
    ]);
  });

  it("the store is down where its clock and this machine's are apart, and the detail says so", async () => {
    const apart = new ClocksApart(90);
    const checks = createHealthChecks({
      database: { table: () => ({}), transaction: async () => undefined },
      stores: { check: () => Promise.reject(apart) },
    } as unknown as HealthCheckParts);
    assert.deepEqual(await checks.store(), { state: "down", ageMs: 0, detail: apart.message });
  });

  it("count without the threshold while the pool was never reached", async () => {
    const away = (): Promise<number> => Promise.reject(new Error("the node's own words"));
    assert.deepEqual(await saidOf(["serving", undefined], away), ["degraded", "1 of 2 serve"]);
    assert.deepEqual(await saidOf([undefined], away), ["down", "0 of 1 serve"]);
    assert.deepEqual(await saidOf(["serving"], away), ["ok", undefined]);
  });
});

// Calls with swaps in them: order, root update, gas, and what a swap that fails does to itself and its neighbours.
import assert from "node:assert/strict";
import { EnclaveContradicts } from "../../../../../proxy/api/enclave-link/attestor.ts";
import { ApiError } from "../../../../../proxy/base/http/errors.ts";
import type { TicketRecord } from "../../../../../proxy/base/store/tickets.ts";
import { KIND_NAMES, KINDS } from "../../../../../shared/protocol/statements.ts";
import { attestationBytes, readCall, Scene } from "./scene.ts";

const FLOOR = { name: "FloorMissed", args: [10n, 9n] };

describe("sequencer: calls with swaps", () => {
  it("puts swaps last and keeps the order of acceptance otherwise", async () => {
    const on = new Scene();
    const kinds = ["private-swap", "spend", "deposit-shield", "private-swap", "spend9"] as const;
    for (const kind of kinds) on.accept(kind);
    const batch = (await on.next())!;
    assert.deepEqual(on.sent(batch), ["ticket-1", "ticket-2", "ticket-4", "ticket-0", "ticket-3"]);
    assert.deepEqual(readCall(batch.calldata).kinds, [
      "spend",
      "deposit-shield",
      "spend9",
      "private-swap",
      "private-swap",
    ]);
    // What was tried is what is sent.
    assert.deepEqual(on.simulated.at(-1)?.kinds, readCall(batch.calldata).kinds);
  });

  it("asks for a root over what stands before the first swap, and over nothing when that is nothing", async () => {
    const on = new Scene();
    on.accept("private-swap");
    const alone = (await on.next())!;
    assert.equal(readCall(alone.calldata).toIndex, 0n);
    assert.equal(on.rootRequests.length, 0);

    on.accept("spend");
    on.accept("deposit-shield");
    const batch = (await on.next())!;
    assert.equal(readCall(batch.calldata).toIndex, 7n);
    const { signals } = readCall(batch.calldata);
    assert.deepEqual(on.rootRequests[0]?.leaves, [...signals[0]!.slice(-4), ...signals[1]!.slice(-3)]);
  });

  it("covers the whole call where there is no swap", async () => {
    const on = new Scene();
    for (const kind of ["spend", "spend9", "deposit-shield"] as const) on.accept(kind);
    assert.equal(readCall((await on.next())!.calldata).toIndex, 11n);
  });

  it("leaves room for a swap's full share of gas, so that a venue cannot starve the call", async () => {
    const on = new Scene();
    on.accept("spend");
    const without = (await on.next())!.gasLimit;
    on.accept("private-swap");
    on.accept("private-swap");
    const two = (2n * on.memberCost * 5n) / 4n;
    assert.equal((await on.next())!.gasLimit, without + two + two / 8n + 2_000_000n);
  });

  it("leaves a payment's full share where a node simulates: what was used says nothing of what had to be left", async () => {
    const on = new Scene();
    on.accept("spend");
    on.accept("spend");
    const used = on.gasOf(2);
    assert.ok((await on.next())!.gasLimit >= used + used / 4n + 500_000n + 500_000n / 63n + 5_000n);
  });

  for (const [what, lacks] of [
    ["does not simulate", "canSimulate"],
    ["simulates and does not say what was used", "saysGas"],
  ] as const)
    it(`takes the estimate of a node that ${what}, which has found that out`, async () => {
      const on = new Scene();
      on.accept("spend");
      on[lacks] = false;
      const estimate = on.gasOf(1);
      assert.equal((await on.next())!.gasLimit, estimate + estimate / 8n + 100_000n);
    });

  it("cuts a call that is too big in order of acceptance, so that no swap is put off for what came later", async () => {
    const on = new Scene();
    for (let i = 0; i < 4; i++) on.accept("private-swap");
    for (let i = 0; i < 28; i++) on.accept("spend");
    on.memberCost = 300_000n;
    const batch = (await on.next())!;
    assert.ok(batch.gasLimit <= 2n ** 24n);
    assert.equal(batch.candidates.length, 28);
    assert.deepEqual(on.sent(batch).slice(-4), ["ticket-0", "ticket-1", "ticket-2", "ticket-3"]);
  });

  it("halves a call that fails as a whole with its root update, instead of trying it for ever", async () => {
    const on = new Scene();
    for (let i = 0; i < 10; i++) on.accept("spend");
    on.blockHolds = 4;
    const batch = (await on.next())!;
    assert.deepEqual(on.sent(batch), ["ticket-0", "ticket-1", "ticket-2"]);
    assert.equal(readCall(batch.calldata).toIndex, BigInt(3 * KINDS.spend.leaves));
  });

  it("thirty-two members of any kind stay below what one call may hold", async () => {
    for (const kind of KIND_NAMES) {
      const on = new Scene();
      on.memberCost = 1n;
      for (let i = 0; i < 32; i++) on.accept(kind);
      const { calldata, candidates } = (await on.next())!;
      assert.ok(calldata.length <= 2 + 2 * 100 * 1024, kind);
      // The full share of gas of seventeen swaps does not fit; everything else goes in one call.
      assert.equal(candidates.length, kind === "private-swap" ? 16 : 32, kind);
    }
  });

  it("as many transfers as a call has at most by default fit into it, with two attestations each too", async () => {
    for (const threshold of [1, 2]) {
      const on = new Scene(64, threshold);
      on.memberCost = 1n;
      for (let i = 0; i < 64; i++) on.accept("spend");
      const { calldata, candidates } = (await on.next())!;
      assert.ok(calldata.length <= 2 + 2 * 100 * 1024);
      assert.equal(candidates.length, 64);
      assert.equal(attestationBytes(calldata), 65 * (64 + 1) * threshold);
    }
  });

  it("with more attestations fewer go in one call, and it holds as many as fit", async () => {
    const on = new Scene(64, 8);
    on.memberCost = 1n;
    for (let i = 0; i < 64; i++) on.accept("spend");
    const { calldata, candidates } = (await on.next())!;
    assert.ok(calldata.length <= 2 + 2 * 100 * 1024);
    const perMember = calldata.length / candidates.length;
    assert.ok(candidates.length < 64 && calldata.length + 2 * perMember > 2 + 2 * 100 * 1024);
  });

  for (const [what, fault] of [
    ["too few enclaves answer", new ApiError("ENCLAVE_UNAVAILABLE", "too few")],
    ["an enclave refuses what was checked", new EnclaveContradicts("FRONTIER_INVALID")],
  ] as const)
    it(`payments go without a root update when ${what}, and it follows later`, async () => {
      const on = new Scene(32, 2);
      on.accept("spend");
      on.rootFault = fault;
      const without = (await on.next())!;
      assert.deepEqual(readCall(without.calldata).kinds, ["spend"]);
      assert.equal(readCall(without.calldata).toIndex, 0n);
      assert.equal(on.blockage.by, "enclave");
      on.rootFault = undefined;
      assert.equal(readCall((await on.next())!.calldata).toIndex, 4n);
    });

  it("a fault of its own is no enclave's silence", async () => {
    const on = new Scene();
    on.accept("spend");
    on.rootFault = new RangeError("a root update covers 1 to 256 leaves");
    await assert.rejects(on.next(), RangeError);
  });

  it("leaves what comes while it chooses to the next call, and puts others in the place of those left out", async () => {
    const on = new Scene(3);
    const [first, second] = [on.accept("spend"), on.accept("spend")];
    let late: TicketRecord | undefined;
    on.meanwhile = () => (late = on.accept("spend"));
    assert.deepEqual(on.sent((await on.next())!), [first.id, second.id]);
    // Members alone, then the whole call.
    assert.equal(on.simulated.length, 2);
    const other = on.accept("spend");
    on.refusals.set(second.id, FLOOR);
    assert.deepEqual(on.sent((await on.next())!), [first.id, late!.id, other.id]);
  });

  it("counts four leaves for a swap: no more members than one root update could cover", async () => {
    for (const kind of ["spend9", "private-swap"] as const) {
      const on = new Scene(100);
      for (let i = 0; i < 66; i++) on.accept(kind);
      await on.next();
      assert.equal(on.simulated[0]?.kinds.length, 64, kind);
    }
  });

  it("holds a swap whose floor is missed, without gas, and its neighbours go", async () => {
    const on = new Scene();
    const missed = on.accept("private-swap");
    on.refusals.set(missed.id, FLOOR);
    const other = on.accept("private-swap");
    const spend = on.accept("spend");
    assert.deepEqual(on.sent((await on.next())!), [spend.id, other.id]);
    const { status } = on.now(missed);
    assert.ok(status.state === "queued");
    assert.equal(status.error?.code, "SLIPPAGE_EXCEEDED");
    assert.equal(status.error.retryable, true);
  });

  it("tries it again with a growing number of blocks between, at most eight, and sends it when it fits", async () => {
    const on = new Scene();
    const missed = on.accept("private-swap");
    on.refusals.set(missed.id, FLOOR);
    const tried: number[] = [];
    for (on.tip = 1; on.tip <= 40; on.tip++) {
      const before = on.simulated.length;
      assert.equal(await on.next(), undefined);
      // The same block brings the same market.
      assert.equal(await on.next(), undefined);
      if (on.simulated.length > before) tried.push(on.tip);
      assert.ok(on.simulated.length <= before + 1);
    }
    assert.deepEqual(tried, [1, 2, 4, 8, 16, 24, 32, 40]);
    on.refusals.clear();
    on.tip = 48;
    assert.deepEqual(on.sent((await on.next())!), [missed.id]);
  });

  const reasons: [string, readonly unknown[], string][] = [
    ["FloorMissed", [10n, 9n], "SLIPPAGE_EXCEEDED"],
    ["SwapFailed", ["0x1234"], "ROUTE_UNAVAILABLE"],
    ["ExecutorAbsent", [], "ROUTE_UNAVAILABLE"],
    ["AssetUnsupported", [`0x${"22".repeat(20)}`], "ASSET_UNSUPPORTED"],
    ["NullifierSpent", [5n], "NULLIFIER_SPENT"],
    ["RootUnknown", [5n], "ROOT_UNKNOWN"],
    ["DeadlinePassed", [5n], "DEADLINE_PASSED"],
    ["TransferRefused", ["0x"], "TRANSFER_REFUSED"],
    ["GasExhausted", [], "ROUTE_UNAVAILABLE"],
    ["PathInvalid", [], "REJECTED"],
  ];
  for (const [name, args, code] of reasons) {
    it(`the pool's ${name} is ${code} on a ticket that goes on waiting`, async () => {
      const on = new Scene();
      const ticket = on.accept("private-swap");
      on.refusals.set(ticket.id, { name, args });
      assert.equal(await on.next(), undefined);
      const { status } = on.now(ticket);
      assert.ok(status.state === "queued");
      assert.equal(status.error?.code, code);
    });
  }

  it("without an executor swaps wait, say for what, and are tried when there is one; everything else goes", async () => {
    const on = new Scene();
    const swap = on.accept("private-swap");
    const spend = on.accept("spend");
    on.executor = undefined;
    assert.deepEqual(on.sent((await on.next())!), [spend.id]);
    assert.ok(on.simulated.every(({ kinds }) => !kinds.includes("private-swap")));
    assert.equal(on.blockage.of("private-swap"), "executor");
    assert.equal(on.blockage.of("spend"), undefined);
    assert.equal(on.blockage.by, undefined);
    assert.deepEqual(on.now(swap).status, { state: "queued" });
    on.executor = on.tickets[0]!.transaction.attestations[0]!.signer;
    assert.deepEqual(on.sent((await on.next())!), [spend.id, swap.id]);
    assert.equal(on.blockage.of("private-swap"), undefined);
  });

  it("a record whose proof cannot be read is set aside, and its neighbours go", async () => {
    const on = new Scene();
    const [first, damaged, last] = [on.accept("spend"), on.accept("spend"), on.accept("spend")];
    const transaction = { ...damaged.transaction, proof: new Uint8Array(256).fill(0xff) };
    on.tickets[1] = { ...damaged, transaction };
    assert.deepEqual(on.sent((await on.next())!), [first.id, last.id]);
    assert.deepEqual(on.now(damaged).status, { state: "queued" });
  });

  it("what holds everything is said before what holds swaps", async () => {
    const on = new Scene();
    on.accept("private-swap");
    on.executor = undefined;
    await on.next();
    on.blockage.report("gas");
    assert.equal(on.blockage.of("private-swap"), "gas");
    on.blockage.clear();
    assert.equal(on.blockage.of("private-swap"), "executor");
  });
});

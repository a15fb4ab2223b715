/**
 * A payment of money that lies in many notes: one transaction with nine places, on the running service, as a
 * transfer and as a withdrawal. The larger circuit is another statement: it passes for no smaller one.
 */
import assert from "node:assert/strict";
import type { SpendBody } from "../../shared/api/transactions.ts";
import { newSeed, type Wallet } from "../../shared/client/index.ts";
import { TestUsdc } from "../../scripts/stand-ins/usdc.ts";
import { documentedFetch } from "../support/documented.ts";
import { capture, capturing } from "../support/captured.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

const UNIT = TestUsdc.unit;
const FLAT = 50_000n;
const PUBLIC = "0x00000000000000000000000000000000000000cf";

describe("a payment of many notes", function () {
  this.timeout(300_000);
  let on: TestStack;
  const seed = newSeed();
  let rich: Wallet;

  before(async () => {
    on = await startTestStack();
    rich = await on.wallet({ seed });
  });
  after(() => on.stop());

  /** Notes of exactly these values, each from a deposit of its own. */
  async function receive(...values: bigint[]): Promise<void> {
    for (const value of values) {
      const amount = value + FLAT;
      await rich.deposit(amount, await on.depositor(amount));
    }
  }

  const spentNotes = (): number => rich.notes().filter(({ spent }) => spent !== undefined).length;

  it("is one private transfer", async () => {
    await receive(10n * UNIT, 11n * UNIT, 12n * UNIT, 13n * UNIT);
    const payee = await on.wallet();
    // 40 and the fee need all four: the largest three are 36.
    const payment = await rich.pay(payee.address, 40n * UNIT);
    assert.equal(payment.ticket.kind, "spend9");
    assert.equal(payment.fees, FLAT);
    assert.equal(payment.ticket.nullifiers.length, 9);
    assert.equal(new Set(payment.ticket.nullifiers).size, 9);
    assert.equal(payment.ticket.leaf_index.length, 4);
    assert.equal((await on.executions(payment.statement)).length, 1);
    assert.equal(spentNotes(), 4);
    assert.equal(rich.balance().total, 6n * UNIT - FLAT);
    await payee.sync();
    assert.equal(payee.balance().total, 40n * UNIT);
    assert.equal(payee.balance().unverified, 0n);
  });

  it("is one withdrawal", async () => {
    await receive(7n * UNIT, 8n * UNIT);
    const held = rich.balance().total;
    const payment = await rich.withdraw(PUBLIC, held - FLAT);
    assert.equal(payment.ticket.kind, "spend9");
    assert.equal(await on.usdc.balanceOf(PUBLIC), held - FLAT);
    assert.equal(rich.balance().total, 0n);
    const restored = await on.wallet({ seed });
    await restored.sync();
    assert.equal(restored.balance().total, 0n);
    assert.deepEqual(restored.notes(), rich.notes());
  });

  it("is refused as a payment of two, with a changed proof, and on another path of the interface", async () => {
    await receive(5n * UNIT, 6n * UNIT, 7n * UNIT);
    const silent = await on.wallet({ seed, through: capturing(on.client) });
    const body = await capture<SpendBody>(silent, (wallet) => wallet.pay(rich.address, 17n * UNIT));
    const post = async (path: string, sent: unknown): Promise<[number, string | undefined]> => {
      const response = await documentedFetch(on.entry.base_url)(on.entry.base_url + path, {
        method: "POST",
        headers: { "x-api-key": on.stack.file.api_key, "content-type": "application/json" },
        body: JSON.stringify(sent),
      });
      return [response.status, ((await response.json()) as { code?: string }).code];
    };
    assert.deepEqual(await post("/sequence/spend", body), [400, "INVALID_REQUEST"]);
    const bent = structuredClone(body);
    bent.proof.pi_a[0] = String(BigInt(bent.proof.pi_a[0]) ^ 1n);
    assert.deepEqual(await post("/sequence/spend9", bent), [422, "PROOF_INVALID"]);
    const twice = structuredClone(body);
    const at = body.public_signals.length - 5;
    twice.public_signals[at] = twice.public_signals[at - 1]!;
    const [status] = await post("/sequence/spend9", twice);
    assert.ok(status === 400 || status === 422);
    assert.deepEqual(await post("/sequence/spend9", body), [202, undefined]);
  });
});

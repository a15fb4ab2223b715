/**
 * P11. A payment that the proxy refused, and that its user therefore makes again, is made once. The proxy that
 * answers "refused" may hold a valid proof all the same, good until the user's deadline.
 */
import assert from "node:assert/strict";
import {
  createClient,
  createWallet,
  memoryStorage,
  type Pins,
  type Wallet,
} from "../../shared/client/index.ts";
import type { StreamEvent } from "../../shared/api/data.ts";
import { SpendingKey } from "../../shared/notes/keys.ts";
import { spendBody } from "../../shared/api/transactions.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { parseField } from "../../shared/protocol/host/text.ts";
import { parseSnarkjsProof } from "../../shared/protocol/host/proofs.ts";
import { checkStatement } from "../../shared/protocol/statements.ts";
import { encodeExt } from "../../shared/protocol/host/statements.ts";
import { Battlefield, freshAddress, freshKeys, mustAddress } from "../support/adversary.ts";
import { LyingService, PREFIX } from "./lying-service.ts";
import { readSealed } from "../support/sealed-notes.ts";

const refusal = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe("P11 a payment made again is made once", function () {
  this.timeout(600_000);
  let field: Battlefield;
  let service: LyingService;
  let keys: SpendingKey;
  let wallet: Wallet;
  let to: Address;
  const sink = freshKeys().viewing.addressText(PREFIX);

  before(async () => {
    field = await Battlefield.start();
    service = await LyingService.start(field, sink);
  });
  after(async () => {
    await service.stop();
    await field.stop();
  });

  let user = 0;
  beforeEach(async () => {
    service.lies = {};
    service.answer = "PROOF_INVALID";
    service.beforeAnswer = () => Promise.resolve();
    service.payments.length = 0;
    to = freshAddress();
    const seed = new Uint8Array(32).fill(100 + user++);
    keys = SpendingKey.fromSeed(seed);
    const ceiling = { flat: 50_000n, bps: 0 };
    const pins: Pins = {
      ...{ chainId: Number(field.home.chainId), pool: field.home.pool, addressPrefix: PREFIX },
      enclaves: "unverified",
      ...{ assets: [field.usdcAddress], feeCeiling: { withdraw: ceiling }, feeSinks: [sink] },
    };
    const client = createClient({ baseUrl: service.baseUrl, credential: { apiKey: "k" }, tries: 1 });
    wallet = await createWallet({
      key: { seed },
      client,
      storage: memoryStorage(),
      prover: field.prover,
      pins,
    });
    await field.settle(await field.deposit(keys, 10_000_000n), await field.deposit(keys, 5_000_000n));
  });

  const income = async (): Promise<void> =>
    field.settle(await field.deposit(keys, 500_000n), await field.deposit(keys, 600_000n));

  /** Carries a payment that the proxy said it had refused. */
  async function carry(payment: unknown): Promise<string> {
    const { deadline, ext, proof, public_signals } = spendBody.parse(payment);
    const recipient = mustAddress(ext.recipient);
    const bytes = encodeExt({ kind: "spend", recipient, ...readSealed(ext) });
    const signals = public_signals.map((signal) => parseField(signal)!);
    const statement = checkStatement(field.home, "spend", BigInt(deadline), signals, bytes);
    assert.ok(typeof statement !== "string");
    const signed = { statement, proof: parseSnarkjsProof(proof)!, authorization: "0x" };
    return field.executeOne(await field.transaction(signed));
  }
  const paid = (): Promise<bigint> => field.usdc.getFunction("balanceOf")(to) as Promise<bigint>;

  it("P11 refused by a lying proxy, then made again with newer notes at hand", async () => {
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PROOF_INVALID"));
    // New income: now two smaller notes cover the same amount.
    await income();
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PROOF_INVALID"));
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PROOF_INVALID"));
    assert.equal(service.payments.length, 3);
    const outcomes: string[] = [];
    for (const payment of service.payments) outcomes.push(await carry(payment));
    assert.deepEqual(outcomes, ["executed", "NullifierSpent", "NullifierSpent"]);
    assert.equal(await paid(), 1_000_000n);
  });

  it("P11 the last attempt carried first", async () => {
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PROOF_INVALID"));
    await income();
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PROOF_INVALID"));
    const [first, last] = service.payments;
    assert.deepEqual([await carry(last), await carry(first)], ["executed", "NullifierSpent"]);
    assert.equal(await paid(), 1_000_000n);
  });

  it("P11 refused for a root that it says is unknown: the wallet's own new attempts are bound too", async () => {
    service.answer = "ROOT_UNKNOWN";
    // Two notes that would do, while the client waits for the answer to its first attempt.
    service.beforeAnswer = () => (service.payments.length === 1 ? income() : Promise.resolve());
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("ROOT_UNKNOWN"));
    assert.equal(service.payments.length, 3);
    const outcomes: string[] = [];
    for (const payment of service.payments) outcomes.push(await carry(payment));
    assert.deepEqual(outcomes, ["executed", "NullifierSpent", "NullifierSpent"]);
    assert.equal(await paid(), 1_000_000n);
  });

  it("P11 refused and executed at once: the user learns of it instead of paying twice", async () => {
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PROOF_INVALID"));
    assert.equal(await carry(service.payments[0]), "executed");
    await income();
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("EXECUTED_AFTER_REFUSAL"));
    assert.equal(service.payments.length, 1);
    assert.equal(await paid(), 1_000_000n);
  });

  it("P11 refused, with the nullifiers named as spent so that other notes would be taken", async () => {
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PROOF_INVALID"));
    await income();
    const { public_signals } = spendBody.parse(service.payments[0]);
    const place = { tx_hash: `0x${"11".repeat(32)}`, block_number: 1_000_000 };
    service.lies = {
      events: (truth) => [
        ...truth,
        ...public_signals.map((signal): StreamEvent => ({
          ...{ kind: "nullifier", id: undefined },
          data: { nullifier: `0x${BigInt(signal).toString(16).padStart(64, "0")}`, ...place },
        })),
      ],
    };
    await assert.rejects(wallet.withdraw(to, 1_000_000n), refusal("PAYMENT_UNRESOLVED"));
    assert.equal(service.payments.length, 1);
  });
});

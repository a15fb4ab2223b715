import assert from "node:assert/strict";
import { openOf } from "../../../../support/stores/tickets.ts";
import { Wallet } from "ethers";
import { spendDraft } from "../../../../support/drafts.ts";
import { attester } from "../../../../../scripts/stack/pool-transaction.ts";
import { Admission } from "../../../../../proxy/api/payments/admission.ts";
import type { Body } from "../../../../../proxy/api/payments/body.ts";
import { toTransaction } from "../../../../../proxy/api/payments/transaction.ts";
import type { ErrorCode } from "../../../../../shared/api/errors.ts";
import type { RelayBody } from "../../../../../shared/api/transactions.ts";
import { FIELD_ORDER, type Address, type Field } from "../../../../../shared/protocol/brands.ts";
import { toHex } from "../../../../../shared/protocol/bytes.ts";
import { toSnarkjsProof } from "../../../../../shared/protocol/host/proofs.ts";
import { testFees } from "../../../../support/fees.ts";
import { Money, NO_PROOF, OWNER, type MadeStatement } from "../../../../support/money.ts";
import { until } from "../../../../support/until.ts";
import { paymentsOn } from "./payments-on.ts";
import { posted } from "./posted.ts";
import { writeSealed } from "../../../../support/sealed-notes.ts";

const FACTORY = "0x00000000000000000000000000000000000000fa" as Address;
const OTHER_TOKEN = {
  ...{ address: "0x00000000000000000000000000000000000000aa" as Address, symbol: "EURC", decimals: 6 },
};

describe("payments/admission: each refusal has its code and leaves nothing behind", function () {
  let on: Money;
  let admission: Admission;
  const now = (): number => Math.floor(Date.now() / 1000);

  before(async () => {
    on = await Money.start();
    await on.run();
    await on.reaches(await on.accept(await on.deposit()), "confirmed");
    const asset = { address: on.usdcAddress, symbol: "USDC", decimals: 6 };
    const fees = testFees({
      assets: [asset],
      minimums: [{ asset: asset.address, operation: "deposit", minimum: 1_000n }],
    });
    admission = new Admission({
      deadEnds: [FACTORY],
      pool: on.pool,
      brakes: on.pool,
      tokens: on.tokens,
      assets: [asset, OTHER_TOKEN],
      fees,
      tickets: on.store,
      data: on.data,
      isFresh: () => false,
      now: Date.now,
    });
  });
  after(() => on.stop());
  afterEach(async () => {
    // Whatever was refused, nothing of it waits.
    for (const { status } of await openOf(on.store))
      assert.ok(status.state === "confirmed" || status.state === "finalized");
  });

  function bodyOf(
    { draft, authorization }: MadeStatement,
    bend: Record<string, unknown> = {},
    bendExt: Record<string, unknown> = {},
  ): Body {
    return posted({ ...draft, authorization }, bend, bendExt);
  }
  async function check(made: Body): Promise<void> {
    await admission.admit(toTransaction(made, on.pool.home), OWNER.developerId, false);
  }
  const root = (): Field => on.data.currentRoot()!.root;
  async function refused(made: Body, code: ErrorCode): Promise<void> {
    await assert.rejects(check(made), { code });
  }

  it("passes a good deposit and a good transfer", async () => {
    await check(bodyOf(await on.deposit()));
    await check(bodyOf(on.spend(root())));
  });

  it("INVALID_REQUEST: number and range of signals, equal nullifiers, a recipient without an amount", async () => {
    const made = on.spend(root());
    const signals = made.statement.signals.map(String);
    const nullifierAt = 4;
    await refused(bodyOf(made, { public_signals: signals.slice(1) }), "INVALID_REQUEST");
    const aliased = signals.with(nullifierAt, String(made.statement.signals[nullifierAt]! + FIELD_ORDER));
    await refused(bodyOf(made, { public_signals: aliased }), "INVALID_REQUEST");
    await refused(
      bodyOf(made, { public_signals: signals.with(nullifierAt, signals[nullifierAt + 1]!) }),
      "INVALID_REQUEST",
    );
  });

  it("INVALID_REQUEST: a commitment of zero, a payment to the pool, to a token or to a factory", async () => {
    const zero = on.spend(root(), { commitments: [0n, 1n, 2n, 3n] });
    await refused(bodyOf(zero), "INVALID_REQUEST");
    for (const recipient of [on.pool.address, on.usdcAddress, OTHER_TOKEN.address, FACTORY]) {
      const made = on.stated(
        spendDraft(on.setting, root(), { asset: on.usdcAddress, amount: 5n, recipient }),
      );
      await refused(bodyOf(made), "INVALID_REQUEST");
    }
  });

  it("CONTEXT_MISMATCH: other ext, other deadline", async () => {
    const made = on.spend(root());
    const other = on.spend(root());
    const { ephemeral_key, ciphertexts } = writeSealed(other.statement.ext);
    await refused(bodyOf(made, {}, { ciphertexts }), "CONTEXT_MISMATCH");
    await refused(bodyOf(made, {}, { ephemeral_key }), "CONTEXT_MISMATCH");
    await refused(bodyOf(made, { deadline: Number(made.statement.deadline) + 1 }), "CONTEXT_MISMATCH");
  });

  it("PROOF_INVALID: coordinates that are no field elements", async () => {
    const proof = toSnarkjsProof(NO_PROOF);
    const huge = { ...proof, pi_a: [(2n ** 254n).toString(), "2", "1"] };
    await refused(bodyOf(on.spend(root()), { proof: huge }), "PROOF_INVALID");
  });

  it("INVALID_REQUEST: a deadline in the past or more than a day ahead", async () => {
    for (const deadline of [now() - 10, now() + 25 * 3600]) {
      await refused(bodyOf(await on.deposit(5_000_000n, { deadline: BigInt(deadline) })), "INVALID_REQUEST");
    }
  });

  it("AMOUNT_TOO_SMALL and ASSET_UNSUPPORTED", async () => {
    await refused(bodyOf(await on.deposit(999n)), "AMOUNT_TOO_SMALL");
    const { draft } = await on.deposit();
    const foreign = on.stated({ ...draft, asset: 0xdeadn });
    await refused(bodyOf({ ...foreign, authorization: new Uint8Array(65) }), "ASSET_UNSUPPORTED");
  });

  it("ROOT_UNKNOWN: a root that the pool never had", async () => {
    await refused(bodyOf(on.spend(123n as Field)), "ROOT_UNKNOWN");
  });

  it("NULLIFIER_SPENT and NULLIFIER_PENDING", async () => {
    const made = on.spend(root());
    await on.rpc("evm_setAutomine", [false]);
    const ticket = await on.accept(made);
    const [nullifier] = made.statement.facts.nullifiers;
    const rival = (): MadeStatement => on.spend(root(), { nullifiers: [nullifier!, 5n] });
    await refused(bodyOf(rival()), "NULLIFIER_PENDING");
    await assert.rejects(on.accept(rival()), { code: "NULLIFIER_PENDING" });
    await on.rpc("evm_setAutomine", [true]);
    await on.mine();
    await on.reaches(ticket, "confirmed");
    await refused(bodyOf(rival()), "NULLIFIER_SPENT");
  });

  it("AUTHORIZATION_INVALID: another signer, another statement, expired, used, or without the money", async () => {
    const made = await on.deposit();
    const other = await on.deposit();
    await refused(bodyOf({ ...made, authorization: other.authorization }), "AUTHORIZATION_INVALID");
    await refused(bodyOf({ ...made, authorization: new Uint8Array(65).fill(1) }), "AUTHORIZATION_INVALID");
    await refused(
      bodyOf(await on.deposit(5_000_000n, { validBefore: BigInt(now() - 1) })),
      "AUTHORIZATION_INVALID",
    );
    const depositor = await on.depositor(10n);
    await refused(bodyOf(await on.deposit(5_000_000n, { depositor })), "AUTHORIZATION_INVALID");
    await on.reaches(await on.accept(made), "confirmed");
    await refused(bodyOf(made), "AUTHORIZATION_INVALID");
  });

  it("ENCLAVE_UNAVAILABLE and PROOF_INVALID leave no ticket and no reservation", async () => {
    const payments = paymentsOn(on, admission);
    const made = on.spend(root());
    on.link.isUnreachable = true;
    await assert.rejects(payments.accept(OWNER, bodyOf(made)), { code: "ENCLAVE_UNAVAILABLE" });
    on.link.isUnreachable = false;
    assert.equal(await on.store.byStatement(made.statement.hash), undefined);
    for (const nullifier of made.statement.facts.nullifiers)
      assert.equal(await on.store.reservedBy(nullifier), undefined);
    const ticket = await payments.accept(OWNER, bodyOf(made));
    assert.equal((await payments.accept(OWNER, bodyOf(made))).id, ticket.id);
    await on.reaches(ticket, "confirmed");
    assert.equal((await payments.accept(OWNER, bodyOf(made))).id, ticket.id);
  });

  it("twenty copies of a request at once are one ticket and twenty equal answers", async () => {
    const payments = paymentsOn(on, admission);
    const body = bodyOf(on.spend(root()));
    const all = await Promise.all(Array.from({ length: 20 }, () => payments.accept(OWNER, body)));
    assert.deepEqual(new Set(all.map(({ id }) => id)).size, 1);
    await assert.rejects(payments.accept({ developerId: "other", sub: undefined }, body), {
      code: "NULLIFIER_PENDING",
    });
    await on.reaches(all[0]!, "confirmed");
  });

  it("attests without reserving, and what it returns anyone may send", async () => {
    const payments = paymentsOn(on, admission);
    const made = on.spend(root());
    const { calldata, attestations } = await payments.attest(OWNER.developerId, bodyOf(made));
    assert.equal(attestations.length, 1);
    for (const nullifier of made.statement.facts.nullifiers)
      assert.equal(await on.store.reservedBy(nullifier), undefined);
    const stranger = await on.provider.getSigner(5);
    await (
      await stranger.sendTransaction({ to: on.pool.address, data: calldata, gasLimit: 2_000_000n })
    ).wait();
    assert.equal(await on.executions(made), 1);
  });

  it("ATTESTATION_INVALID: none that the pool accepts, before any gas; a good one is relayed", async () => {
    const payments = paymentsOn(on, admission);
    const made = on.spend(root());
    const body = bodyOf(made);
    const [good] = await on.attestor.attest(made.statement, NO_PROOF);
    const relayed = (signer: string, signature: Uint8Array): RelayBody =>
      ({ ...body, attestations: [{ signer, signature: toHex(signature) }] }) as RelayBody;
    // Leaves of the tests before must not be what moves the nonce.
    await until("an idle sequencer", async () => {
      const isRooted = on.data.currentRoot()?.leafCount === (await on.pool.queue()).leafCount;
      return isRooted && (await on.store.outgoing()).every(({ minedIn }) => minedIn !== undefined);
    });
    const nonce = await on.chain.nonce(on.sender);
    const forged = good!.signature.map((byte, i) => (i === 10 ? byte ^ 1 : byte));
    for (const bad of [
      relayed(good!.signer, forged),
      relayed(attester(2).address, good!.signature),
      relayed(Wallet.createRandom().address, good!.signature),
    ]) {
      await assert.rejects(payments.accept(OWNER, bad), { code: "ATTESTATION_INVALID" });
    }
    assert.equal(await on.chain.nonce(on.sender), nonce);
    await on.reaches(await payments.accept(OWNER, relayed(good!.signer, good!.signature)), "confirmed");
  });
});

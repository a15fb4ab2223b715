/**
 * P3. Whoever carries a payment can change nothing about it: not the proof, the recipient, the amount, a
 * ciphertext or the deadline. First the enclave is asked to sign the changed payment; then the pool is sent it,
 * under the attestation of the honest one and under one that a stranger forged.
 */
import assert from "node:assert/strict";
import { SigningKey, Wallet, computeAddress } from "ethers";
import { type PoolTransaction, signatureBytes } from "../../scripts/stack/pool-transaction.ts";
import { attestationDigest } from "../../shared/protocol/attestation.ts";
import { BASE_FIELD_ORDER, type Address } from "../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../shared/protocol/bytes.ts";
import { encodeRequest } from "../../shared/protocol/host/enclave-host.ts";
import { keccakHex } from "../../shared/protocol/hash.ts";
import type { Proof } from "../../shared/protocol/proof.ts";
import { encodeProof } from "../../shared/protocol/host/proofs.ts";
import { committedKeyHashes } from "../../scripts/deploy/pool.ts";
import { contextOf, statementHashOf } from "../../shared/protocol/statements.ts";
import {
  attestRequest,
  Battlefield,
  flipped,
  freshAddress,
  freshKeys,
  poolTransaction,
  positionOf,
  withParty,
  withSignal,
  type Signed,
} from "../support/adversary.ts";
import { codeOf, FrameClient } from "../unit/enclave/support/frame-client.ts";

const AMOUNT = positionOf("spend", "amountOut");
const CONTEXT = positionOf("spend", "context");
/** In an ext: 20 bytes of recipient come first. */
const EPHEMERAL_KEY = 20;
const FIRST_CIPHERTEXT = EPHEMERAL_KEY + 32;
/** In a frame: version, length, request id and type come first. */
const REQUEST_BODY = 10;

describe("P3 a payment is executed as its user signed it, or not at all", function () {
  this.timeout(600_000);
  let field: Battlefield;
  let recipient: Address;
  /** A withdrawal of 12.5, valid and not executed. */
  let payment: Signed;
  /** Another valid proof of the same spender, for another statement. */
  let other: Signed;
  let attestation: Uint8Array;
  const stranger = new SigningKey(Wallet.createRandom().privateKey);

  before(async () => {
    field = await Battlefield.start();
    recipient = freshAddress();
    const keys = freshKeys();
    await field.settle(await field.deposit(keys, 100_000_000n));
    const wallet = await field.restore(keys);
    payment = await field.spend(wallet, {
      notes: wallet.notes,
      payment: { type: "withdraw", recipient, value: 12_500_000n },
    });
    other = await field.spend(wallet, {
      notes: wallet.notes,
      payment: { type: "transfer", to: freshKeys().viewing.address, value: 1n },
    });
    ({ signature: attestation } = await field.attest(payment));
  });
  after(() => field.stop());

  const ask = async (changes: Parameters<typeof attestRequest>[1]): Promise<string> =>
    codeOf(await field.enclave.ask(attestRequest(payment, changes)));

  /** Context as an attacker recomputes it for terms of its own. */
  const recomputed = (ext: Uint8Array, signals: readonly bigint[] = payment.statement.signals): bigint[] =>
    withSignal(signals, CONTEXT, contextOf(field.home, "spend", payment.statement.deadline, ext));

  const payTo = (thief: Address): Uint8Array => withParty(payment.statement.extBytes, thief);
  /** A ciphertext, and the ephemeral key under which all of them stand. */
  const otherwiseSealed = (): Uint8Array[] =>
    [FIRST_CIPHERTEXT + 40, EPHEMERAL_KEY].map((at) => flipped(payment.statement.extBytes, at));
  const doubled = (): bigint[] => withSignal(payment.statement.signals, AMOUNT, 25_000_000n);

  describe("the enclave refuses", () => {
    it("P3 enclave: a changed proof", async () => {
      const honest = encodeProof(payment.proof);
      // One changed bit anywhere leaves the curve, or the field.
      for (const at of [31, 63, 95, 127, 159, 191, 223, 255]) {
        assert.equal(await ask({ proof: flipped(honest, at) }), "PROOF_NOT_ON_CURVE");
      }
      assert.equal(await ask({ proof: new Uint8Array(256) }), "PROOF_AT_INFINITY");
      const [x, y] = payment.proof.a;
      const shifted: Proof = { ...payment.proof, a: [x + BASE_FIELD_ORDER, y] };
      assert.equal(await ask({ proof: encodeProof(shifted) }), "PROOF_NOT_CANONICAL");
      // Valid points, wrong statement: each part taken from another valid proof, and all of them.
      const { a, b, c } = other.proof;
      for (const part of [{ a }, { b }, { c }, { a, b, c }]) {
        assert.equal(await ask({ proof: encodeProof({ ...payment.proof, ...part }) }), "PROOF_INVALID");
      }
      const negated: Proof = { ...payment.proof, a: [x, BASE_FIELD_ORDER - y] };
      assert.equal(await ask({ proof: encodeProof(negated) }), "PROOF_INVALID");
    });

    it("P3 enclave: a changed recipient, with the old context and with one recomputed for it", async () => {
      const ext = payTo(freshAddress());
      assert.equal(await ask({ ext }), "CONTEXT_MISMATCH");
      assert.equal(await ask({ ext, signals: recomputed(ext) }), "PROOF_INVALID");
    });

    it("P3 enclave: a changed amount, with the old context and with one recomputed", async () => {
      // The amount is a signal of its own and not in ext, so the context is the same either way.
      assert.equal(await ask({ signals: doubled() }), "PROOF_INVALID");
      assert.equal(
        await ask({ signals: recomputed(payment.statement.extBytes, doubled()) }),
        "PROOF_INVALID",
      );
      // All of it kept back: then the recipient must go as well, and both are bound.
      const none = withSignal(payment.statement.signals, AMOUNT, 0n);
      assert.equal(await ask({ signals: none }), "STATEMENT_INVALID");
      assert.equal(
        await ask({ signals: withSignal(none, positionOf("spend", "asset"), 0n) }),
        "STATEMENT_INVALID",
      );
    });

    it("P3 enclave: a changed ciphertext or ephemeral key, with the old context and with one recomputed for it", async () => {
      for (const ext of otherwiseSealed()) {
        assert.equal(await ask({ ext }), "CONTEXT_MISMATCH");
        assert.equal(await ask({ ext, signals: recomputed(ext) }), "PROOF_INVALID");
      }
    });

    it("P3 enclave: a changed deadline, with the old context and with one recomputed for it", async () => {
      const deadline = payment.statement.deadline + 86_400n;
      assert.equal(await ask({ deadline }), "CONTEXT_MISMATCH");
      const context = contextOf(field.home, "spend", deadline, payment.statement.extBytes);
      const signals = withSignal(payment.statement.signals, CONTEXT, context);
      assert.equal(await ask({ deadline, signals }), "PROOF_INVALID");
    });

    it("P3 enclave: any other changed signal", async () => {
      for (const at of payment.statement.signals.keys()) {
        const signals = withSignal(payment.statement.signals, at, payment.statement.signals[at]! + 1n);
        const code = await ask({ signals });
        assert.equal(code, at === CONTEXT ? "CONTEXT_MISMATCH" : "PROOF_INVALID", `signal ${at}`);
      }
    });

    it("P3 enclave: any other byte of the request, whichever it is", async () => {
      const honest = encodeRequest(1, attestRequest(payment));
      let client = await FrameClient.connect(field.platform.vsockPath, { handshake: true });
      for (let at = REQUEST_BODY; at < honest.length; at++) {
        client.socket.write(flipped(honest, at));
        // A changed count leaves no frame at all: that connection is closed, which is a refusal too.
        const reply = await client.reply(1).catch(() => undefined);
        if (reply === undefined)
          client = await FrameClient.connect(field.platform.vsockPath, { handshake: true });
        else assert.equal(reply.type, "refused", `byte ${at}`);
      }
      client.end();
    });

    it("P3 enclave: still attests the honest payment after all that", async () => {
      assert.deepEqual((await field.attest(payment)).signature, attestation);
    });
  });

  describe("the pool refuses", () => {
    /** Signed by a stranger over exactly what the changed transaction says. */
    async function forged(changed: PoolTransaction): Promise<PoolTransaction> {
      const statementHash = statementHashOf(
        "spend",
        changed.deadline,
        changed.signals,
        mustFromHex(changed.ext),
      );
      const digest = attestationDigest(field.home, {
        kind: "spend",
        verifyingKeyHash: (await committedKeyHashes()).spend,
        statementHash,
        proofHash: keccakHex(mustFromHex(changed.proof)),
        deadline: changed.deadline,
      });
      return { ...changed, attestations: toHex(signatureBytes(stranger, digest)) };
    }

    /** Sends it and demands that it was refused with this error and that nothing whatever changed. */
    async function refused(
      changed: PoolTransaction,
      error: string,
      thief = recipient,
    ): Promise<readonly unknown[]> {
      const look = (): Promise<unknown> =>
        field.snapshot([recipient, thief], payment.statement.facts.nullifiers);
      const before = await look();
      const { members, reasons } = await field.execute([changed]);
      assert.deepEqual(members, [error]);
      assert.deepEqual(await look(), before);
      return reasons[0] ?? [];
    }

    async function refusedForged(changed: PoolTransaction, thief = recipient): Promise<void> {
      const [named] = await refused(await forged(changed), "SignerUnknown", thief);
      assert.equal(named, computeAddress(stranger));
    }

    /** The digest is another one, so the honest signature names some address that is nobody's. */
    async function refusedUnderHonestAttestation(changed: PoolTransaction, thief = recipient): Promise<void> {
      const [named] = await refused(changed, "SignerUnknown", thief);
      assert.notEqual(String(named).toLowerCase(), field.signer);
    }

    const honest = (changes: Partial<PoolTransaction> = {}): PoolTransaction =>
      poolTransaction(payment, attestation, changes);

    it("P3 pool: a changed proof, attested for another proof or by a stranger", async () => {
      const changed = honest({ proof: poolTransaction(other, attestation).proof });
      await refusedUnderHonestAttestation(changed);
      await refusedForged(changed);
      await refused(honest({ proof: "0x" }), "ProofLength");
    });

    it("P3 pool: a changed recipient, attested for another one or by a stranger", async () => {
      const thief = freshAddress();
      const ext = payTo(thief);
      await refused(honest({ ext: toHex(ext) }), "ContextMismatch", thief);
      const changed = honest({ ext: toHex(ext), signals: recomputed(ext) });
      await refusedUnderHonestAttestation(changed, thief);
      await refusedForged(changed, thief);
    });

    it("P3 pool: a changed amount, attested for another one or by a stranger", async () => {
      const changed = honest({ signals: doubled() });
      await refusedUnderHonestAttestation(changed);
      await refusedForged(changed);
    });

    it("P3 pool: a changed ciphertext or ephemeral key, attested for another one or by a stranger", async () => {
      for (const ext of otherwiseSealed()) {
        await refused(honest({ ext: toHex(ext) }), "ContextMismatch");
        const changed = honest({ ext: toHex(ext), signals: recomputed(ext) });
        await refusedUnderHonestAttestation(changed);
        await refusedForged(changed);
      }
    });

    it("P3 pool: a changed deadline, attested for another one or by a stranger", async () => {
      const deadline = payment.statement.deadline + 86_400n;
      await refused(honest({ deadline }), "ContextMismatch");
      const context = contextOf(field.home, "spend", deadline, payment.statement.extBytes);
      const changed = honest({ deadline, signals: withSignal(payment.statement.signals, CONTEXT, context) });
      await refusedUnderHonestAttestation(changed);
      await refusedForged(changed);
    });

    it("P3 pool: still pays the honest payment to the unit, and its ciphertexts are the user's", async () => {
      assert.equal(await field.executeOne(honest()), "executed");
      assert.equal(await field.usdc.getFunction("balanceOf")(recipient), 12_500_000n);
      const said = (await field.events()).flatMap((event) =>
        event.kind === "leaf" ? [event.data.ciphertext] : [],
      );
      assert.deepEqual(said.slice(-4), payment.statement.ext.ciphertexts.map(toHex));
    });
  });
});

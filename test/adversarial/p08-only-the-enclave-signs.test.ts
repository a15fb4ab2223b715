/**
 * P8. The pool takes the word of an accepted enclave key, in its one spelling, over exactly what it is sent; and
 * the enclave signs nothing but what it verified.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { SigningKey, Wallet, computeAddress, type EventLog } from "ethers";
import { startServingEnclave } from "../../scripts/stack/serving-enclave.ts";
import type { SimulatedEnclave } from "../../scripts/stand-ins/platform/main.ts";
import { committedKeyHashes } from "../../scripts/deploy/pool.ts";
import { PoolRefused } from "../../scripts/operator/refusal.ts";
import { kmsKeyIn, registerSigner, settledBlockHash } from "../../scripts/operator/registration.ts";
import { measurementNamed, registerDevelopmentSigner } from "../../scripts/stack/development-registration.ts";
import { developmentImage } from "../../scripts/stack/development-signer.ts";
import { seal, spendDraft } from "../support/drafts.ts";
import {
  type PoolRootUpdate,
  type PoolTransaction,
  signatureBytes,
} from "../../scripts/stack/pool-transaction.ts";
import { attestationDigest, rootUpdateDigest } from "../../shared/protocol/attestation.ts";
import { ZERO_ADDRESS, type Address, type Bytes32, type Field } from "../../shared/protocol/brands.ts";
import { bytesToUint, concatBytes, mustFromHex, toHex, word } from "../../shared/protocol/bytes.ts";
import { imageOf } from "../../shared/protocol/host/registration.ts";
import { encodeRequest } from "../../shared/protocol/host/enclave-host.ts";
import { proofHashOf } from "../../shared/protocol/proof.ts";
import {
  as,
  attestRequest,
  Battlefield,
  FAR_DEADLINE,
  flipped,
  freshAddress,
  freshKeys,
  mustAddress,
  poolTransaction,
  revertOf,
  send,
  signerOf,
  type Signed,
} from "../support/adversary.ts";
import { FrameClient } from "../unit/enclave/support/frame-client.ts";

/** Order of secp256k1 (SEC 2, section 2.4.1). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const WEEK_SECS = 7 * 86_400;
const YEAR_SECS = 365 * 86_400;

describe("P8 only an accepted enclave's signature counts", function () {
  this.timeout(600_000);
  let field: Battlefield;
  /** Deposits that nobody executed: one that stays valid to the end, and another. */
  let deposit: Signed;
  let other: Signed;
  let honest: Uint8Array;
  const stranger = new SigningKey(Wallet.createRandom().privateKey);
  const strangersName = computeAddress(stranger);
  /** The same program, booted elsewhere: a key that no pool knows. */
  let secondPlatform: SimulatedEnclave;
  let second: FrameClient;
  let secondSigner: Address;
  let folder: string;

  before(async () => {
    field = await Battlefield.start();
    folder = await mkdtemp(path.join(tmpdir(), "cloister-second-"));
    secondPlatform = await startServingEnclave({ folder });
    second = await FrameClient.connect(secondPlatform.vsockPath, { handshake: true });
    secondSigner = await signerOf(second);
    deposit = await field.deposit(freshKeys(), 5_000_000n);
    other = await field.deposit(freshKeys(), 6_000_000n);
    ({ signature: honest } = await field.attest(deposit));
  });
  after(async () => {
    second.end();
    await secondPlatform.stop();
    await rm(folder, { recursive: true, force: true });
    await field.stop();
  });

  const under = (...signatures: readonly Uint8Array[]): PoolTransaction =>
    poolTransaction(deposit, concatBytes(...signatures));

  async function refused(transaction: PoolTransaction, error: string): Promise<unknown> {
    const before = await field.snapshot();
    const { members, reasons } = await field.execute([transaction]);
    assert.deepEqual(members, [error]);
    assert.deepEqual(await field.snapshot(), before);
    return reasons[0]?.[0];
  }

  async function strangersSignature({ statement, proof }: Signed): Promise<Uint8Array> {
    const { kind, hash: statementHash, deadline } = statement;
    const verifyingKeyHash = (await committedKeyHashes())[kind];
    const message = { kind, verifyingKeyHash, statementHash, proofHash: proofHashOf(proof), deadline };
    return signatureBytes(stranger, attestationDigest(field.home, message));
  }

  it("P8 a stranger's signature, alone or beside the enclave's", async () => {
    const forged = await strangersSignature(deposit);
    assert.equal(await refused(under(forged), "SignerUnknown"), strangersName);
    const both = BigInt(strangersName) < BigInt(field.signer) ? [forged, honest] : [honest, forged];
    assert.equal(await refused(under(...both), "SignerUnknown"), strangersName);
    // The wrong way round the first fault differs: an unknown one is met before the order is.
    const reversed = both.toReversed();
    await refused(under(...reversed), reversed[0] === forged ? "SignerUnknown" : "SignersNotAscending");
  });

  it("P8 another boot of the very same program", async () => {
    assert.notEqual(secondSigner, field.signer);
    const reply = await second.ask(attestRequest(deposit));
    assert.equal(reply.type, "attest");
    const { signature } = reply as { signature: Uint8Array };
    assert.equal(String(await refused(under(signature), "SignerUnknown")).toLowerCase(), secondSigner);
  });

  it("P8 the zero signer: garbage that recovers to nobody", async () => {
    for (const garbage of [
      new Uint8Array(65),
      concatBytes(new Uint8Array(64), Uint8Array.of(27)),
      concatBytes(word(ORDER), honest.slice(32)),
    ]) {
      await refused(under(garbage), "SignatureInvalid");
    }
    const zero = { pool: field.home.pool, signer: ZERO_ADDRESS, measurement: FIELD_IMAGE(field.signer) };
    await assert.rejects(registerDevelopmentSigner(field.owner, zero), { code: "UserDataInvalid" });
  });

  it("P8 the malleated twin, another v, another length", async () => {
    const s = ORDER - bytesToUint(honest.slice(32, 64));
    const v = honest[64]!;
    await refused(under(honest.slice(0, 32), word(s), Uint8Array.of(v === 27 ? 28 : 27)), "SignatureInvalid");
    for (const spelled of [v - 27, v + 2, v + 35, 0xff]) {
      await refused(under(honest.slice(0, 64), Uint8Array.of(spelled)), "SignatureInvalid");
    }
    await refused(under(honest.slice(0, 64), Uint8Array.of(v === 27 ? 28 : 27)), "SignerUnknown");
    await refused(under(), "TooFewAttestations");
    await refused(under(honest.slice(0, 64)), "AttestationLength");
    await refused(under(honest, Uint8Array.of(0)), "AttestationLength");
    await refused(under(honest, honest), "SignersNotAscending");
  });

  it("P8 the enclave's own signature over something else", async () => {
    const { signature: elsewhere } = await field.attest(other);
    const root = await field.attestRoot(await field.rootRequest(deposit.statement.facts.commitments));
    for (const signature of [elsewhere, mustFromHex(root.attestations), flipped(honest, 40)]) {
      assert.notEqual(String(await refused(under(signature), "SignerUnknown")).toLowerCase(), field.signer);
    }
  });

  it("P8 a root update signed by a stranger, or by nobody, is skipped", async () => {
    const update = await field.attestRoot(await field.rootRequest(deposit.statement.facts.commitments));
    const message = {
      ...update,
      oldRoot: update.oldRoot as Field,
      newRoot: 5n as Field,
      headBefore: update.headBefore as Bytes32,
      headAfter: update.headAfter as Bytes32,
    };
    const forged: PoolRootUpdate = {
      ...update,
      newRoot: 5n,
      attestations: toHex(signatureBytes(stranger, rootUpdateDigest(field.home, message))),
    };
    // The payment goes through beside each of them; the root does not. Then the chain is put back.
    for (const [bent, error] of [
      [forged, "SignerUnknown"],
      [{ ...update, newRoot: 5n }, "SignerUnknown"],
      [{ ...update, attestations: "0x" }, "TooFewAttestations"],
      [{ ...update, attestations: toHex(new Uint8Array(65)) }, "SignatureInvalid"],
    ] as const) {
      const snapshot: unknown = await field.provider.send("evm_snapshot", []);
      const outcome = await field.execute([under(honest)], bent);
      assert.deepEqual([...outcome.members, outcome.update], ["executed", error]);
      assert.equal(await field.pool.getFunction("rootSequence")(5n), 0n);
      await field.provider.send("evm_revert", [snapshot]);
    }
  });

  it("P8 garbage ends its own connection; the enclave goes on signing for others, and never signs a digest", async () => {
    const valid = encodeRequest(1, attestRequest(deposit));
    const frames: Uint8Array[] = [
      new TextEncoder().encode("GET / HTTP/1.1\r\n\r\n"),
      flipped(valid, 0),
      concatBytes(Uint8Array.of(1, 255, 255, 255, 255), valid.slice(5)),
      // Types that are reserved or unknown; 3 to 5 will be key release, and none of them takes a digest.
      ...[0, 3, 4, 5, 8, 0x82, 0xff].map((type) =>
        concatBytes(Uint8Array.of(1, 0, 0, 0, 37, 0, 0, 0, 1, type), new Uint8Array(32)),
      ),
    ];
    for (const bytes of frames) {
      const hostile = await FrameClient.connect(field.platform.vsockPath, { handshake: true });
      hostile.socket.write(bytes);
      await hostile.closed;
    }
    assert.deepEqual((await field.attest(deposit)).signature, honest);
  });

  it("P8 a signer counts from its registration by its own enclave's document, of an image that everybody saw coming", async () => {
    const stray = as(field.pool, await field.account(7));
    const image = imageOf(secondPlatform.measurement);
    assert.equal(await revertOf(stray, "proposeImage", image, 1, "", ""), "NotOwner");
    assert.equal(await revertOf(stray, "admitImage", image), "ImageNotProposed");
    assert.equal(await revertOf(stray, "removeSigner", field.signer), "NotOwner");

    const attestation = await second.ask(attestRequest(other));
    const { signature } = attestation as { signature: Uint8Array };
    const transaction = poolTransaction(other, signature);
    const register = async (): Promise<string> => {
      const nonce = mustFromHex(await settledBlockHash(field.provider));
      const reply = await second.ask({ type: "attestation", nonce });
      const { document } = reply as { document: Uint8Array };
      const { configuration } = await developmentImage();
      const kmsKey = kmsKeyIn(configuration);
      return registerSigner(await field.account(7), { pool: field.home.pool, document, kmsKey });
    };
    await assert.rejects(register(), { code: "ImageNotAdmitted" });
    await send(field.pool, "proposeImage", image, 1, "this tree", "npm run build");
    assert.equal(await revertOf(stray, "admitImage", image), "TooEarly");
    await assert.rejects(register(), { code: "ImageNotAdmitted" });
    await field.provider.send("evm_increaseTime", [100]);
    await field.provider.send("evm_mine", []);
    await refused(transaction, "SignerUnknown");
    await send(stray, "admitImage", image);
    await refused(transaction, "SignerUnknown");
    // The enclave's clock is not the chain's, which was put forward by less than a document may be old.
    assert.equal(await register(), secondSigner);
    assert.equal(await field.executeOne(transaction), "executed");
  });

  it("P8 a removed signer's word is worth nothing, also what it signed before, and it never returns", async () => {
    const before = await field.attestRoot(await field.rootRequest());
    await send(field.pool, "removeSigner", field.signer);
    assert.equal(String(await refused(under(honest), "SignerUnknown")).toLowerCase(), field.signer);
    assert.equal((await field.execute([], before)).update, "SignerUnknown");
    // Not even by a document that its enclave makes now.
    const again = { pool: field.home.pool, signer: field.signer, measurement: FIELD_IMAGE(field.signer) };
    await assert.rejects(registerDevelopmentSigner(field.owner, again), { code: "SignerRemovedBefore" });
    // The money is not stuck with it: the other signer attests the same statement.
    const reply = await second.ask(attestRequest(deposit));
    assert.equal(await field.executeOne(under((reply as { signature: Uint8Array }).signature)), "executed");
  });

  it("P8 an image proposed and forgotten: whoever has its code can no longer bring a signer in and empty the pool", async () => {
    const forgotten = { address: mustAddress(strangersName), key: stranger };
    const measurement = measurementNamed("an image that is forgotten");
    const image = imageOf(measurement);
    await send(field.pool, "proposeImage", image, 1, "", "");
    const [proposed] = await field.pool.queryFilter(field.pool.filters["ImageProposed"]!(image));
    const { admissibleAt } = (proposed as EventLog).args as unknown as { admissibleAt: bigint };
    const expiresAt = Number(admissibleAt) + WEEK_SECS;
    const everything = (await field.usdc.getFunction("balanceOf")(field.home.pool)) as bigint;
    assert.ok(everything > 0n);
    const thief = await field.account(7);
    const stray = as(field.pool, thief);
    const [root] = (await field.pool.getFunction("currentRoot")()) as [bigint];
    const setting = {
      home: field.home,
      deadline: BigInt(FAR_DEADLINE),
      verifyingKeyHashes: await committedKeyHashes(),
      attesters: [forgotten],
    };
    const payout = { asset: field.usdcAddress, amount: everything, recipient: freshAddress() };
    const { transaction } = seal(spendDraft(setting, root, payout));

    const attackAt = async (time: number): Promise<readonly string[]> => {
      const snapshot: unknown = await field.provider.send("evm_snapshot", []);
      await field.provider.send("evm_setNextBlockTimestamp", [time]);
      const admission = await nameOf(send(stray, "admitImage", image));
      await field.provider.send("evm_mine", []);
      const registration = await nameOf(
        registerDevelopmentSigner(thief, { pool: field.home.pool, signer: forgotten.address, measurement }),
      );
      const outcome = await field.executeOne(transaction);
      const stolen = (await field.usdc.getFunction("balanceOf")(payout.recipient)) as bigint;
      assert.equal(stolen, outcome === "executed" ? everything : 0n);
      await field.provider.send("evm_revert", [snapshot]);
      return [admission, registration, outcome];
    };
    // That the attack is one: while the proposal stands, it is what the owner announced.
    assert.deepEqual(await attackAt(expiresAt - 1), ["done", "done", "executed"]);
    for (const late of [expiresAt, expiresAt + 3 * YEAR_SECS])
      assert.deepEqual(
        await attackAt(late),
        ["ProposalExpired", "ImageNotAdmitted", "SignerUnknown"],
        String(late - expiresAt),
      );

    await field.provider.send("evm_setNextBlockTimestamp", [expiresAt]);
    await field.provider.send("evm_mine", []);
    assert.equal(await revertOf(stray, "admitImage", image), "ProposalExpired");
    // Announced again, it waits again; revoked, it never comes.
    await send(field.pool, "proposeImage", image, 1, "", "");
    assert.equal(await revertOf(stray, "admitImage", image), "TooEarly");
    await send(field.pool, "revokeImage", image);
    assert.equal(await revertOf(field.pool, "proposeImage", image, 1, "", ""), "ImageRevokedBefore");
  });

  /** The name of the contracts' error. */
  async function nameOf(done: Promise<unknown>): Promise<string> {
    try {
      await done;
      return "done";
    } catch (error) {
      return PoolRefused.in(error)?.code ?? (error as { code?: string }).code ?? String(error);
    }
  }
});

/** As the field's pool has it of its signers. */
const FIELD_IMAGE = (signer: Address) => measurementNamed(`the image of ${signer}`);

/**
 * P16. Of two enclaves that must sign, one lies: its key signs whatever it is asked to, and more. The other is the real
 * program. The proxy is the attacker's too, where it says so; else it is the real one's attestor.
 */
import assert from "node:assert/strict";
import { createAttestor, type Attestor, type RootRequest } from "../../proxy/api/enclave-link/attestor.ts";
import { createLink, type EnclaveLink } from "../../proxy/api/enclave-link/link.ts";
import { recoverSigner } from "../../proxy/base/chain/recovery.ts";
import { committedKeyHashes } from "../../scripts/deploy/pool.ts";
import {
  attested,
  attester,
  type PoolRootUpdate,
  type PoolTransaction,
  sealUpdate,
  unsigned,
} from "../../scripts/stack/pool-transaction.ts";
import { rootUpdateDigest, type RootUpdate } from "../../shared/protocol/attestation.ts";
import type { SignedBy } from "../../shared/protocol/host/signed-by.ts";
import { mustField, type Address } from "../../shared/protocol/brands.ts";
import { concatBytes, mustFromHex, toHex } from "../../shared/protocol/bytes.ts";
import { ENCLAVE_PORT } from "../../shared/protocol/host/enclave-host.ts";
import { compressProof } from "../../shared/protocol/proof.ts";
import type { Kind } from "../../shared/protocol/statements.ts";
import {
  attestRequest,
  Battlefield,
  freshAddress,
  freshKeys,
  poolTransaction,
  type Signed,
} from "../support/adversary.ts";
import { SigningLink } from "../support/money.ts";
import { codeOf } from "../unit/enclave/support/frame-client.ts";

const liar = attester(1);
const THEFT = 9_000_000n;

describe("P16 one lying enclave of two gets nothing executed", function () {
  this.timeout(600_000);
  let field: Battlefield;
  let keyHashes: Awaited<ReturnType<typeof committedKeyHashes>>;
  let honestLink: EnclaveLink;
  let lyingLink: EnclaveLink;
  const keys = freshKeys();
  const thief = freshAddress();
  /** An honest withdrawal, and a larger one that has no proof but that of the first. */
  let honest: Signed;
  let theft: Signed;

  before(async () => {
    field = await Battlefield.start([liar.address]);
    keyHashes = await committedKeyHashes();
    honestLink = createLink({ path: field.platform.vsockPath, port: ENCLAVE_PORT });
    lyingLink = new SigningLink(liar, keyHashes);
    const deposit = await field.deposit(keys, 10_000_000n);
    const update = await updateOver(deposit.statement.facts.commitments);
    const { members, update: taken } = await field.execute([await signedByBoth(deposit)], update);
    assert.deepEqual([members, taken], [["executed"], "taken"]);

    const wallet = await field.restore(keys);
    const { notes } = wallet;
    honest = await field.spend(wallet, {
      notes,
      payment: { type: "withdraw", recipient: thief, value: 1_000_000n },
    });
    const payment = { type: "withdraw", recipient: thief, value: THEFT } as const;
    const { statement } = field.prepareSpend(wallet, { notes, payment });
    theft = { ...honest, statement };
  });
  after(async () => {
    honestLink.close();
    await field.stop();
  });

  /** What the attestors below reported; each of them begins with nothing. */
  let reported: string[][] = [];

  async function kindOf(signer: Address): Promise<number | undefined> {
    if ((await field.pool.getFunction("isSigner")(signer)) !== true) return undefined;
    const [image] = (await field.pool.getFunction("signerRecord")(signer)) as [string];
    return Number(((await field.pool.getFunction("imageRecord")(image)) as unknown[])[1]);
  }

  function attestorOver(...links: readonly EnclaveLink[]): Attestor {
    reported = [];
    return createAttestor(
      links,
      {
        home: field.home,
        threshold: async () => Number(await field.pool.getFunction("threshold")()),
        kindOf,
        verifyingKeyHash: async (kind: Kind) => keyHashes[kind],
        recover: recoverSigner,
      },
      {
        open: () => reported.length,
        report: async ({ answers }) => void reported.push(answers.map(({ refusal }) => refusal ?? "signed")),
      },
    );
  }

  const liesSignature = ({ statement, proof }: Signed): Uint8Array => {
    const member = unsigned(statement, compressProof(proof));
    return mustFromHex(attested(field.home, keyHashes[statement.kind], member, [liar]).attestations);
  };

  /** In the order that the pool wants. */
  function joined(ofEnclave: Uint8Array, ofLiar: Uint8Array): Uint8Array {
    const isFirst = BigInt(field.signer) < BigInt(liar.address);
    return isFirst ? concatBytes(ofEnclave, ofLiar) : concatBytes(ofLiar, ofEnclave);
  }

  async function signedByBoth(signed: Signed): Promise<PoolTransaction> {
    const { signature } = await field.attest(signed);
    return poolTransaction(signed, joined(signature, liesSignature(signed)));
  }

  /** The true update, signed by both, over what waits and `more`. */
  async function updateOver(more: readonly bigint[]): Promise<PoolRootUpdate> {
    const update = await field.attestRoot(await field.rootRequest(more));
    const ofLiar = sealUpdate(field.home, update as unknown as RootUpdate, [liar]).attestations;
    const attestations = toHex(joined(mustFromHex(update.attestations), mustFromHex(ofLiar)));
    return { ...update, attestations };
  }

  async function refused(attestations: Uint8Array, error: string): Promise<void> {
    const before = await field.snapshot([thief], theft.statement.facts.nullifiers);
    assert.equal(await field.executeOne(poolTransaction(theft, attestations)), error);
    assert.deepEqual(await field.snapshot([thief], theft.statement.facts.nullifiers), before);
  }

  it("P16 a theft that it signs alone, twice, or beside a signature for something else", async () => {
    assert.equal(codeOf(await field.enclave.ask(attestRequest(theft))), "PROOF_INVALID");
    const lie = liesSignature(theft);
    await refused(lie, "TooFewAttestations");
    await refused(concatBytes(lie, lie), "SignersNotAscending");
    // What the other enclave did sign: the honest withdrawal, and a root.
    const { signature } = await field.attest(honest);
    const deposit = await field.deposit(keys, 1n);
    const root = await field.attestRoot(await field.rootRequest(deposit.statement.facts.commitments));
    for (const borrowed of [signature, mustFromHex(root.attestations)]) {
      const orders = [concatBytes(borrowed, lie), concatBytes(lie, borrowed)];
      for (const both of orders) {
        const before = await field.snapshot([thief]);
        const outcome = await field.executeOne(poolTransaction(theft, both));
        assert.ok(["SignerUnknown", "SignersNotAscending"].includes(outcome), outcome);
        assert.deepEqual(await field.snapshot([thief]), before);
      }
    }
    await refused(joined(new Uint8Array(65), lie), "SignatureInvalid");
  });

  it("P16 a theft through the proxy: whichever enclave is asked first, it carries nothing, and somebody is told", async () => {
    for (const links of [
      [lyingLink, honestLink],
      [honestLink, lyingLink],
      [lyingLink, honestLink, lyingLink],
    ]) {
      await assert.rejects(attestorOver(...links).attest(theft.statement, theft.proof), {
        code: "ENCLAVE_UNAVAILABLE",
        message: /attestation is stopped/,
      });
      assert.deepEqual(reported, [["signed", "PROOF_INVALID"]]);
    }
  });

  it("P16 one that answers in two places, or hands on what the other signed, counts once", async () => {
    const twice = attestorOver(lyingLink, new SigningLink(liar, keyHashes));
    await assert.rejects(twice.attest(theft.statement, theft.proof), { code: "ENCLAVE_UNAVAILABLE" });
    const mirror = attestorOver(honestLink, honestLink);
    await assert.rejects(mirror.attest(honest.statement, honest.proof), { code: "ENCLAVE_UNAVAILABLE" });
  });

  it("P16 a false root that it signs alone, twice, or beside the signature for the true one: skipped, the payment goes", async () => {
    const puts: ((ofLiar: Uint8Array, ofEnclave: Uint8Array) => Uint8Array)[] = [
      (ofLiar) => ofLiar,
      (ofLiar) => concatBytes(ofLiar, ofLiar),
      (ofLiar, ofEnclave) => joined(ofEnclave, ofLiar),
    ];
    for (const [i, put] of puts.entries()) {
      const deposit = await field.deposit(keys, BigInt(i + 1));
      const truth = await field.attestRoot(await field.rootRequest(deposit.statement.facts.commitments));
      const lie = { ...truth, newRoot: mustField(12_345n) } as unknown as RootUpdate;
      const ofLiar = mustFromHex(sealUpdate(field.home, lie, [liar]).attestations);
      const attestations = toHex(put(ofLiar, mustFromHex(truth.attestations)));
      const update = { ...truth, newRoot: 12_345n, attestations };
      const before = (await field.pool.getFunction("currentRoot")()) as unknown[];
      const outcome = await field.execute([await signedByBoth(deposit)], update);
      assert.deepEqual(outcome.members, ["executed"]);
      assert.ok(
        ["TooFewAttestations", "SignersNotAscending", "SignerUnknown"].includes(outcome.update ?? ""),
        outcome.update,
      );
      assert.deepEqual(await field.pool.getFunction("currentRoot")(), before);
    }
    assert.equal((await field.execute([], await updateOver([]))).update, "taken");
  });

  it("P16 a false root through the proxy: a reply about another root is no signature", async () => {
    const deposit = await field.deposit(keys, 4n);
    const asked = await field.rootRequest(deposit.statement.facts.commitments);
    const { fromIndex, headBefore, frontier, leaves } = asked;
    const truth = await field.attestRoot(asked);
    const request = {
      ...{ fromIndex: Number(fromIndex), headBefore, frontier: frontier.map(mustField) },
      ...{ leaves: leaves.map(mustField), expected: truth as unknown as RootUpdate },
    } satisfies RootRequest;
    const bent: EnclaveLink = {
      async ask(question) {
        const reply = await lyingLink.ask(question);
        if (reply.type !== "attest-root") return reply;
        const newRoot = mustField(12_345n);
        const { attestations } = sealUpdate(field.home, { ...request.expected, newRoot }, [liar]);
        return { ...reply, newRoot, signature: mustFromHex(attestations) };
      },
      close: () => undefined,
    };
    await assert.rejects(attestorOver(bent, honestLink).attestRoot(request), { code: "ENCLAVE_UNAVAILABLE" });
    assert.deepEqual(reported, [["signed", "ANOTHER_OUTCOME"]]);
    const both = await attestorOver(lyingLink, honestLink).attestRoot(request);
    const digest = rootUpdateDigest(field.home, request.expected);
    assert.deepEqual(signersOf(digest, both), [field.signer, liar.address].toSorted());
  });

  it("P16 what both sign is executed", async () => {
    const both = await attestorOver(lyingLink, honestLink).attest(honest.statement, honest.proof);
    const signatures = new Map(both.map(({ signer, signature }) => [signer, signature]));
    const attestations = joined(signatures.get(field.signer)!, signatures.get(liar.address)!);
    assert.equal(await field.executeOne(poolTransaction(honest, attestations)), "executed");
    assert.equal(await field.usdc.getFunction("balanceOf")(thief), 1_000_000n);
  });

  function signersOf(digest: Uint8Array, signed: readonly SignedBy[]): (Address | undefined)[] {
    return signed.map(({ signature }) => recoverSigner(digest, signature)).toSorted();
  }
});

import assert from "node:assert/strict";
import { verifyTypedData } from "ethers";
import { attest, type Attesting } from "../../../enclave/attest.ts";
import { BASE_FIELD_ORDER } from "../../../shared/protocol/brands.ts";
import { concatBytes, toHex, word } from "../../../shared/protocol/bytes.ts";
import type { AttestRequest, EnclaveReply, Refusal } from "../../../shared/protocol/enclave-messages.ts";
import { proofHashOf, type Proof } from "../../../shared/protocol/proof.ts";
import { encodeProof } from "../../../shared/protocol/host/proofs.ts";
import {
  decodeExt,
  statementHashOf,
  type SwapExt,
  type SwapPath,
} from "../../../shared/protocol/statements.ts";
import { encodeExt } from "../../../shared/protocol/host/statements.ts";
import { attestationType } from "../../support/oracle.ts";
import { codeOf } from "./support/frame-client.ts";
import { aSigner, CONFIGURATION } from "./support/key-life.ts";
import {
  PROVEN,
  aProvenDeposit,
  aProvenSpend,
  aProvenSpend9,
  aProvenSwap,
  SOMEBODY,
  withSignals,
} from "./support/statements.ts";
import { HOME } from "../../contract/vectors/story.ts";
import { NO_VERIFIER, verifierHere } from "./support/verifiers.ts";
import { negate, negateG2, onTwistOutsideSubgroup } from "./support/toy-groth16.ts";
import { anySealed } from "../../support/sealed-notes.ts";

const BY_VERIFIER: ReadonlySet<Refusal> = new Set<Refusal>([
  "PROOF_AT_INFINITY",
  "PROOF_NOT_ON_CURVE",
  "PROOF_NOT_IN_SUBGROUP",
  "PROOF_INVALID",
]);

describe("enclave/attest", function () {
  let parts: Attesting;
  let deposit: { request: AttestRequest; proof: Proof };
  let spend: { request: AttestRequest; proof: Proof };
  let many: { request: AttestRequest; proof: Proof };
  let swap: { request: AttestRequest; proof: Proof };

  before(async () => {
    const { verifyingKeyHashes } = CONFIGURATION;
    parts = { signer: aSigner(), verify: await verifierHere(), verifyingKeyHashes };
    deposit = aProvenDeposit();
    spend = aProvenSpend();
    many = aProvenSpend9();
    swap = aProvenSwap();
  });

  const answer = (request: AttestRequest): Promise<EnclaveReply> => attest(parts, request);
  const withProof = (proof: Proof): AttestRequest => ({ ...spend.request, proof: encodeProof(proof) });

  for (const [kind, make] of PROVEN) {
    it(`signs exactly what was verified: ${kind}`, async () => {
      const { request, proof } = make();
      const reply = await answer(request);
      assert.ok(reply.type === "attest");
      const statementHash = statementHashOf(kind, request.deadline, request.signals, request.ext);
      assert.equal(reply.statementHash, statementHash);
      assert.equal(reply.proofHash, proofHashOf(proof));
      const message = {
        kind: request.kindId,
        verifyingKeyHash: CONFIGURATION.verifyingKeyHashes[kind],
        statementHash,
        proofHash: reply.proofHash,
        deadline: request.deadline,
      };
      const recovered = verifyTypedData(...attestationType(request), message, toHex(reply.signature));
      assert.equal(recovered.toLowerCase(), parts.signer.address);
    });
  }

  it("gives the negated twin of a proof the same statement hash under another proof hash", async () => {
    const { proof, request } = spend;
    const twin = await answer(withProof({ ...proof, a: negate(proof.a), b: negateG2(proof.b) }));
    const plain = await answer(request);
    assert.ok(twin.type === "attest" && plain.type === "attest");
    assert.equal(twin.statementHash, plain.statementHash);
    assert.notEqual(twin.proofHash, plain.proofHash);
  });

  describe("refuses, each for its own reason", () => {
    const refuses = (code: Refusal, what: string, make: () => AttestRequest): void => {
      it(`${code}: ${what}`, async () => {
        // What is wrong without a look at the proof must not cost one.
        const verify = BY_VERIFIER.has(code) ? parts.verify : NO_VERIFIER;
        assert.equal(codeOf(await attest({ ...parts, verify }, make())), code);
      });
    };

    for (const id of [0, 5, 6, 255]) {
      refuses("UNKNOWN_KIND", `kind ${String(id)}`, () => ({ ...spend.request, kindId: id }));
    }
    // What is wrong with a statement by itself: test/contract/vectors/refusals.ts, which this enclave plays, too.
    for (let place = 0; place < 8; place++) {
      refuses("PROOF_NOT_CANONICAL", `coordinate ${String(place)} + q`, () => {
        const words: Uint8Array[] = Array.from({ length: 8 }, (_, i) =>
          spend.request.proof.slice(32 * i, 32 * i + 32),
        );
        words[place] = word(BigInt(toHex(words[place]!)) + BASE_FIELD_ORDER);
        return { ...spend.request, proof: concatBytes(...words) };
      });
    }
    refuses("PROOF_AT_INFINITY", "A = 0", () => withProof({ ...spend.proof, a: [0n, 0n] }));
    refuses("PROOF_NOT_ON_CURVE", "one bit of A", () =>
      withProof({ ...spend.proof, a: [spend.proof.a[0], spend.proof.a[1] ^ 1n] }),
    );
    refuses("PROOF_NOT_IN_SUBGROUP", "B of another order", () =>
      withProof({ ...spend.proof, b: onTwistOutsideSubgroup() }),
    );
    refuses("CONTEXT_MISMATCH", "one bit of a ciphertext", () => {
      const ext = new Uint8Array(spend.request.ext);
      ext[200]! ^= 1;
      return { ...spend.request, ext };
    });
    refuses("CONTEXT_MISMATCH", "another chain", () => ({ ...spend.request, chainId: 1n }));
    refuses("CONTEXT_MISMATCH", "another pool", () => ({ ...spend.request, pool: SOMEBODY }));
    refuses("CONTEXT_MISMATCH", "another deadline", () => ({
      ...spend.request,
      deadline: spend.request.deadline + 1n,
    }));
    const swapWith = (changes: Partial<SwapExt>, path: Partial<SwapPath> = {}): AttestRequest => {
      const ext = decodeExt("private-swap", swap.request.ext);
      assert.ok(ext?.kind === "private-swap");
      const changed = encodeExt({ ...ext, ...changes, path: { ...ext.path, ...path } });
      return withSignals({ ...swap.request, ext: changed }, "private-swap", {});
    };
    refuses("PROOF_INVALID", "another floor under its own context", () => swapWith({ minAmountOut: 1n }));
    refuses("PROOF_INVALID", "another owner of what is bought", () => swapWith({ npkOut: 7n }));
    refuses("CONTEXT_MISMATCH", "another recipient of a payment of many notes", () => {
      const ext = new Uint8Array(many.request.ext);
      ext[19]! ^= 1;
      return { ...many.request, ext };
    });
    for (const [what, make] of [
      ["a spend as spend9", () => ({ ...spend.request, kindId: 3 })],
      ["a spend as private-swap", () => ({ ...spend.request, kindId: 4 })],
      ["a spend9 as spend", () => ({ ...many.request, kindId: 2 })],
      ["a swap as spend", () => ({ ...swap.request, kindId: 2 })],
    ] as const) {
      refuses("SIGNAL_COUNT", what, make);
    }
    refuses("PROOF_INVALID", "another amount", () => withSignals(spend.request, "spend", { amountOut: 41n }));
    refuses("PROOF_INVALID", "another commitment", () =>
      withSignals(spend.request, "spend", { "commitments[0]": 5n }),
    );
    refuses("PROOF_INVALID", "a proof that carries over to another recipient", () =>
      withSignals({ ...spend.request, ext: spendExt(HOME.pool) }, "spend", {}),
    );
    refuses("PROOF_INVALID", "A and C exchanged", () =>
      withProof({ ...spend.proof, a: spend.proof.c, c: spend.proof.a }),
    );
    refuses("PROOF_INVALID", "the proof of another statement", () => ({
      ...spend.request,
      proof: deposit.request.proof,
    }));
  });

  it("BUSY: when the verifier is", async () => {
    assert.equal(codeOf(await attest({ ...parts, verify: async () => "BUSY" }, spend.request)), "BUSY");
  });

  it("names the earlier fault when there are several", async () => {
    const { request } = spend;
    const noncanonical = new Uint8Array(256).fill(255);
    let wrong: AttestRequest = {
      ...request,
      kindId: 9,
      signals: [],
      proof: noncanonical,
      ext: new Uint8Array(0),
    };
    assert.equal(codeOf(await answer(wrong)), "UNKNOWN_KIND");
    wrong = { ...wrong, kindId: request.kindId };
    assert.equal(codeOf(await answer(wrong)), "SIGNAL_COUNT");
    wrong = { ...wrong, signals: request.signals };
    assert.equal(codeOf(await answer(wrong)), "PROOF_NOT_CANONICAL");
    wrong = { ...wrong, proof: new Uint8Array(256) };
    assert.equal(codeOf(await answer(wrong)), "EXT_MALFORMED");
    wrong = { ...wrong, ext: request.ext };
    assert.equal(codeOf(await answer(wrong)), "PROOF_AT_INFINITY");
    wrong = { ...wrong, proof: request.proof };
    assert.equal((await answer(wrong)).type, "attest");
  });

  function spendExt(recipient: typeof SOMEBODY): Uint8Array {
    return encodeExt({ kind: "spend", recipient, ...anySealed("spend", 1) });
  }
});

import assert from "node:assert/strict";
import { signalsOf, spendDraft } from "../../../support/drafts.ts";
import { type Attester, attester } from "../../../../scripts/stack/pool-transaction.ts";
import { recoverSigner } from "../../../../proxy/chain/recovery.ts";
import {
  createAttestor,
  EnclaveContradicts,
  type Attestor,
} from "../../../../proxy/enclave-link/attestor.ts";
import type { EnclaveLink } from "../../../../proxy/enclave-link/link.ts";
import { asAddress, type Bytes32 } from "../../../../shared/protocol/brands.ts";
import type { EnclaveReply, Refusal } from "../../../../shared/protocol/enclave-messages.ts";
import { proofHashOf } from "../../../../shared/protocol/proof.ts";
import { checkStatement, type Statement } from "../../../../shared/protocol/statements.ts";
import { NO_PROOF, SigningLink } from "../../../support/money.ts";

const home = { chainId: 5n, pool: asAddress(`0x${"aa".repeat(20)}`)! };
const keyHash = `0x${"bb".repeat(32)}` as Bytes32;
const keyHashes = { "deposit-shield": keyHash, spend: keyHash, spend9: keyHash, "private-swap": keyHash };
const ACCEPTED = [attester(1), attester(2)];

function statement(): Statement {
  const setting = { home, deadline: 2_000_000_000n, verifyingKeyHashes: keyHashes, attesters: [] };
  const draft = spendDraft(setting, 7n, undefined);
  const made = checkStatement(home, "spend", draft.deadline, signalsOf(draft), draft.ext);
  if (typeof made === "string") throw new Error(made);
  return made;
}

function attestorOver(links: readonly EnclaveLink[], threshold = 1): Attestor {
  return createAttestor(links, {
    home,
    threshold: () => Promise.resolve(threshold),
    isSigner: (signer) => Promise.resolve(ACCEPTED.some(({ address }) => address === signer)),
    verifyingKeyHash: () => Promise.resolve(keyHash),
    recover: recoverSigner,
  });
}
const signing = (signer: Attester): SigningLink => new SigningLink(signer, keyHashes);
const unreachable = (): SigningLink => Object.assign(signing(attester(1)), { isUnreachable: true });

/** An enclave whose replies somebody changes on the way. */
function bent(change: (reply: EnclaveReply) => EnclaveReply): EnclaveLink {
  const honest = signing(attester(1));
  return { ask: async (request) => change(await honest.ask(request)), close: () => undefined };
}

describe("enclave-link/attestor", () => {
  it("returns a signature that recovers over the digest it computed itself", async () => {
    const [signed, ...more] = await attestorOver([signing(attester(1))]).attest(statement(), NO_PROOF);
    assert.equal(signed?.signer, attester(1).address);
    assert.deepEqual(more, []);
  });

  it("goes to the next enclave when one is unreachable, busy, or signs with a key the pool does not accept", async () => {
    const busy = bent(() => ({ type: "refused", code: "BUSY" }));
    for (const first of [unreachable(), busy, signing(attester(9))]) {
      for (let i = 0; i < 2; i++) {
        const [signed] = await attestorOver([first, signing(attester(2))]).attest(statement(), NO_PROOF);
        assert.equal(signed?.signer, attester(2).address);
      }
    }
  });

  it("counts one signer once when the pool asks for two", async () => {
    const both = await attestorOver(
      [signing(attester(1)), signing(attester(1)), signing(attester(2))],
      2,
    ).attest(statement(), NO_PROOF);
    assert.deepEqual(
      new Set(both.map(({ signer }) => signer)),
      new Set(ACCEPTED.map(({ address }) => address)),
    );
    await assert.rejects(
      attestorOver([signing(attester(1)), signing(attester(1))], 2).attest(statement(), NO_PROOF),
      {
        code: "ENCLAVE_UNAVAILABLE",
      },
    );
  });

  it("asks as many at once as signatures are missing, and nobody when too few are left", async () => {
    let isFirstOut = false;
    let wasSecondAskedMeanwhile = false;
    const slow: EnclaveLink = {
      ...bent((reply) => reply),
      async ask(request) {
        isFirstOut = true;
        await new Promise((resolve) => setImmediate(resolve));
        isFirstOut = false;
        return signing(attester(1)).ask(request);
      },
    };
    const second: EnclaveLink = {
      ...slow,
      ask(request) {
        wasSecondAskedMeanwhile = isFirstOut;
        return signing(attester(2)).ask(request);
      },
    };
    const spare = signing(attester(2));
    assert.equal((await attestorOver([slow, second, spare], 2).attest(statement(), NO_PROOF)).length, 2);
    assert.ok(wasSecondAskedMeanwhile);
    assert.equal(spare.asked, 0);

    const last = signing(attester(1));
    await assert.rejects(
      attestorOver([unreachable(), unreachable(), last], 2).attest(statement(), NO_PROOF),
      { code: "ENCLAVE_UNAVAILABLE" },
    );
    assert.equal(last.asked, 0);
  });

  it("passes over one that refuses what was checked, and says so only when too few others sign", async () => {
    const contradicting = (): EnclaveLink => bent(() => ({ type: "refused", code: "STATEMENT_INVALID" }));
    for (let i = 0; i < 3; i++) {
      const links = [contradicting(), signing(attester(1)), signing(attester(2))];
      const attestor = attestorOver([...links.slice(i), ...links.slice(0, i)], 2);
      assert.equal((await attestor.attest(statement(), NO_PROOF)).length, 2);
    }
    await assert.rejects(
      attestorOver([signing(attester(1)), contradicting()], 2).attest(statement(), NO_PROOF),
      EnclaveContradicts,
    );
  });

  it("uses no reply about another statement or proof, and no changed signature", async () => {
    const other = `0x${"cc".repeat(32)}` as Bytes32;
    const changes: ((reply: EnclaveReply) => EnclaveReply)[] = [
      (reply) => ({ ...reply, statementHash: other }) as EnclaveReply,
      (reply) => ({ ...reply, proofHash: other }) as EnclaveReply,
      (reply) =>
        reply.type === "attest"
          ? { ...reply, signature: reply.signature.map((byte, i) => (i === 40 ? byte ^ 1 : byte)) }
          : reply,
      (reply) => (reply.type === "attest" ? { ...reply, signature: new Uint8Array(65) } : reply),
    ];
    for (const change of changes) {
      await assert.rejects(attestorOver([bent(change)]).attest(statement(), NO_PROOF), {
        code: "ENCLAVE_UNAVAILABLE",
      });
    }
  });

  it("tells a bad proof from an enclave that cannot answer", async () => {
    const codes: Partial<Record<Refusal, string>> = {
      PROOF_INVALID: "PROOF_INVALID",
      PROOF_NOT_ON_CURVE: "PROOF_INVALID",
      PROOF_NOT_IN_SUBGROUP: "PROOF_INVALID",
      PROOF_AT_INFINITY: "PROOF_INVALID",
      PROOF_NOT_CANONICAL: "PROOF_INVALID",
      CONTEXT_MISMATCH: "CONTEXT_MISMATCH",
      BUSY: "ENCLAVE_UNAVAILABLE",
      WRONG_PHASE: "ENCLAVE_UNAVAILABLE",
    };
    for (const [refusal, code] of Object.entries(codes)) {
      const link = bent(() => ({ type: "refused", code: refusal as Refusal }));
      await assert.rejects(attestorOver([link]).attest(statement(), NO_PROOF), { code }, refusal);
    }
  });

  it("counts foreign attestations by what they recover to, not by what they claim", async () => {
    const made = statement();
    const attestor = attestorOver([signing(attester(1))]);
    const [good] = await attestor.attest(made, NO_PROOF);
    const proofHash = proofHashOf(NO_PROOF);
    assert.equal((await attestor.accepted(made, proofHash, [good!])).length, 1);
    assert.equal((await attestor.accepted(made, proofHash, [good!, good!])).length, 1);
    assert.equal(
      (await attestor.accepted(made, proofHash, [{ ...good!, signer: attester(2).address }])).length,
      0,
    );
    assert.equal((await attestor.accepted(made, `0x${"dd".repeat(32)}` as Bytes32, [good!])).length, 0);
    assert.equal((await attestor.accepted(statement(), proofHash, [good!])).length, 0);
  });
});

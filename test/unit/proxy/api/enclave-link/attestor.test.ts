import assert from "node:assert/strict";
import { signalsOf, spendDraft } from "../../../../support/drafts.ts";
import { type Attester, attester } from "../../../../../scripts/stack/pool-transaction.ts";
import { recoverSigner } from "../../../../../proxy/base/chain/recovery.ts";
import {
  createAttestor,
  EnclaveContradicts,
  type Attestor,
} from "../../../../../proxy/api/enclave-link/attestor.ts";
import type { Disagreements } from "../../../../../proxy/api/enclave-link/disagreements.ts";
import type { EnclaveLink } from "../../../../../proxy/api/enclave-link/link.ts";
import type { Address, Bytes32 } from "../../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import type { SignedBy } from "../../../../../shared/protocol/host/signed-by.ts";
import {
  decodeRequest,
  FrameSplitter,
  type EnclaveReply,
  type Refusal,
} from "../../../../../shared/protocol/enclave-messages.ts";
import { proofHashOf } from "../../../../../shared/protocol/proof.ts";
import { checkStatement, type Statement } from "../../../../../shared/protocol/statements.ts";
import { NO_PROOF, SigningLink } from "../../../../support/money.ts";

const home = { chainId: 5n, pool: asAddress(`0x${"aa".repeat(20)}`)! };
const keyHash = `0x${"bb".repeat(32)}` as Bytes32;
const keyHashes = { "deposit-shield": keyHash, spend: keyHash, spend9: keyHash, "private-swap": keyHash };
const ACCEPTED = [attester(1), attester(2), attester(3), attester(4)];

function statement(): Statement {
  const setting = { home, deadline: 2_000_000_000n, verifyingKeyHashes: keyHashes, attesters: [] };
  const draft = spendDraft(setting, 7n, undefined);
  const made = checkStatement(home, "spend", draft.deadline, signalsOf(draft), draft.ext);
  if (typeof made === "string") throw new Error(made);
  return made;
}

/** Of two kinds: the attesters 1 and 3 are of the first, 2 and 4 of the second. */
const kindOf = (signer: Address): number | undefined => {
  const place = ACCEPTED.findIndex(({ address }) => address === signer);
  return place < 0 ? undefined : (place % 2) + 1;
};

type Reported = Parameters<Disagreements["report"]>[0];

function attestorOver(links: readonly EnclaveLink[], threshold = 1, reported: Reported[] = []): Attestor {
  return createAttestor(
    links,
    {
      home,
      threshold: () => Promise.resolve(threshold),
      kindOf: (signer) => Promise.resolve(kindOf(signer)),
      verifyingKeyHash: () => Promise.resolve(keyHash),
      recover: recoverSigner,
    },
    { open: () => reported.length, report: async (found) => void reported.push(found) },
  );
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
      new Set([attester(1).address, attester(2).address]),
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

  /** One whose replies to everything but a status question are this. */
  const answering = (signer: Attester, reply: EnclaveReply): EnclaveLink => ({
    ask: async (request) => (request.type === "status" ? signing(signer).ask(request) : reply),
    close: () => undefined,
  });
  const refusing = (signer: Attester, code: Refusal): EnclaveLink =>
    answering(signer, { type: "refused", code });

  it("passes over one that refuses what was checked, and says so only when too few others sign", async () => {
    for (let i = 0; i < 3; i++) {
      const reported: Reported[] = [];
      // Of the same kind as the one that signs: a host lies, or a machine is broken.
      const links = [refusing(attester(1), "STATEMENT_INVALID"), signing(attester(1)), signing(attester(3))];
      const attestor = attestorOver([...links.slice(i), ...links.slice(0, i)], 1, reported);
      assert.equal((await attestor.attest(statement(), NO_PROOF)).length, 1);
      assert.deepEqual(reported, []);
    }
    await assert.rejects(
      attestorOver([refusing(attester(1), "STATEMENT_INVALID"), unreachable()], 1).attest(
        statement(),
        NO_PROOF,
      ),
      EnclaveContradicts,
    );
  });

  it("asks one of each kind where the pool wants two signatures, in whatever order they stand", async () => {
    const all = [1, 3, 2, 4].map((one) => signing(attester(one)));
    for (let i = 0; i < all.length; i++) {
      const attestor = attestorOver([...all.slice(i), ...all.slice(0, i)], 2);
      for (let again = 0; again < 5; again++) {
        const signed = await attestor.attest(statement(), NO_PROOF);
        assert.deepEqual(signed.map(({ signer }) => kindOf(signer)).toSorted(), [1, 2]);
      }
    }
    // Once the kinds are known, nobody is asked in vain.
    const attestor = attestorOver(all, 2);
    for (let i = 0; i < 4; i++) await attestor.attest(statement(), NO_PROOF);
    const before = all.reduce((sum, { asked }) => sum + asked, 0);
    for (let i = 0; i < 4; i++) await attestor.attest(statement(), NO_PROOF);
    assert.equal(all.reduce((sum, { asked }) => sum + asked, 0) - before, 8);
    await assert.rejects(
      attestorOver([signing(attester(1)), signing(attester(3))], 2).attest(statement(), NO_PROOF),
      { code: "ENCLAVE_UNAVAILABLE" },
    );
    const three = await attestorOver([all[0]!, all[1]!, all[2]!], 3).attest(statement(), NO_PROOF);
    assert.equal(three.length, 3);
  });

  it("stops when one kind signs what the other refuses, keeps the case, and asks nobody any more", async () => {
    const other = `0x${"cc".repeat(32)}` as Bytes32;
    const elsewhere = {
      type: "attest",
      statementHash: other,
      proofHash: other,
      signature: new Uint8Array(65),
    };
    const against: [EnclaveLink, string][] = [
      [refusing(attester(2), "PROOF_INVALID"), "PROOF_INVALID"],
      [refusing(attester(2), "CONTEXT_MISMATCH"), "CONTEXT_MISMATCH"],
      [refusing(attester(2), "STATEMENT_INVALID"), "STATEMENT_INVALID"],
      [answering(attester(2), elsewhere as EnclaveReply), "ANOTHER_OUTCOME"],
    ];
    for (const [link, code] of against) {
      for (const isFirst of [true, false]) {
        const reported: Reported[] = [];
        const honest = signing(attester(1));
        const attestor = attestorOver(isFirst ? [link, honest] : [honest, link], 2, reported);
        const stopped = { code: "ENCLAVE_UNAVAILABLE", message: /attestation is stopped/ };
        await assert.rejects(attestor.attest(statement(), NO_PROOF), stopped);
        const [found, ...more] = reported;
        assert.deepEqual(more, []);
        assert.deepEqual(
          found?.answers.map(({ enclave, kind, signer, refusal }) => [enclave, kind, signer ?? refusal]),
          [
            [isFirst ? 1 : 0, 1, attester(1).address],
            [isFirst ? 0 : 1, 2, code],
          ],
        );
        // What is kept can be asked again.
        const again = decodeRequest(new FrameSplitter().push(found.request)![0]!);
        assert.equal(again?.message.type, "attest");
        const asked = honest.asked;
        await assert.rejects(attestor.attest(statement(), NO_PROOF), stopped);
        assert.equal(honest.asked, asked);
      }
    }
  });

  it("takes no disagreement from what says nothing of the question, or of a signer that the pool does not know", async () => {
    const silent: EnclaveLink[] = [
      refusing(attester(2), "BUSY"),
      refusing(attester(2), "WRONG_PHASE"),
      refusing(attester(9), "STATEMENT_INVALID"),
      signing(attester(9)),
      unreachable(),
    ];
    for (const link of silent) {
      const reported: Reported[] = [];
      const attestor = attestorOver([link, signing(attester(1)), signing(attester(2))], 2, reported);
      for (let i = 0; i < 3; i++) assert.equal((await attestor.attest(statement(), NO_PROOF)).length, 2);
      assert.deepEqual(reported, []);
    }
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
    const none = { signers: 0, kinds: 0, needed: { signers: 1, kinds: 1 } };
    assert.deepEqual(await attestor.accepted(made, proofHash, [good!]), [good]);
    assert.deepEqual(await attestor.accepted(made, proofHash, [good!, good!]), [good]);
    assert.deepEqual(
      await attestor.accepted(made, proofHash, [{ ...good!, signer: attester(2).address }]),
      none,
    );
    assert.deepEqual(await attestor.accepted(made, `0x${"dd".repeat(32)}` as Bytes32, [good!]), none);
    assert.deepEqual(await attestor.accepted(statement(), proofHash, [good!]), none);

    const by = async (one: number): Promise<SignedBy> =>
      (await attestorOver([signing(attester(one))]).attest(made, NO_PROOF))[0]!;
    const [first, alike, second] = [await by(1), await by(3), await by(2)];
    const two = attestorOver([], 2);
    assert.deepEqual(await two.accepted(made, proofHash, [first, first]), {
      ...{ signers: 1, kinds: 1, needed: { signers: 2, kinds: 2 } },
    });
    assert.deepEqual(await two.accepted(made, proofHash, [first, alike]), {
      ...{ signers: 2, kinds: 1, needed: { signers: 2, kinds: 2 } },
    });
    assert.deepEqual(await two.accepted(made, proofHash, [first, alike, second]), [first, second]);
  });
});

import assert from "node:assert/strict";
import { attest, type Attesting } from "../../../enclave/attest.ts";
import { attestRoot } from "../../../enclave/attest-root.ts";
import { openOutput } from "../../../shared/notes/encryption.ts";
import { IncomingViewingKey } from "../../../shared/notes/keys.ts";
import { completeNote } from "../../../shared/notes/measured-note.ts";
import { commitmentOf, noteCommitment, npkOf, nullifierOf } from "../../../shared/notes/note.ts";
import { domainSeparator } from "../../../shared/protocol/attestation.ts";
import { mustField, ZERO_BYTES32, type Address, type Bytes32 } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { concatBytes, mustFromHex, toAddress, toHex, uintToBytes } from "../../../shared/protocol/bytes.ts";
import { poseidon2 } from "../../../shared/protocol/host/poseidon.ts";
import { compressProof, decodeProof, proofHashOf } from "../../../shared/protocol/proof.ts";
import {
  checkStatement,
  contextOf,
  decodeExt,
  KINDS,
  nameSignals,
  statementHashOf,
} from "../../../shared/protocol/statements.ts";
import { readExecuted } from "../../../shared/protocol/host/executed-log.ts";
import { encodeExt } from "../../../shared/protocol/host/statements.ts";
import { emptyFrontier } from "../../../shared/protocol/host/frontier.ts";
import { nextHead } from "../../../shared/protocol/tree.ts";
import { aSigner, CONFIGURATION } from "../../unit/enclave/support/key-life.ts";
import { codeOf } from "../../unit/enclave/support/frame-client.ts";
import { NO_VERIFIER, verifierHere } from "../../unit/enclave/support/verifiers.ts";
import { refused } from "./refusals.ts";
import { fields, HOME, REFUSALS, ROOT_UPDATES, STATEMENTS, STORY, type StatementStep } from "./story.ts";

const SPENDING_KEY = mustField(BigInt(STORY.keys.spendingKey));

const leavesOf = ({ circuitInputs, hashed }: StatementStep): string[] => [
  ...(circuitInputs["commitments"] as string[]),
  ...(hashed === undefined ? [] : [hashed.commitment]),
];

describe("vectors: the story in shared/protocol and shared/notes", () => {
  it("has the same domain separator", () => {
    assert.equal(toHex(domainSeparator(HOME)), STORY.domainSeparator);
  });

  for (const step of STATEMENTS) {
    const ext = mustFromHex(step.extBytes);
    const signals = fields(step.signals);
    const deadline = BigInt(step.deadline);

    it(`binds and names ${step.name}`, () => {
      assert.equal(contextOf(HOME, step.kind, deadline, ext), BigInt(step.context));
      assert.equal(statementHashOf(step.kind, deadline, signals, ext), step.statementHash);
      const statement = checkStatement(HOME, step.kind, deadline, signals, ext);
      assert.ok(typeof statement === "object");
      assert.equal(statement.hash, step.statementHash);
    });

    it(`reads and writes the ext of ${step.name}`, () => {
      const decoded = decodeExt(step.kind, ext);
      assert.ok(decoded !== undefined);
      assert.equal(toHex(encodeExt(decoded)), step.extBytes);
      assert.deepEqual(
        decoded.ciphertexts.map((bytes) => toHex(bytes)),
        step.ext["ciphertexts"],
      );
      const flat = { ...decoded, ...("path" in decoded ? decoded.path : {}) } as Record<string, unknown>;
      for (const [term, value] of Object.entries(step.ext)) {
        if (term === "ephemeralKey") assert.equal(toHex(decoded.ephemeralKey), value);
        else if (term !== "ciphertexts") assert.equal(String(flat[term]), String(value).toLowerCase(), term);
      }
    });

    it(`opens every note of ${step.name} with the owner's viewing key, and they are its leaves`, () => {
      const { ephemeralKey, ciphertexts } = decodeExt(step.kind, ext)!;
      const owner = poseidon2(poseidon2(SPENDING_KEY, 0n), poseidon2(SPENDING_KEY, 1n));
      const reader = new IncomingViewingKey(owner, mustFromHex(STORY.keys.viewingSecret));
      const leaves = ciphertexts.map((ciphertext, output) => {
        const note = openOutput(reader, { ephemeralKey, output, ciphertext });
        assert.ok(note !== undefined);
        if (output < KINDS[step.kind].outputs) return String(noteCommitment(owner, note));
        const { npk, asset, value } = step.hashed!;
        const measured = { npk: mustField(BigInt(npk)), asset: asAddress(asset)!, value: BigInt(value) };
        const leaf = mustField(BigInt(step.hashed!.commitment));
        return String(
          leaf === noteCommitment(owner, completeNote(owner, note.blinding, measured, leaf)!) && leaf,
        );
      });
      assert.deepEqual(leaves, leavesOf(step));
    });

    it(`reads what the pool says of ${step.name}`, () => {
      const executed = readExecuted(step.executed);
      assert.ok(executed !== undefined);
      const facts = nameSignals(step.kind, signals);
      assert.deepEqual(
        [executed.statement, executed.kind, executed.firstLeafIndex, executed.proofHash],
        [step.statementHash, step.kind, step.firstLeafIndex, step.attestation.message["proofHash"]],
      );
      assert.deepEqual([executed.nullifiers, executed.commitments], [facts.nullifiers, facts.commitments]);
      const sealed = decodeExt(step.kind, ext)!;
      assert.deepEqual(executed.ephemeralKey, sealed.ephemeralKey);
      assert.deepEqual(executed.ciphertexts, sealed.ciphertexts);
      const party = step.ext["depositor"] ?? step.ext["recipient"];
      const moved = { amount: facts.amount, asset: asAddress(STORY.assets.usdc), party: asAddress(party) };
      assert.deepEqual(executed.moved, facts.amount === 0n ? undefined : moved);
    });

    it(`compresses and hashes the proof of ${step.name}`, () => {
      const proof = decodeProof(mustFromHex(step.proof));
      assert.ok(proof !== undefined);
      assert.equal(toHex(compressProof(proof)), step.compressedProof);
      assert.equal(proofHashOf(proof), step.attestation.message["proofHash"]);
      assert.equal(CONFIGURATION.verifyingKeyHashes[step.kind], step.attestation.message["verifyingKeyHash"]);
    });

    it(`computes the notes and nullifiers of ${step.name}`, () => {
      const inputs = step.circuitInputs as Record<string, string[]> & Record<string, string>;
      const asset = toAddress(uintToBytes(BigInt(inputs["noteAsset"] ?? inputs["asset"] ?? 0), 20));
      const made = fields(inputs["outNpks"] ?? []).map((npk, i) =>
        commitmentOf(npk, asset, BigInt(inputs["outValues"]?.[i] ?? -1)),
      );
      assert.deepEqual(made.map(String), inputs["commitments"]);
      if (step.kind === "deposit-shield") return;
      const spendingKey = mustField(BigInt(STORY.keys.spendingKey));
      const nullifierKey = poseidon2(spendingKey, 1n);
      const owner = poseidon2(poseidon2(spendingKey, 0n), nullifierKey);
      const spent = fields(inputs["inBlindings"] ?? []).map((blinding, i) => {
        const value = BigInt(inputs["inValues"]?.[i] ?? -1);
        const leafIndex = Number(inputs["inLeafIndices"]?.[i]);
        return nullifierOf(nullifierKey, commitmentOf(npkOf(owner, blinding), asset, value), leafIndex);
      });
      assert.deepEqual(spent.map(String), inputs["nullifiers"]);
    });
  }

  it("hashes what the swaps bought", () => {
    const swaps = STATEMENTS.flatMap(({ hashed }) => (hashed === undefined ? [] : [hashed]));
    assert.equal(swaps.length, 2);
    for (const { npk, asset, value, commitment } of swaps) {
      const token = asset.toLowerCase() as Address;
      assert.equal(String(commitmentOf(mustField(BigInt(npk)), token, BigInt(value))), commitment);
    }
  });

  it("chains the queue and grows the tree", () => {
    let head: Bytes32 = ZERO_BYTES32;
    let count = 0;
    const tree = emptyFrontier();
    for (const step of STORY.steps) {
      if (step.step === "statement") {
        assert.equal(step.firstLeafIndex, count);
        for (const leaf of leavesOf(step)) {
          head = nextHead(head, BigInt(leaf));
          count += 1;
        }
        assert.deepEqual(step.queueAfter, { leafCount: count, head });
      } else {
        assert.equal(String(tree.root()), step.attestation.message["oldRoot"]);
        for (const leaf of fields(step.leaves)) tree.append(leaf);
        assert.equal(String(tree.root()), step.attestation.message["newRoot"]);
        assert.equal(Number(tree.leafCount), step.attestation.message["toIndex"]);
      }
    }
  });

  for (const refusal of REFUSALS) {
    it(`${refusal.code}: ${refusal.name}`, () => {
      const { of, signals, extBytes } = refused(refusal);
      const verdict = checkStatement(HOME, of.kind, BigInt(of.deadline), signals, mustFromHex(extBytes));
      assert.equal(verdict, refusal.code);
    });
  }
});

describe("vectors: the story in the enclave", function () {
  let parts: Attesting;

  before(async () => {
    parts = {
      signer: aSigner(mustFromHex(STORY.keys.attestationSigner)),
      verify: await verifierHere(),
      verifyingKeyHashes: CONFIGURATION.verifyingKeyHashes,
    };
  });

  for (const step of STATEMENTS) {
    it(`verifies ${step.name} and signs what another implementation signs`, async () => {
      const reply = await attest(parts, {
        ...HOME,
        type: "attest",
        kindId: step.kindId,
        deadline: BigInt(step.deadline),
        proof: mustFromHex(step.proof),
        signals: step.signals.map(BigInt),
        ext: mustFromHex(step.extBytes),
      });
      assert.ok(reply.type === "attest", JSON.stringify(reply));
      assert.equal(reply.statementHash, step.statementHash);
      assert.equal(toHex(reply.signature), step.attestation.signature);
    });
  }

  for (const refusal of REFUSALS) {
    it(`${refusal.code}, without a look at the proof: ${refusal.name}`, async () => {
      const { of, signals, extBytes } = refused(refusal);
      const { kindId, proof } = of;
      const request = { ...HOME, type: "attest", kindId, deadline: BigInt(of.deadline) } as const;
      const terms = { proof: mustFromHex(proof), signals, ext: mustFromHex(extBytes) };
      const reply = await attest({ ...parts, verify: NO_VERIFIER }, { ...request, ...terms });
      assert.equal(codeOf(reply), refusal.code);
    });
  }

  it("signs the root updates that another implementation signs", () => {
    const tree = emptyFrontier();
    let head: Bytes32 = ZERO_BYTES32;
    for (const { leaves, attestation } of ROOT_UPDATES) {
      const fromIndex = tree.leafCount;
      const reply = attestRoot(parts.signer, {
        ...HOME,
        type: "attest-root",
        fromIndex,
        headBefore: head,
        frontier: tree.nodes(),
        leaves: leaves.map(BigInt),
      });
      assert.ok(reply.type === "attest-root");
      assert.equal(toHex(reply.signature), attestation.signature);
      for (const leaf of fields(leaves)) tree.append(leaf);
      head = reply.headAfter;
    }
    assert.equal(ROOT_UPDATES.length, 4);
    assert.notEqual(toHex(concatBytes(mustFromHex(head))), ZERO_BYTES32);
  });
});

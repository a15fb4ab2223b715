import assert from "node:assert/strict";
import fc from "fast-check";
import { Enclave, type Parts } from "../../../enclave/phase.ts";
import {
  BASE_FIELD_ORDER,
  FIELD_ORDER,
  ZERO_ADDRESS,
  ZERO_BYTES32,
} from "../../../shared/protocol/brands.ts";
import { uintToBytes } from "../../../shared/protocol/bytes.ts";
import type { AttestRequest, EnclaveRequest } from "../../../shared/protocol/enclave-messages.ts";
import { anyRequest } from "../../contract/wire/messages.ts";
import { dispatch } from "./support/dispatch.ts";
import { codeOf } from "./support/frame-client.ts";
import { aPair, aSigner, CHALLENGE, CONFIGURATION, platformInMemory, releaseTo } from "./support/key-life.ts";
import { DEAD_PLATFORM } from "./support/platforms.ts";
import { aProvenDeposit } from "./support/statements.ts";
import { HOME } from "../../contract/vectors/story.ts";
import { judgeWith, verifierHere, type VerifyClaim } from "./support/verifiers.ts";

const EMPTY = new Uint8Array(0);
const RESTORE = { type: "restore", sealedKey: EMPTY, birthCertificate: EMPTY, envelope: EMPTY } as const;

describe("enclave/dispatch", function () {
  const platform = platformInMemory();
  let parts: Parts;
  /** Of the serving phase. */
  let requests: EnclaveRequest[];
  const bootRequests: EnclaveRequest[] = [
    { type: "genesis", challenge: CHALLENGE },
    { type: "release-request" },
    RESTORE,
  ];
  before(async () => {
    parts = { platform, configuration: CONFIGURATION, judge: judgeWith(await verifierHere()) };
    requests = [
      { type: "attestation", nonce: new Uint8Array(32) },
      aProvenDeposit().request,
      { type: "attest-root", ...HOME, fromIndex: 0n, headBefore: ZERO_BYTES32, frontier: [], leaves: [1n] },
    ];
  });

  const booting = (changes: Partial<Parts> = {}): Enclave => new Enclave({ ...parts, ...changes });
  const serving = (changes: Partial<Parts> = {}): Enclave => {
    const enclave = booting(changes);
    enclave.serve(aSigner());
    return enclave;
  };

  it("answers status in every phase", async () => {
    const enclave = booting();
    const { hash: configurationHash, circuitsHash } = CONFIGURATION;
    const status = { type: "status", configurationHash, circuitsHash };
    assert.deepEqual(await dispatch(enclave, { type: "status" }), {
      ...status,
      phase: "booting",
      signer: ZERO_ADDRESS,
    });
    enclave.serve(aSigner());
    const signer = aSigner().address;
    assert.deepEqual(await dispatch(enclave, { type: "status" }), { ...status, phase: "serving", signer });
    enclave.halt();
    assert.deepEqual(await dispatch(enclave, { type: "status" }), { ...status, phase: "halted", signer });
    assert.deepEqual(await dispatch(new Enclave(undefined), { type: "status" }), {
      type: "status",
      phase: "halted",
      signer: ZERO_ADDRESS,
      configurationHash: ZERO_BYTES32,
      circuitsHash: ZERO_BYTES32,
    });
  });

  it("goes from a birth to serving with that key, over requests alone", async () => {
    const mother = booting();
    const born = await dispatch(mother, { type: "genesis", challenge: CHALLENGE });
    assert.ok(born.type === "genesis");
    // Sealing a key does not begin to use it.
    assert.equal(mother.phase, "booting");
    assert.equal(mother.signer, ZERO_ADDRESS);

    const enclave = booting();
    const asked = await dispatch(enclave, { type: "release-request" });
    assert.ok(asked.type === "release-request");
    const restored = await dispatch(enclave, {
      type: "restore",
      sealedKey: born.sealedKey,
      birthCertificate: born.birthCertificate,
      envelope: releaseTo(asked.document, born.sealedKey),
    });
    assert.ok(restored.type === "restore");
    assert.deepEqual(await dispatch(enclave, { type: "status" }), {
      type: "status",
      phase: "serving",
      signer: restored.signer,
      configurationHash: CONFIGURATION.hash,
      circuitsHash: CONFIGURATION.circuitsHash,
    });
    for (const request of requests) assert.equal((await dispatch(enclave, request)).type, request.type);
  });

  it("WRONG_PHASE for every request outside its phase", async () => {
    const halted = serving();
    halted.halt();
    for (const [enclave, refused] of [
      [booting(), requests],
      [serving(), bootRequests],
      [halted, [...requests, ...bootRequests]],
      [new Enclave(undefined), [...requests, ...bootRequests]],
    ] as const) {
      const { phase } = enclave;
      for (const request of refused) assert.equal(codeOf(await dispatch(enclave, request)), "WRONG_PHASE");
      assert.equal(enclave.phase, phase);
    }
  });

  it("a second restore does not change the key that serves", async () => {
    const enclave = booting();
    const release = await dispatch(enclave, { type: "release-request" });
    assert.ok(release.type === "release-request");
    const pair = await aPair(platform);
    const restore = { ...RESTORE, ...pair, envelope: releaseTo(release.document, pair.sealedKey) };
    assert.equal((await dispatch(enclave, restore)).type, "restore");
    const { signer } = enclave;
    assert.equal(codeOf(await dispatch(enclave, restore)), "WRONG_PHASE");
    assert.equal(enclave.signer, signer);
  });

  it("a refusal leaves it where it is", async () => {
    const nonce = new Uint8Array(0);
    const served = serving();
    assert.equal(codeOf(await dispatch(served, { type: "attestation", nonce })), "NONCE_INVALID");
    assert.equal(served.phase, "serving");
    const enclave = booting({ platform: DEAD_PLATFORM });
    for (const [request, code] of [
      [{ type: "genesis", challenge: nonce }, "NONCE_INVALID"],
      [{ type: "genesis", challenge: CHALLENGE }, "PLATFORM_UNAVAILABLE"],
      [{ type: "release-request" }, "PLATFORM_UNAVAILABLE"],
      [RESTORE, "RESTORE_REFUSED"],
    ] as const) {
      assert.equal(codeOf(await dispatch(enclave, request)), code);
      assert.equal(enclave.phase, "booting");
    }
  });

  it("a throw of our own halts it, whether at once or later, and signs nothing more", async () => {
    const fault = (): never => {
      throw new Error("a fault of ours");
    };
    const faults = { randomBytes: async () => fault(), attestationDocument: async () => fault() };
    const broken = { platform: { ...DEAD_PLATFORM, ...faults } };
    for (const [enclave, request] of [
      [serving({ judge: fault }), requests[1]!],
      [serving({ judge: judgeWith(async () => fault()) }), requests[1]!],
      [serving(broken), requests[0]!],
      [booting(broken), bootRequests[0]!],
      [booting(broken), bootRequests[1]!],
    ] as const) {
      assert.equal(codeOf(await dispatch(enclave, request)), "WRONG_PHASE");
      assert.equal(enclave.phase, "halted");
      for (const later of [...requests, ...bootRequests])
        assert.equal(codeOf(await dispatch(enclave, later)), "WRONG_PHASE");
    }
  });

  it("signs nothing for a request that was under way when it halted", async () => {
    let answer: () => void = () => undefined;
    const verify: VerifyClaim = () => new Promise((resolve) => (answer = () => resolve("PROOF_HOLDS")));
    const enclave = serving({ judge: judgeWith(verify) });
    const waiting = dispatch(enclave, requests[1]!);
    enclave.halt();
    answer();
    assert.equal(codeOf(await waiting), "WRONG_PHASE");
  });

  it("is halted by nothing that can arrive: any message, and bent copies of a good one", async () => {
    const enclave = serving();
    const good = requests[1]!;
    assert.ok(good.type === "attest");
    const word = fc.oneof(
      fc.bigInt({ min: 0n, max: (1n << 256n) - 1n }),
      fc.constantFrom(0n, 1n, FIELD_ORDER - 1n, FIELD_ORDER, BASE_FIELD_ORDER - 1n, BASE_FIELD_ORDER),
    );
    const bent = fc
      .tuple(fc.nat(7), word, fc.nat(5), word, fc.boolean(), fc.boolean())
      .map(([place, coordinate, at, signal, bendProof, bendSignal]): AttestRequest => {
        const proof = new Uint8Array(good.proof);
        if (bendProof) proof.set(uintToBytes(coordinate, 32), 32 * place);
        return { ...good, proof, signals: bendSignal ? good.signals.with(at, signal) : good.signals };
      });
    await fc.assert(
      fc.asyncProperty(fc.oneof(anyRequest, bent), async (request) => {
        const reply = await dispatch(enclave, request);
        assert.equal(enclave.phase, "serving");
        if (reply.type === "attest") assert.deepEqual(request, good);
      }),
      { numRuns: 300 },
    );
  });

  it("is halted by nothing that can arrive while it boots", async () => {
    const enclave = booting({ platform: DEAD_PLATFORM });
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        // Making RSA keys would take all the time.
        if (request.type === "release-request") return;
        assert.ok(["refused", "status"].includes((await dispatch(enclave, request)).type));
        assert.equal(enclave.phase, "booting");
      }),
      { numRuns: 300 },
    );
  });
});

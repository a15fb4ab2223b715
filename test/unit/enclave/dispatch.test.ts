import assert from "node:assert/strict";
import fc from "fast-check";
import { dispatch } from "../../../enclave/dispatch.ts";
import { Life, type Tools } from "../../../enclave/phase.ts";
import { Signer } from "../../../enclave/signer.ts";
import { CONFIGURATION_HASH, loadVerificationKeys } from "../../../enclave/verification-keys.ts";
import { buildVerifier } from "../../../enclave/verify.ts";
import {
  BASE_FIELD_ORDER,
  FIELD_ORDER,
  ZERO_ADDRESS,
  ZERO_BYTES32,
} from "../../../shared/protocol/brands.ts";
import { uintToBytes } from "../../../shared/protocol/bytes.ts";
import type { AttestRequest, EnclaveRequest } from "../../../shared/protocol/enclave-messages.ts";
import { anyRequest } from "../../contract/wire/messages.ts";
import { codeOf } from "./support/frame-client.ts";
import { DEAD_PLATFORM } from "./support/platforms.ts";
import { aProvenDeposit, HOME } from "./support/statements.ts";

describe("enclave/dispatch", function () {
  this.timeout(60_000);
  let tools: Tools;
  let requests: EnclaveRequest[];
  before(async () => {
    const document = Uint8Array.of(1);
    tools = {
      platform: { ...DEAD_PLATFORM, attestationDocument: async () => document },
      signer: await Signer.draw({ randomBytes: async () => new Uint8Array(32).fill(1) }),
      verifier: await buildVerifier(loadVerificationKeys()),
    };
    requests = [
      { type: "attestation", nonce: new Uint8Array(32) },
      (await aProvenDeposit()).request,
      { type: "attest-root", ...HOME, fromIndex: 0n, headBefore: ZERO_BYTES32, frontier: [], leaves: [1n] },
    ];
  });

  const serving = (changes: Partial<Tools> = {}): Life => {
    const life = new Life();
    life.serve({ ...tools, ...changes });
    return life;
  };

  it("answers status in every phase", async () => {
    const life = new Life();
    const status = { type: "status", configurationHash: CONFIGURATION_HASH };
    assert.deepEqual(await dispatch(life, { type: "status" }), {
      ...status,
      phase: "booting",
      signer: ZERO_ADDRESS,
    });
    life.serve(tools);
    const { address: signer } = tools.signer;
    assert.deepEqual(await dispatch(life, { type: "status" }), { ...status, phase: "serving", signer });
    life.halt();
    assert.deepEqual(await dispatch(life, { type: "status" }), { ...status, phase: "halted", signer });
  });

  it("answers each request with its own kind while serving", async () => {
    const life = serving();
    for (const request of requests) assert.equal((await dispatch(life, request)).type, request.type);
  });

  it("WRONG_PHASE for everything else before and after", async () => {
    const halted = serving();
    halted.halt();
    for (const life of [new Life(), halted]) {
      for (const request of requests) assert.equal(codeOf(await dispatch(life, request)), "WRONG_PHASE");
    }
  });

  it("a refusal leaves it serving", async () => {
    const life = serving();
    assert.equal(
      codeOf(await dispatch(life, { type: "attestation", nonce: new Uint8Array(0) })),
      "NONCE_INVALID",
    );
    assert.equal(life.phase, "serving");
  });

  it("a throw of our own halts it, whether at once or later, and signs nothing more", async () => {
    const fault = (): never => {
      throw new Error("a fault of ours");
    };
    const faulty: Partial<Tools>[] = [
      { verifier: { ...tools.verifier, holds: fault } },
      { platform: { ...DEAD_PLATFORM, attestationDocument: async () => fault() } },
    ];
    for (const [i, changes] of faulty.entries()) {
      const life = serving(changes);
      assert.equal(codeOf(await dispatch(life, requests[1 - i]!)), "WRONG_PHASE");
      assert.equal(life.phase, "halted");
      for (const request of requests) assert.equal(codeOf(await dispatch(life, request)), "WRONG_PHASE");
    }
  });

  it("is halted by nothing that can arrive: any message, and bent copies of a good one", async () => {
    const life = serving();
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
        const reply = await dispatch(life, request);
        assert.equal(life.phase, "serving");
        if (reply.type === "attest") assert.deepEqual(request, good);
      }),
      { numRuns: 300 },
    );
  });
});

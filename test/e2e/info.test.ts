/**
 * What a running service proves about its enclave: the document of `/info` is made now, for the caller's nonce,
 * by an enclave of the measurement and configuration that the stack names, under the root it names, and by the
 * signer that the pool accepts. The checks are those that a client makes.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { info as infoShape, type Health, type Info } from "../../shared/api/service.ts";
import { verifyAttestation } from "../../shared/protocol/attestation-document.ts";
import { asAddress } from "../../shared/protocol/host/text.ts";
import { documentedFetch } from "../support/documented.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

describe("/info?nonce= on a running service", () => {
  let on: TestStack;

  before(async () => {
    on = await startTestStack();
  });
  after(() => on.stop());

  async function get(path: string): Promise<{ status: number; body: unknown }> {
    const { base_url: baseUrl } = on.entry;
    const headers = { "X-API-Key": on.stack.file.api_key };
    const response = await documentedFetch(baseUrl)(baseUrl + path, { headers });
    return { status: response.status, body: await response.json() };
  }
  async function info(query: string): Promise<Info> {
    const { status, body } = await get(`/info${query}`);
    assert.equal(status, 200);
    return infoShape.parse(body);
  }

  for (const [what, bytes, prefix] of [
    ["the shortest nonce", 16, ""],
    ["the longest nonce", 64, ""],
    ["a nonce with 0x", 32, "0x"],
  ] as const) {
    it(`the document carries ${what}, the signer and the configuration, and is the platform's`, async () => {
      const nonce = randomBytes(bytes);
      const { enclaves, threshold } = await info(`?nonce=${prefix}${nonce.toString("hex")}`);
      assert.equal(enclaves.length, 1);
      assert.equal(threshold, 1);
      const [{ signer, accepted, attestation, measurements }] = enclaves as [Info["enclaves"][number]];
      assert.equal(signer, on.entry.enclave_signers[0]);
      assert.equal(accepted, true);

      const { measurement, attestation_root, configuration_hash } = on.entry.enclave;
      const verified = verifyAttestation(new Uint8Array(Buffer.from(attestation, "base64")), {
        roots: [attestation_root],
        at: Date.now(),
        maxAgeMs: 60_000,
        measurements: [measurement],
        nonce: new Uint8Array(nonce),
        type: "live",
      });
      assert.ok(typeof verified !== "string", "the document verifies");
      assert.deepEqual(verified.claims, {
        type: "live",
        signer: asAddress(signer),
        configurationHash: configuration_hash,
      });
      const { pcr0, pcr1, pcr2 } = measurement;
      assert.deepEqual(measurements, { PCR0: pcr0, PCR1: pcr1, PCR2: pcr2 });
    });
  }

  const malformed = {
    "too short": "ab".repeat(15),
    "too long": "ab".repeat(65),
    "half a byte": "a".repeat(33),
    "no hex": "zz".repeat(16),
    empty: "",
    "prefix alone": "0x",
    "given twice": `${"ab".repeat(16)}&nonce=${"cd".repeat(16)}`,
  };
  for (const [what, nonce] of Object.entries(malformed)) {
    it(`a nonce that is ${what} is INVALID_REQUEST and names the field`, async () => {
      const { status, body } = await get(`/info?nonce=${nonce}`);
      assert.equal(status, 400);
      const problem = body as { code: string; errors: { path: string }[] };
      assert.equal(problem.code, "INVALID_REQUEST");
      assert.ok(problem.errors.some(({ path }) => path.includes("nonce")));
    });
  }

  it("an enclave that is unreachable is left out, the rest is answered, and /health says so", async () => {
    await on.local.enclave().kill();
    const nonce = randomBytes(16).toString("hex");
    const here = await until("the enclave to be missed", async () => {
      const answer = await info(`?nonce=${nonce}`);
      return answer.enclaves.length === 0 && answer;
    });
    assert.equal(here.pool, on.entry.pool);
    assert.ok(here.circuits.length > 0);
    const { status, body } = await get("/health");
    assert.equal(status, 503);
    assert.equal((body as Health).checks?.enclave.state, "down");
  });
});

/**
 * What a running service proves about its enclave: the document of `/info` is made for the caller's nonce,
 * by the signer that the pool accepts, and leads to the platform's root. Here the root is the simulated
 * platform's own; the checks are those that a client makes.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { entryOf } from "../../enclave/cbor.ts";
import { encodeUserData } from "../../enclave/user-data.ts";
import { CONFIGURATION_HASH } from "../../enclave/verification-keys.ts";
import { info as infoShape, type Health, type Info } from "../../shared/api/service.ts";
import { asAddress } from "../../shared/protocol/brands.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";
import { openDocument } from "../unit/enclave/support/documents.ts";

describe("/info?nonce= on a running service", function () {
  this.timeout(120_000);
  let on: TestStack;
  let rootPem: string;

  before(async () => {
    on = await startTestStack();
    rootPem = await readFile(on.local.folder.inside("enclave", "root-certificate.pem"), "utf8");
  });
  after(() => on.stop());

  async function get(path: string): Promise<{ status: number; body: unknown }> {
    const { base_url: baseUrl } = on.entry;
    const headers = { "X-API-Key": on.stack.file.api_key };
    const response = await fetch(baseUrl + path, { headers });
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
      assert.equal(signer, on.entry.enclave_signer);
      assert.equal(accepted, true);

      const fields = openDocument(new Uint8Array(Buffer.from(attestation, "base64")), rootPem);
      assert.deepEqual(entryOf(fields, "nonce"), new Uint8Array(nonce));
      const userData = encodeUserData({
        type: "live",
        signer: asAddress(signer)!,
        configurationHash: CONFIGURATION_HASH,
      });
      assert.deepEqual(entryOf(fields, "user_data"), userData);
      const registers = entryOf(fields, "pcrs") as ReadonlyMap<number, Uint8Array>;
      assert.ok(Object.keys(measurements).length > 0);
      for (const [name, value] of Object.entries(measurements)) {
        const register = registers.get(Number(name.slice("PCR".length)));
        assert.equal(Buffer.from(register ?? []).toString("hex"), value);
      }
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

  it("an enclave that is away is left out, the rest is answered, and /health says so", async () => {
    await on.local.enclave.kill();
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

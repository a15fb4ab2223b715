import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { attester } from "../../../../../scripts/stack/pool-transaction.ts";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import { createDirectory } from "../../../../../proxy/api/enclave-link/directory.ts";
import { EnclaveUnreachable, type EnclaveLink } from "../../../../../proxy/api/enclave-link/link.ts";
import type { Bytes32 } from "../../../../../shared/protocol/brands.ts";
import type { EnclavePhase, EnclaveReply } from "../../../../../shared/protocol/enclave-messages.ts";

const file = new URL("../../../../support/vectors/attestation/base-2026-01-03.bin", import.meta.url);
const DOCUMENT = new Uint8Array(readFileSync(file));
const CONFIGURATION = `0x${"0c".repeat(32)}` as Bytes32;
const CIRCUITS = `0x${"0d".repeat(32)}` as Bytes32;
const NONCE = new Uint8Array(16).fill(7);

/** Answers as an enclave of this signer; `asked` collects the nonces. */
function enclave(
  n: number,
  {
    phase = "serving",
    document = DOCUMENT,
    asked = [],
  }: { phase?: EnclavePhase; document?: Uint8Array; asked?: Uint8Array[] } = {},
): EnclaveLink {
  return {
    ask: (request) => {
      if (request.type === "status") {
        const { address: signer } = attester(n);
        return Promise.resolve({
          type: "status",
          phase,
          signer,
          configurationHash: CONFIGURATION,
          circuitsHash: CIRCUITS,
        });
      }
      if (request.type !== "attestation") throw new TypeError("not asked by a directory");
      asked.push(request.nonce);
      return Promise.resolve({ type: "attestation", document });
    },
    close: () => undefined,
  };
}
const unreachable: EnclaveLink = {
  ask: () => Promise.reject(new EnclaveUnreachable("nobody there")),
  close: () => undefined,
};
const refusing = (reply: EnclaveReply): EnclaveLink => ({
  ask: () => Promise.resolve(reply),
  close: () => undefined,
});
const all = (): Promise<boolean> => Promise.resolve(true);

describe("enclave-link/directory", () => {
  it("names signer, configuration and registers, and hands the document on as it came", async () => {
    const asked: Uint8Array[] = [];
    const [one, ...more] = await createDirectory([enclave(1, { asked })], all).describe(NONCE);
    assert.deepEqual(more, []);
    assert.deepEqual(asked, [NONCE]);
    assert.equal(one?.signer, attester(1).address);
    assert.equal(one.configurationHash, CONFIGURATION);
    assert.equal(one.accepted, true);
    assert.deepEqual(one.document, DOCUMENT);
    assert.deepEqual(Object.keys(one.measurements), ["PCR0", "PCR1", "PCR2", "PCR4"]);
  });

  it("says which signers the pool does not accept", async () => {
    const isSecond = (signer: string): Promise<boolean> => Promise.resolve(signer === attester(2).address);
    const described = await createDirectory([enclave(1), enclave(2)], isSecond).describe(NONCE);
    assert.deepEqual(
      described.map(({ signer, accepted }) => [signer, accepted]),
      [
        [attester(1).address, false],
        [attester(2).address, true],
      ],
    );
  });

  it("leaves out an enclave that is unreachable or refuses, and keeps the others in order", async () => {
    const busy = refusing({ type: "refused", code: "PLATFORM_UNAVAILABLE" });
    const described = await createDirectory([enclave(1), unreachable, busy, enclave(2)], all).describe(NONCE);
    assert.deepEqual(
      described.map(({ signer }) => signer),
      [attester(1).address, attester(2).address],
    );
    assert.deepEqual(await createDirectory([unreachable], all).describe(NONCE), []);
  });

  it("shows a document that it cannot read all the same: the client judges it", async () => {
    const document = Uint8Array.of(1, 2, 3);
    const [one] = await createDirectory([enclave(1, { document })], all).describe(NONCE);
    assert.deepEqual(one?.measurements, {});
    assert.deepEqual(one.document, document);
  });

  it("does not call an enclave unreachable because the chain is", async () => {
    const directory = createDirectory([enclave(1)], () => Promise.reject(new ChainUnreachable("gone")));
    await assert.rejects(directory.describe(NONCE), ChainUnreachable);
  });

  it("tells the phases in order of configuration, undefined for one that is unreachable", async () => {
    const links = [enclave(1), unreachable, enclave(2, { phase: "halted" })];
    assert.deepEqual(await createDirectory(links, all).phases(), ["serving", undefined, "halted"]);
  });
});

// The tamper demonstration as a reviewer runs it: every attack is there, and every one is refused for its own reason.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Case } from "../../scripts/demo/tamper/ledger.ts";

const ROOT = path.join(path.dirname(fileURLToPath(import.meta.url)), "..", "..");

describe("npm run demo:tamper", function () {
  this.timeout(480_000);

  it("shows each attack refused, and ends with 0", async () => {
    const args = ["scripts/build/run.mjs", "scripts/demo/tamper/main.ts", "--json"];
    const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ["ignore", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
    const [code] = (await once(child, "close")) as [number | null];
    assert.equal(code, 0, stderr);

    const { ok, cases } = JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as {
      ok: boolean;
      cases: Case[];
    };
    assert.equal(ok, true);
    const answers = new Map(cases.map(({ name, checks }) => [name, checks.map(({ actual }) => actual)]));
    // Said here a second time, so that a demonstration that expects too little is noticed.
    const expectations = [
      ["nothing tampered with", "ok"],
      [
        "one byte changed",
        "AccessDeniedException",
        "NoDecryptForAnotherImage",
        "WRONG_PHASE",
        "ENCLAVE_UNAVAILABLE",
      ],
      ["a substituted key", "RESTORE_REFUSED", "SIGNER_MISMATCH", "WRONG_PHASE", "restored"],
      ["a birth certificate of another sealed key", "RESTORE_REFUSED", "SEALED_KEY_MISMATCH", "restored"],
      ["a debug-mode document", "DEBUG_MODE", "KMS_DENIED", "RESTORE_REFUSED", "WRONG_PHASE"],
      ["a foreign root", "ROOT_UNKNOWN", "KMS_DOCUMENT_REFUSED", "RESTORE_REFUSED", "WRONG_PHASE"],
      [
        "a registration",
        ...[
          "SignatureInvalid",
          "DocumentMalformed",
          "ConfigurationMismatch",
          "ImageNotAdmitted",
          "DebugMode",
        ],
        ...["RootUnknown", "NonceMismatch", "admitted", "SignerRegisteredBefore"],
      ],
      [
        "two verifiers, one of them wrong",
        ...["signed by 2", "ENCLAVE_UNAVAILABLE", "the verifiers gave different verdicts"],
        ...["PROOF_INVALID", "signed"],
      ],
      [
        "a complete old pair",
        ...["signed", "SignerUnknown", "SignerRemovedBefore", "ENCLAVE_UNAVAILABLE", "Executed"],
      ],
    ] as const;
    for (const [name, ...expected] of expectations) {
      for (const answer of expected) {
        const said = answers.get(name)?.some((one) => one.startsWith(answer));
        assert.equal(said, true, `${name}: ${answer}`);
      }
    }
    assert.equal(answers.size, expectations.length);
  });
});

// The tamper demonstration as a reviewer runs it: every attack is there, and every one is refused for its own reason.
import assert from "node:assert/strict";
import { Story } from "../../scripts/demo/story.ts";
import { showTamper } from "../../scripts/demo/tamper/cases.ts";

describe("what the tamper demonstration shows", function () {
  this.timeout(480_000);

  it("each attack is refused for its own reason", async () => {
    const { chapters, isAsItMust } = await Story.of(showTamper);
    assert.ok(isAsItMust, JSON.stringify(chapters));
    const answers = new Map(chapters.map(({ name, checks }) => [name, checks.map(({ actual }) => actual)]));
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

// That the removals still fit the enclave, and that a removal is told from none. What they find is
// `npm run mutate:enclave`.
import assert from "node:assert/strict";
import { access, readFile } from "node:fs/promises";
import path from "node:path";
import { mutate, runMutations } from "../../../../scripts/lab/enclave-mutations.ts";
import { MUTATIONS, type Mutation } from "../../../../scripts/lab/enclave-mutations/table.ts";

const ROOT = path.resolve(import.meta.dirname, "../../../..");

describe("scripts: ways to weaken the enclave", () => {
  it("each fits the sources as they are, in one place, and leaves a program", async () => {
    for (const mutation of MUTATIONS) {
      const text = await readFile(path.join(ROOT, mutation.file), "utf8");
      assert.notEqual(mutate(text, mutation), text, mutation.name);
    }
  });

  it("each has a name of its own in its file, and tests that are there", async () => {
    const names = MUTATIONS.map(({ file, name }) => `${file}: ${name}`);
    assert.equal(new Set(names).size, names.length);
    for (const test of new Set(MUTATIONS.flatMap(({ tests }) => tests))) await access(path.join(ROOT, test));
  });

  it("covers every file that refuses something", () => {
    const covered = new Set(MUTATIONS.map(({ file }) => file));
    for (const file of ["attest", "attest-root", "restore", "kms-envelope", "frames", "signer", "dispatch"])
      assert.ok(covered.has(`enclave/${file}.ts`), file);
    for (const file of [
      "attestation-document",
      "x509",
      "cbor",
      "asn1",
      "kms-envelope",
      "statements",
      "enclave-messages",
    ])
      assert.ok(covered.has(`shared/protocol/${file}.ts`), file);
  });

  const rule: Mutation = {
    name: "any version is ours",
    file: "shared/protocol/user-data.ts",
    from: "reader.number(1) === LAYOUT_VERSION",
    to: "reader.number(1) > 0",
    tests: ["test/unit/shared/protocol/user-data.test.ts"],
  };

  it("an edit that fits nowhere, or leaves no program, is none", () => {
    assert.throws(() => mutate("another text", rule), /does not fit/);
    assert.throws(() => mutate(`x(${rule.from})`, { ...rule, to: "((" }), /leaves no program/);
  });

  it("tells a removal that a test notices from an edit that changes nothing", async () => {
    const harmless = { ...rule, name: "nothing is wrong", to: "reader.number(1) == LAYOUT_VERSION" };
    const outcomes = await runMutations([rule, harmless], () => undefined);
    assert.match(outcomes[0]?.noticedBy ?? "", /another version/);
    assert.equal(outcomes[1]?.noticedBy, undefined);
  });

  it("believes no test that fails without a removal, nor one that does not start", async () => {
    for (const test of ["test/unit/shared/protocol/nowhere.test.ts", "test/support/tally.cjs"])
      await assert.rejects(runMutations([{ ...rule, tests: [test] }], () => undefined));
  });
});

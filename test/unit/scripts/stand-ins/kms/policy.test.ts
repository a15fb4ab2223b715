import assert from "node:assert/strict";
import { decide, parsePolicy, type KmsCall } from "../../../../../scripts/stand-ins/kms/policy.ts";

const ALICE = "arn:aws:iam::111111111111:role/alice";
const BOB = "arn:aws:iam::222222222222:role/bob";

function isAllowed(statements: readonly object[], call: Partial<KmsCall> = {}): boolean {
  const policy = parsePolicy(
    JSON.stringify({
      Version: "2012-10-17",
      Statement: statements.map((one) => ({ Principal: "*", Resource: "*", ...one })),
    }),
  );
  return decide(policy, { principal: ALICE, action: "kms:Decrypt", context: new Map(), ...call }).allowed;
}

const allow = { Effect: "Allow", Action: "kms:*" };

describe("scripts/stand-ins/kms/policy", () => {
  it("denies what nothing allows, and what is denied although it is allowed", () => {
    assert.equal(isAllowed([allow]), true);
    assert.equal(isAllowed([{ Effect: "Allow", Action: "kms:Encrypt" }]), false);
    assert.equal(isAllowed([allow, { Effect: "Deny", Action: "kms:Decrypt" }]), false);
    assert.equal(isAllowed([{ Effect: "Deny", Action: "kms:Decrypt" }, allow]), false);
  });

  it("names the statement that denied, and none when nothing allowed", () => {
    const read = (...statements: object[]): unknown =>
      decide(parsePolicy(JSON.stringify({ Version: "2012-10-17", Statement: statements })), {
        principal: ALICE,
        action: "kms:Decrypt",
        context: new Map(),
      });
    const all = { Principal: "*", Resource: "*" };
    assert.deepEqual(read({ ...all, ...allow }, { ...all, Sid: "No", Effect: "Deny", Action: "kms:*" }), {
      allowed: false,
      by: "No",
    });
    assert.deepEqual(read({ ...all, Effect: "Allow", Action: "kms:Sign" }), {
      allowed: false,
      by: undefined,
    });
  });

  it("matches actions with wildcards and without case, and everything but those of NotAction", () => {
    for (const [pattern, action, expected] of [
      ["kms:ReEncrypt*", "kms:ReEncryptFrom", true],
      ["kms:ReEncrypt*", "kms:Decrypt", false],
      ["KMS:decrypt", "kms:Decrypt", true],
      ["kms:Decryp?", "kms:Decrypt", true],
      ["kms.Decrypt", "kms:Decrypt", false],
    ] as const) {
      assert.equal(isAllowed([{ Effect: "Allow", Action: pattern }], { action }), expected, pattern);
    }
    const others = { Effect: "Deny", NotAction: ["kms:Decrypt", "kms:Get*"] };
    for (const [action, expected] of [
      ["kms:Decrypt", true],
      ["kms:GetPublicKey", true],
      ["kms:PutKeyPolicy", false],
    ] as const) {
      assert.equal(isAllowed([allow, others], { action }), expected, action);
    }
  });

  it("means everybody, one caller, or the callers of one account", () => {
    for (const [meant, caller, expected] of [
      ["*", BOB, true],
      [{ AWS: "*" }, BOB, true],
      [{ AWS: ALICE }, ALICE, true],
      [{ AWS: ALICE }, BOB, false],
      [{ AWS: [ALICE, BOB] }, BOB, true],
      [{ AWS: "arn:aws:iam::111111111111:root" }, ALICE, true],
      [{ AWS: "arn:aws:iam::111111111111:root" }, BOB, false],
    ] as const) {
      assert.equal(isAllowed([{ ...allow, Principal: meant }], { principal: caller }), expected);
    }
  });

  describe("conditions", () => {
    const under = (Condition: object, context: Record<string, string>): boolean =>
      isAllowed([{ ...allow, Condition }], { context: new Map(Object.entries(context)) });

    it("compare with and without case, over all keys and any value", () => {
      assert.equal(under({ StringEquals: { a: "x" } }, { a: "x" }), true);
      assert.equal(under({ StringEquals: { a: "x" } }, { a: "X" }), false);
      assert.equal(under({ StringEqualsIgnoreCase: { a: "x" } }, { a: "X" }), true);
      assert.equal(under({ StringEquals: { a: ["y", "x"] } }, { a: "x" }), true);
      assert.equal(under({ StringEquals: { a: "x", b: "y" } }, { a: "x", b: "y" }), true);
      assert.equal(under({ StringEquals: { a: "x", b: "y" } }, { a: "x", b: "z" }), false);
      assert.equal(
        under({ StringEquals: { a: "x" }, StringNotEquals: { b: "y" } }, { a: "x", b: "y" }),
        false,
      );
    });

    it("over an absent key: an operator fails, a negated one holds", () => {
      assert.equal(under({ StringEqualsIgnoreCase: { a: "x" } }, {}), false);
      assert.equal(under({ StringNotEqualsIgnoreCase: { a: "x" } }, {}), true);
      assert.equal(under({ StringNotEqualsIgnoreCase: { a: ["x", "y"] } }, { a: "Y" }), false);
    });

    // Why the template has one Deny for each register.
    it("join negated keys by AND, so one that agrees is enough for none to be denied", () => {
      const both = { StringNotEquals: { a: "x", b: "y" } };
      assert.equal(under(both, { a: "x", b: "other" }), false);
      assert.equal(under(both, { a: "other", b: "other" }), true);
    });
  });

  it("does not read what it would have to pass over", () => {
    const good = { Effect: "Allow", Principal: "*", Action: "kms:*", Resource: "*" };
    const parse = (statement: object, version = "2012-10-17"): unknown =>
      parsePolicy(JSON.stringify({ Version: version, Statement: [statement] }));
    assert.ok(parse(good));
    assert.throws(() => parse(good, "2008-10-17"));
    for (const change of [
      { Condition: { Bool: { "aws:SecureTransport": "true" } } },
      { Condition: { "ForAllValues:StringEquals": { a: "x" } } },
      { NotAction: "kms:Decrypt" },
      { Action: undefined },
      { NotPrincipal: "*" },
      { Principal: { Service: "ec2.amazonaws.com" } },
      { Resource: "arn:aws:kms:::key/1" },
      { Effect: "Maybe" },
    ]) {
      assert.throws(() => parse({ ...good, ...change }), JSON.stringify(change));
    }
  });
});

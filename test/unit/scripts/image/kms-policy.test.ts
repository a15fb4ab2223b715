// The production policy, as AWS would evaluate it: beside a statement that allows everything, as an IAM policy
// or a default key policy does, it lets an enclave of the measurement have its key, and nobody anything else.
import assert from "node:assert/strict";
import { decide, parsePolicy } from "../../../../scripts/stand-ins/kms/policy.ts";
import { kmsPolicy } from "../../../../scripts/image/kms-policy.ts";

const MEASUREMENT = { pcr0: "a0".repeat(48), pcr1: "b1".repeat(48), pcr2: "c2".repeat(48) };
const ACCOUNT = "123456789012";
const HOST = `arn:aws:iam::${ACCOUNT}:role/cloister-host`;
const ADMIN = `arn:aws:iam::${ACCOUNT}:role/administrator`;
const terms = { measurement: MEASUREMENT, account: ACCOUNT, hostRole: HOST };

type Registers = Readonly<Record<"pcr0" | "pcr1" | "pcr2", string>>;
function contextOf({ pcr0, pcr1, pcr2 }: Registers): ReadonlyMap<string, string> {
  const values = { PCR0: pcr0, PCR1: pcr1, PCR2: pcr2, ImageSha384: pcr0 };
  return new Map(Object.entries(values).map(([name, value]) => [`kms:RecipientAttestation:${name}`, value]));
}

describe("scripts/image/kms-policy", () => {
  let own: ReturnType<typeof parsePolicy>;
  let besideFullAccess: ReturnType<typeof parsePolicy>;
  before(() => {
    own = parsePolicy(kmsPolicy(terms));
    const everything = { Effect: "Allow", Principal: "*", Action: "kms:*", Resource: "*" } as const;
    besideFullAccess = parsePolicy(JSON.stringify({ ...own, Statement: [everything, ...own.Statement] }));
  });

  it("releases the key to the host's role for an enclave of this measurement, in either case of its digits", () => {
    const call = { principal: HOST, action: "kms:Decrypt" };
    assert.deepEqual(decide(own, { ...call, context: contextOf(MEASUREMENT) }), { allowed: true });
    const upper = { ...MEASUREMENT, pcr0: MEASUREMENT.pcr0.toUpperCase() };
    assert.deepEqual(decide(own, { ...call, context: contextOf(upper) }), { allowed: true });
    assert.deepEqual(decide(own, { ...call, principal: ADMIN, context: contextOf(MEASUREMENT) }), {
      allowed: false,
      by: undefined,
    });
  });

  for (const [register, sid] of [
    ["pcr0", "NoDecryptForAnotherImage"],
    ["pcr1", "NoDecryptForAnotherKernel"],
    ["pcr2", "NoDecryptForAnotherApplication"],
  ] as const) {
    it(`denies Decrypt when ${register} alone differs, whatever else is allowed`, () => {
      const context = contextOf({ ...MEASUREMENT, [register]: "dd".repeat(48) });
      const decision = decide(besideFullAccess, { principal: HOST, action: "kms:Decrypt", context });
      assert.deepEqual(decision, { allowed: false, by: sid });
    });
  }

  it("denies Decrypt without an attestation document, and one of debug mode, to anybody", () => {
    const zero = "00".repeat(48);
    for (const context of [new Map<string, string>(), contextOf({ pcr0: zero, pcr1: zero, pcr2: zero })]) {
      for (const principal of [HOST, ADMIN, `arn:aws:iam::${ACCOUNT}:root`]) {
        const decision = decide(besideFullAccess, { principal, action: "kms:Decrypt", context });
        assert.deepEqual(decision, { allowed: false, by: "NoDecryptForAnotherImage" });
      }
    }
  });

  it("denies every other use and change of the key, to the account's root as well", () => {
    for (const operation of [
      ...[
        "ReEncryptFrom",
        "ReEncryptTo",
        "CreateGrant",
        "PutKeyPolicy",
        "GenerateDataKey",
        "DeriveSharedSecret",
      ],
      ...[
        "Encrypt",
        "ReplicateKey",
        "UpdatePrimaryRegion",
        "ImportKeyMaterial",
        "RetireGrant",
        "TagResource",
      ],
      ...["ScheduleKeyDeletion", "DisableKey", "RotateKeyOnDemand", "SomethingThatIsYetToCome"],
    ]) {
      for (const principal of [HOST, ADMIN, `arn:aws:iam::${ACCOUNT}:root`]) {
        const call = { principal, action: `kms:${operation}`, context: contextOf(MEASUREMENT) };
        const decision = decide(besideFullAccess, call);
        assert.deepEqual(decision, { allowed: false, by: "NothingElseByAnybody" }, operation);
      }
    }
  });

  it("lets the account look at the key and its policy, so that anybody there can audit them", () => {
    for (const operation of ["DescribeKey", "GetPublicKey", "GetKeyPolicy", "ListGrants"]) {
      const call = { principal: ADMIN, action: `kms:${operation}`, context: new Map<string, string>() };
      assert.deepEqual(decide(own, call), { allowed: true }, operation);
    }
  });

  it("is not made for debug mode, half a measurement, or names that could carry more than a name", () => {
    const zero = "00".repeat(48);
    for (const change of [
      { measurement: { pcr0: zero, pcr1: zero, pcr2: zero } },
      { measurement: { ...MEASUREMENT, pcr1: "b1" } },
      { measurement: { ...MEASUREMENT, pcr2: `${"c2".repeat(47)}"}` } },
      { account: "1234" },
      { hostRole: "*" },
      { hostRole: "cloister-host" },
      { hostRole: HOST.replace(ACCOUNT, "210987654321") },
      { hostRole: `${HOST}"],"x":["` },
    ]) {
      assert.throws(() => kmsPolicy({ ...terms, ...change }), JSON.stringify(change));
    }
  });
});

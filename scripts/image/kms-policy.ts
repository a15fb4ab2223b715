/**
 * The final policy of an image's KMS key: `Decrypt` for an enclave of this measurement, nothing else for anybody, the
 * account's root included. Who can change a policy can read the sealed key, so this one forbids its own replacement,
 * grants and `ReEncrypt` too: set it last, and know that it cannot be undone.
 *
 * Three Deny statements, one for each register, because the keys inside one condition are joined by AND: a single Deny
 * over all three would refuse only an image that differs in every one. A negated operator holds when its key is
 * absent, so `Decrypt` without an attestation document is denied as well. A Deny beats a grant.
 */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Measurement } from "./measurement.ts";

export interface PolicyTerms {
  readonly measurement: Measurement;
  /** Twelve digits. */
  readonly account: string;
  /** ARN of the role under which the proxy's host calls KMS. */
  readonly hostRole: string;
}

/** The policy as `PutKeyPolicy` takes it. Throws on terms that would make another policy than the reader expects. */
export function kmsPolicy(terms: PolicyTerms): string {
  const { measurement, account, hostRole } = terms;
  if (!/^[0-9]{12}$/.test(account)) throw new Error("the account is twelve digits");
  const roles = `arn:aws:iam::${account}:role/`;
  if (!hostRole.startsWith(roles) || !/^[\w+=,.@/-]{1,512}$/.test(hostRole.slice(roles.length)))
    throw new Error("the host's role is an ARN of the same account, arn:aws:iam::<account>:role/<name>");
  for (const register of [measurement.pcr0, measurement.pcr1, measurement.pcr2]) {
    // All zero is an enclave in debug mode, whose memory its host can read.
    if (!/^[0-9a-f]{96}$/.test(register) || /^0+$/.test(register))
      throw new Error("a register is 96 lower-case hex digits, not all zero");
  }
  return `${JSON.stringify(keyPolicy(terms), null, 2)}\n`;
}

const LOOK = ["DescribeKey", "GetPublicKey", "GetKeyPolicy", "ListKeyPolicies", "ListGrants"].map(
  (operation) => `kms:${operation}`,
);
const DENY = { Effect: "Deny", Principal: "*" };

function keyPolicy({ measurement: { pcr0, pcr1, pcr2 }, account, hostRole }: PolicyTerms): object {
  const attested = (name: string): string => `kms:RecipientAttestation:${name}`;
  const unless = (register: string, value: string): object => ({
    Action: "kms:Decrypt",
    Resource: "*",
    Condition: { StringNotEqualsIgnoreCase: { [attested(register)]: value } },
  });
  return {
    Version: "2012-10-17",
    Id: "cloister-sealing-key",
    Statement: [
      {
        Sid: "DecryptForThisMeasurement",
        Effect: "Allow",
        Principal: { AWS: hostRole },
        Action: "kms:Decrypt",
        Resource: "*",
        Condition: {
          StringEqualsIgnoreCase: {
            [attested("ImageSha384")]: pcr0,
            [attested("PCR0")]: pcr0,
            [attested("PCR1")]: pcr1,
            [attested("PCR2")]: pcr2,
          },
        },
      },
      {
        Sid: "LookAtTheKey",
        Effect: "Allow",
        Principal: { AWS: `arn:aws:iam::${account}:root` },
        Action: LOOK,
        Resource: "*",
      },
      { Sid: "NoDecryptForAnotherImage", ...DENY, ...unless("PCR0", pcr0) },
      { Sid: "NoDecryptForAnotherKernel", ...DENY, ...unless("PCR1", pcr1) },
      { Sid: "NoDecryptForAnotherApplication", ...DENY, ...unless("PCR2", pcr2) },
      { Sid: "NothingElseByAnybody", ...DENY, NotAction: ["kms:Decrypt", ...LOOK], Resource: "*" },
    ],
  };
}

const HELP = `Usage: tsx scripts/image/kms-policy.ts --measurement FILE --account ID --role ARN

Prints the final policy of an image's KMS key. Make the key (RSA_2048, ENCRYPT_DECRYPT, origin AWS_KMS, single
Region), build the image with its public key, then set this policy:

  aws kms put-key-policy --key-id KEY --policy file://policy.json --bypass-policy-lockout-safety-check

The last option is needed because nobody, you included, may change the policy afterwards.

  --measurement <file>   JSON with pcr0, pcr1 and pcr2, as npm run measure -- --json or the image builder has it
  --account <id>         the AWS account's twelve digits
  --role <arn>           the role under which the proxy's host calls KMS
  --help                 this text`;

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      measurement: { type: "string" },
      account: { type: "string" },
      role: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help === true) {
    console.log(HELP);
    return;
  }
  if (values.measurement === undefined || values.account === undefined || values.role === undefined)
    throw new Error("--measurement, --account and --role are needed; see --help");
  const measurement = JSON.parse(await readFile(values.measurement, "utf8")) as Measurement;
  process.stdout.write(kmsPolicy({ measurement, account: values.account, hostRole: values.role }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();

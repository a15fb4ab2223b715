/**
 * `npm run operator -- signer …`: the life of an enclave's signer as its operator runs it. A key is believed
 * when its birth certificate verifies to the configuration and measurement given here, and is registered with
 * that certificate in the pool's event. The owner's key is read from the environment.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { getAddress } from "ethers";
import { parseConfiguration, type Configuration } from "../../../enclave/configuration.ts";
import { createLink } from "../../../proxy/enclave-link/link.ts";
import { pairText, readPair } from "../../../proxy/enclave-link/signer-pair.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { fromHex, toHex } from "../../../shared/protocol/bytes.ts";
import { NONCE_BYTES } from "../../../shared/protocol/enclave-messages.ts";
import { developmentConfiguration, refuseDevelopment } from "../image/configuration.ts";
import { ENCLAVE_FOLDER, measureImage } from "../image/measurement.ts";
import { BIRTH_FAULTS, birthFault, makePair, pairFault, type BirthPolicy } from "./birth.ts";
import { timeOf } from "./admissions.ts";
import { dateOf, timeFieldsOf, timesOf } from "../../../proxy/chain/owner-events.ts";
import { addressOf, walletIn, withPool } from "./chain.ts";
import { addSigner, proposeSigner, readSigners, removeSigner, shows, waitForTime } from "./pool-signers.ts";
import { UsageError } from "../../build/command.ts";
import { need, POOL_OPTIONS, readMeasurement, show, type Result } from "./command-line.ts";

export const SIGNER_HELP = `Usage: npm run operator -- signer COMMAND [options] [--json]

  genesis    asks a booted enclave for a new signer, verifies its birth certificate, and writes the pair
             --enclave unix:PATH:PORT  --kms-key ARN  --out FILE  [--challenge HEX]  and the image
  register   proposes the signer of a verified pair; when the pool's delay is over, and within the week after it,
             admits it; what nobody admitted by then has expired, and is proposed again
             --pair FILE  [--challenge HEX]  [--wait]  the image and the pool
  revoke ADDRESS
             removes a signer, in use or only proposed, at once and permanently        the pool
  list       every signer the pool ever knew (with --pending those that are proposed), from when one may be admitted
             and when that expires; with the image, whether its genesis document verifies

the image  --configuration FILE  --measurement FILE   what the birth certificate must verify to: the image's
                                                      configuration.json; JSON with pcr0, pcr1 and pcr2
           --development   for a local stack: takes development roots and keys, and without the two files
                           the development configuration and enclave/ as it is built
the pool   --rpc URL  --pool ADDRESS  [--from-block N]  OWNER_KEY in the environment, to register and revoke
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  development: { type: "boolean" },
  wait: { type: "boolean" },
  enclave: { type: "string" },
  "kms-key": { type: "string" },
  out: { type: "string" },
  challenge: { type: "string" },
  configuration: { type: "string" },
  measurement: { type: "string" },
  pair: { type: "string" },
  pending: { type: "boolean" },
  ...POOL_OPTIONS,
} as const;

type Values = ReturnType<typeof parse>["values"];
type Say = (text: string) => void;

function parse(words: readonly string[]) {
  return parseArgs({ args: [...words], allowPositionals: true, options: OPTIONS });
}

/** `words` come after `signer`. Progress goes to standard error, the result to standard output. */
export async function signerCommand(words: readonly string[]): Promise<void> {
  const { values, positionals } = parse(words);
  if (values.help === true || positionals.length === 0) {
    process.stdout.write(SIGNER_HELP);
    return;
  }
  const say: Say = (text) => {
    if (values.json !== true) process.stderr.write(`${text}\n`);
  };
  show(await run(positionals, values, say), values.json);
}

async function run(positionals: readonly string[], values: Values, say: Say): Promise<Result> {
  const [verb, address, ...rest] = positionals;
  if (rest.length > 0 || (address !== undefined && verb !== "revoke")) throw new UsageError("too many words");
  switch (verb ?? "") {
    case "genesis":
      return genesis(values, say);
    case "register":
      return register(values, say);
    case "revoke":
      return revoke(values, need(address, "ADDRESS"), say);
    case "list":
      return list(values);
    default:
      throw new UsageError("unknown command; see signer --help");
  }
}

// ---------------------------------------------------------------- the four

async function genesis(values: Values, say: Say): Promise<Result> {
  const out = need(values.out, "--out FILE");
  const kmsKeyId = need(values["kms-key"], "--kms-key ARN");
  // Overwriting a pair would lose its key permanently.
  if (existsSync(out)) throw new UsageError(`${out} exists; a pair is never overwritten`);
  const policy = await imageOf(values);
  const challenge = challengeOf(values) ?? new Uint8Array(randomBytes(32));
  const link = createLink(enclaveOf(need(values.enclave, "--enclave unix:PATH:PORT")));
  try {
    say(`asking for a key, challenge ${toHex(challenge)}`);
    const pair = await makePair(link, { ...policy, challenge }, kmsKeyId);
    say(
      "its birth certificate verifies: root, chain, measurement, challenge, configuration, KMS key, sealed key",
    );
    await writeFile(out, pairText(pair), { mode: 0o600, flag: "wx" });
    const data = { signer: getAddress(pair.signer), pair: out, challenge: toHex(challenge) };
    return { data, text: `${data.signer} is born; its pair is in ${out}` };
  } finally {
    link.close();
  }
}

async function register(values: Values, say: Say): Promise<Result> {
  const pair = await readPair(need(values.pair, "--pair FILE"));
  const policy = { ...(await imageOf(values)), challenge: challengeOf(values) };
  const fault = pairFault(pair, policy);
  if (fault !== undefined)
    throw new Error(`not registered, the birth certificate is refused (${fault}): ${BIRTH_FAULTS[fault]}`);
  say("the birth certificate verifies");

  return withPool(values, async ({ provider, pool, fromBlock }) => {
    const { signer, birthCertificate } = pair;
    const name = getAddress(signer);
    const owner = walletIn(provider, "OWNER_KEY");
    const find = async () =>
      (await readSigners(provider, pool, fromBlock)).find((one) => one.signer === signer);
    let known = await find();
    if (known?.standing === "admitted") return stateOf(name, "admitted", `${name} is a signer already`);
    if (known?.standing === "removed" || known?.standing === "withdrawn")
      throw new Error(
        `${name} was removed, and a removed signer never comes back; make a new one: signer genesis`,
      );
    if (known === undefined || known.standing === "expired") {
      if (known !== undefined)
        say("nobody admitted it within its week: it is proposed again, and waits again");
      await proposeSigner(owner, pool, signer, birthCertificate);
      say(`proposed ${name} with its genesis document`);
      known = await find();
    }
    // Somebody who holds the owner's key may have proposed our signer with a document that misleads its readers.
    if (known === undefined || !shows(known, birthCertificate))
      throw new Error(`${name} was proposed with another document; revoke it and make a new signer`);
    const { admissibleAt: at = 0, expiresAt = 0 } = known;
    if ((await timeOf(provider)) < at && values.wait !== true) {
      const text = `${name} may be admitted from ${dateOf(at)} to ${dateOf(expiresAt)}: run the same command again then`;
      return { data: { signer: name, standing: "proposed", ...timeFieldsOf(known) }, text };
    }
    say("waiting for the pool's delay");
    await waitForTime(provider, at);
    await addSigner(owner, pool, signer);
    return stateOf(name, "admitted", `${name} is a signer of the pool`);
  });
}

async function revoke(values: Values, text: string, say: Say): Promise<Result> {
  const signer = addressOf(text, "ADDRESS");
  return withPool(values, async ({ provider, pool, fromBlock }) => {
    const standing = await removeSigner(walletIn(provider, "OWNER_KEY"), pool, signer);
    const left = (await readSigners(provider, pool, fromBlock)).filter(
      ({ standing }) => standing === "admitted",
    );
    say(`${String(left.length)} remain: ${left.map((one) => getAddress(one.signer)).join(", ") || "nobody"}`);
    const what = standing === "withdrawn" ? "is withdrawn before it was admitted" : "is removed";
    return stateOf(getAddress(signer), standing, `${getAddress(signer)} ${what}, permanently`);
  });
}

async function list(values: Values): Promise<Result> {
  const isJudged = values.configuration !== undefined || values.development === true;
  const policy = isJudged ? await imageOf(values) : undefined;
  return withPool(values, async ({ provider, pool, fromBlock }) => {
    const all = await readSigners(provider, pool, fromBlock);
    const wanted = all.filter(({ standing }) => values.pending !== true || standing === "proposed");
    const signers = wanted.map((one) => ({
      signer: getAddress(one.signer),
      standing: one.standing,
      ...timeFieldsOf(one),
      document: documentOf(one.genesisDocument, one.signer, policy),
    }));
    const text = signers.map(({ signer, standing, document }, i) =>
      [signer, standing, ...timesOf(wanted[i]!), document].join("\t"),
    );
    return { data: { signers }, text: text.join("\n") };
  });
}

function documentOf(
  document: Uint8Array | undefined,
  signer: Address,
  policy: BirthPolicy | undefined,
): string {
  if (document === undefined || document.length === 0) return "no document";
  if (policy === undefined) return "not judged";
  return birthFault(document, signer, policy) ?? "verified";
}

function stateOf(signer: string, standing: string, text: string): Result {
  return { data: { signer, standing }, text };
}

// ---------------------------------------------------------------- what they are given

async function imageOf(values: Values): Promise<BirthPolicy> {
  const isDevelopment = values.development === true;
  const text =
    values.configuration === undefined && isDevelopment
      ? await developmentConfiguration()
      : await readFile(need(values.configuration, "--configuration FILE"), "utf8");
  const configuration: Configuration = parseConfiguration(text);
  if (!isDevelopment) await refuseDevelopment(configuration);
  const measurement =
    values.measurement === undefined && isDevelopment
      ? await measureImage(ENCLAVE_FOLDER, { configuration: text })
      : readMeasurement(await readFile(need(values.measurement, "--measurement FILE"), "utf8"));
  return { configuration, measurements: [measurement] };
}

function challengeOf({ challenge }: Values): Uint8Array | undefined {
  if (challenge === undefined) return undefined;
  const bytes = fromHex(challenge.startsWith("0x") ? challenge : `0x${challenge}`);
  if (bytes === undefined || bytes.length < NONCE_BYTES.min || bytes.length > NONCE_BYTES.max)
    throw new UsageError(`--challenge takes ${NONCE_BYTES.min} to ${NONCE_BYTES.max} bytes in hex`);
  return bytes;
}

function enclaveOf(text: string): { readonly path: string; readonly port: number } {
  const [, path, port] = /^unix:(.+):([1-9][0-9]{0,9})$/.exec(text) ?? [];
  if (path === undefined) throw new UsageError("--enclave takes unix:PATH:PORT");
  return { path, port: Number(port) };
}

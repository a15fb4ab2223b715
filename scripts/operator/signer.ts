/**
 * `npm run operator -- signer …`: the life of an enclave's signer. It is born in an enclave, and registered in a pool by
 * anybody who shows the pool a document of that enclave: nobody's word admits it, the pool owner's least of all. Keys are
 * read from the environment.
 */
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { Contract, getAddress, JsonRpcProvider, type Provider } from "ethers";
import { parseConfiguration, type Configuration } from "../../enclave/configuration.ts";
import { createLink } from "../../proxy/api/enclave-link/link.ts";
import { pairText, readPair } from "../../proxy/api/enclave-link/signer-pair.ts";
import { createClient } from "../../shared/client/index.ts";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { readAttestation } from "../../shared/protocol/attestation-document.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { mustFromHex, toHex } from "../../shared/protocol/bytes.ts";
import { fromHex } from "../../shared/protocol/host/text.ts";
import { NONCE_BYTES } from "../../shared/protocol/enclave-messages.ts";
import { decodeUserData } from "../../shared/protocol/user-data.ts";
import { developmentConfiguration, refuseDevelopment } from "../image/configuration.ts";
import {
  ENCLAVE_FOLDER,
  measureImage,
  PROGRAM_NAMES,
  programNamed,
  type ProgramName,
} from "../image/measurement.ts";
import { act } from "./admissions.ts";
import { makePair, type BirthPolicy } from "./birth.ts";
import { addressOf, walletIn, withPool, type PoolAt } from "./chain.ts";
import { readSigners } from "./pool-signers.ts";
import { explained, PoolRefused } from "./refusal.ts";
import { kmsKeyIn, registerSigner, settledBlockHash, type Step } from "./registration.ts";
import { UsageError } from "../base/command.ts";
import { need, POOL_OPTIONS, readMeasurement, show, type Result } from "./command-line.ts";

export const SIGNER_HELP = `Usage: npm run operator -- signer COMMAND [options] [--json]

  genesis    asks a booted enclave for a new signer, verifies its birth certificate, and writes the pair
             --enclave unix:PATH:PORT  --kms-key ARN  --out FILE  [--challenge HEX | --rpc URL]  and the image. With --rpc the
             challenge is the newest block's hash: then the birth certificate registers the signer, within
             --max-document-age of the pool
  register [DOCUMENT]…
             shows the pool attestation documents whose nonce is a recent block's hash, in files; from --pair FILE its
             birth certificate; from --enclave unix:PATH:PORT or --service URL documents made now (a service wants
             CLOISTER_API_KEY). Anybody may: each step is a transaction, its gas is said, and what the chain has verified
             already is passed over, so that the same command goes on where it stopped. The pool and the image's
             configuration                                                          SENDER_KEY or OWNER_KEY
  remove ADDRESS
             at once and permanently; also one that was never registered                         OWNER_KEY
  expel ADDRESS
             removes a signer whose certificate, or one above it, was revoked. Anybody may  SENDER_KEY or OWNER_KEY
  list       every signer the pool ever knew, its image and kind of verifier, and how it stands

the image  --configuration FILE  the image's configuration.json; for register as often as there are images, of which
                           each document names its own
           --measurement FILE    JSON with pcr0, pcr1 and pcr2, for genesis
           --development   for a local stack: takes development roots and keys, and without the two files the
                           development configurations of both programs and enclave/ as it is built
           --program first|second  whose development configuration genesis takes (default: first)
the pool   --rpc URL  --pool ADDRESS  [--from-block N]
keys       in the environment, in hex. OWNER_KEY is the pool owner's. SENDER_KEY is anybody's that can pay for gas and bond.
`;

const OPTIONS = {
  help: { type: "boolean", short: "h" },
  json: { type: "boolean" },
  development: { type: "boolean" },
  enclave: { type: "string" },
  service: { type: "string" },
  out: { type: "string" },
  challenge: { type: "string" },
  "kms-key": { type: "string" },
  configuration: { type: "string", multiple: true },
  program: { type: "string" },
  measurement: { type: "string" },
  pair: { type: "string" },
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

async function run([verb = "", ...words]: readonly string[], values: Values, say: Say): Promise<Result> {
  if (verb === "register") return register(values, words, say);
  const [address, ...rest] = words;
  const takesAddress = verb === "remove" || verb === "expel";
  if (rest.length > 0 || (address !== undefined && !takesAddress)) throw new UsageError("too many words");
  switch (verb) {
    case "genesis":
      return genesis(values, say);
    case "remove":
    case "expel":
      return takeOut(verb, values, addressOf(need(address, "ADDRESS"), "ADDRESS"), say);
    case "list":
      return list(values);
    default:
      throw new UsageError("unknown command; see signer --help");
  }
}

// ---------------------------------------------------------------- birth

async function genesis(values: Values, say: Say): Promise<Result> {
  const out = need(values.out, "--out FILE");
  const kmsKeyId = need(values["kms-key"], "--kms-key ARN");
  // Overwriting a pair would lose its key permanently.
  if (existsSync(out)) throw new UsageError(`${out} exists; a pair is never overwritten`);
  const [given, ...more] = await configurationsOf(values, [programNamed(values.program)]);
  if (given === undefined || more.length > 0) throw new UsageError("genesis takes one --configuration FILE");
  const { configuration, text } = given;
  const policy: BirthPolicy = { configuration, measurements: [await measurementOf(values, text)] };
  const challenge = challengeOf(values) ?? (await newestBlock(values)) ?? new Uint8Array(randomBytes(32));
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

async function newestBlock({ rpc }: Values): Promise<Uint8Array | undefined> {
  if (rpc === undefined) return undefined;
  const provider = new JsonRpcProvider(rpc, undefined, { cacheTimeout: -1 });
  try {
    return mustFromHex(await settledBlockHash(provider));
  } finally {
    provider.destroy();
  }
}

// ---------------------------------------------------------------- registration

interface Registered {
  readonly signer: string;
  readonly standing: "admitted";
  readonly steps: readonly { readonly name: string; readonly gas: string | null }[];
}

async function register(values: Values, files: readonly string[], say: Say): Promise<Result> {
  const configurations = await configurationsOf(values, PROGRAM_NAMES);
  return withPool(values, async (at) => {
    const documents = await documentsOf(values, files, at.provider);
    if (documents.length === 0)
      throw new UsageError("no document: give files, --pair, --enclave or --service; see --help");
    const registered: Registered[] = [];
    for (const document of documents) {
      const kmsKey = kmsKeyIn(configurationNamed(document, configurations));
      registered.push(await registerOne(at, { document, kmsKey }, say));
    }
    const text = registered.map(({ signer }) => `${signer} is a signer of the pool`);
    return { data: { registered }, text: text.join("\n") };
  });
}

async function registerOne(
  { provider, pool }: PoolAt,
  { document, kmsKey }: { readonly document: Uint8Array; readonly kmsKey: Bytes32 },
  say: Say,
): Promise<Registered> {
  const steps: Step[] = [];
  const report = (step: Step): void => {
    steps.push(step);
    say(step.gasUsed === undefined ? `${step.name}: there already` : `${step.name}: ${step.gasUsed} gas`);
  };
  try {
    const sender = walletIn(provider, "SENDER_KEY", "OWNER_KEY");
    const signer = await registerSigner(sender, { pool, document, kmsKey }, report);
    return {
      ...{ signer: getAddress(signer), standing: "admitted" },
      steps: steps.map(({ name, gasUsed }) => ({
        name,
        gas: gasUsed === undefined ? null : String(gasUsed),
      })),
    };
  } catch (error) {
    throw explained(error);
  }
}

async function documentsOf(
  values: Values,
  files: readonly string[],
  provider: Provider,
): Promise<Uint8Array[]> {
  const documents: Uint8Array[] = await Promise.all(
    files.map(async (file) => new Uint8Array(await readFile(file))),
  );
  if (values.pair !== undefined) documents.push((await readPair(values.pair)).birthCertificate);
  if (values.enclave !== undefined)
    documents.push(await askEnclave(values.enclave, mustFromHex(await settledBlockHash(provider))));
  if (values.service !== undefined) {
    const apiKey = need(process.env["CLOISTER_API_KEY"], "CLOISTER_API_KEY in the environment");
    const client = createClient({ baseUrl: values.service, credential: { apiKey } });
    const info = await client.info({ nonce: await settledBlockHash(provider) });
    documents.push(
      ...info.enclaves.map(({ attestation }) => new Uint8Array(Buffer.from(attestation, "base64"))),
    );
  }
  return documents;
}

async function askEnclave(at: string, nonce: Uint8Array): Promise<Uint8Array> {
  const link = createLink(enclaveOf(at));
  try {
    const reply = await link.ask({ type: "attestation", nonce });
    if (reply.type === "attestation") return reply.document;
    throw new Error(
      `the enclave gives no document (${reply.type === "refused" ? reply.code : reply.type}): it has to hold its key`,
    );
  } finally {
    link.close();
  }
}

// ---------------------------------------------------------------- removal, and the list

async function takeOut(verb: "remove" | "expel", values: Values, signer: Address, say: Say): Promise<Result> {
  return withPool(values, async ({ provider, pool, fromBlock }) => {
    const name = getAddress(signer);
    const known = (await readSigners(provider, pool, fromBlock)).find((one) => one.signer === signer);
    try {
      if (verb === "remove") await act(walletIn(provider, "OWNER_KEY"), pool, "signer", "remove", signer);
      else await expel(walletIn(provider, "SENDER_KEY", "OWNER_KEY"), pool, signer);
    } catch (error) {
      throw explained(error);
    }
    const left = (await readSigners(provider, pool, fromBlock)).filter(
      ({ standing }) => standing === "admitted",
    );
    say(`${String(left.length)} remain: ${left.map((one) => getAddress(one.signer)).join(", ") || "nobody"}`);
    const what = known === undefined ? "was never registered, and never will be" : "is removed, permanently";
    return { data: { signer: name, standing: "removed" }, text: `${name} ${what}` };
  });
}

async function expel(sender: ReturnType<typeof walletIn>, pool: Address, signer: Address): Promise<void> {
  const contract = new Contract(pool, POOL_ABI, sender);
  try {
    await ((await contract.getFunction("expel")(signer)) as { wait(): Promise<unknown> }).wait();
  } catch (error) {
    throw PoolRefused.in(error) ?? error;
  }
}

async function list(values: Values): Promise<Result> {
  return withPool(values, async ({ provider, pool, fromBlock }) => {
    const signers = (await readSigners(provider, pool, fromBlock)).map(
      ({ signer, standing, image, kind }) => ({
        ...{ signer: getAddress(signer), standing, image: image ?? null, kind: kind ?? null },
      }),
    );
    const text = signers.map(({ signer, standing, image, kind }) =>
      [
        signer,
        standing,
        image === null ? "never registered" : `verifier ${String(kind)} of image ${image}`,
      ].join("\t"),
    );
    return { data: { signers }, text: text.length === 0 ? "none" : text.join("\n") };
  });
}

// ---------------------------------------------------------------- what they are given

interface Given {
  readonly configuration: Configuration;
  readonly text: string;
}

/** At least one; `programs` says whose, where development's own are meant. */
async function configurationsOf(values: Values, programs: readonly ProgramName[]): Promise<Given[]> {
  const isDevelopment = values.development === true;
  const files = values.configuration ?? [];
  if (files.length === 0 && !isDevelopment) need(undefined, "--configuration FILE");
  const texts =
    files.length === 0
      ? programs.map((program) => developmentConfiguration(undefined, program))
      : files.map((file) => readFile(file, "utf8"));
  const given: Given[] = [];
  for (const text of await Promise.all(texts)) {
    const configuration = parseConfiguration(text);
    if (!isDevelopment) await refuseDevelopment(configuration);
    given.push({ configuration, text });
  }
  return given;
}

/** The one that the document names; the first for a document that names none, which the pool refuses in its own words. */
function configurationNamed(document: Uint8Array, given: readonly Given[]): Configuration {
  const { userData } = readAttestation(document) ?? {};
  const claims = userData === undefined ? undefined : decodeUserData(userData);
  const named = given.find(({ configuration }) => configuration.hash === claims?.configurationHash);
  return (named ?? given[0]!).configuration;
}

async function measurementOf(
  values: Values,
  configuration: string,
): Promise<BirthPolicy["measurements"][number]> {
  return values.measurement === undefined && values.development === true
    ? measureImage(ENCLAVE_FOLDER, { configuration, program: programNamed(values.program) })
    : readMeasurement(await readFile(need(values.measurement, "--measurement FILE"), "utf8"));
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

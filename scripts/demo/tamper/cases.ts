// The cases of the tamper demonstration. Each does what an attacker would do with full control of the host, and
// says what every party answered beside what it must answer; controls show that the honest way works at that very place.
import { constants, publicEncrypt, randomBytes } from "node:crypto";
import { computeAddress, SigningKey } from "ethers";
import { COURIER_FAULTS } from "../../../proxy/api/enclave-link/key-courier.ts";
import type { EnclaveLink } from "../../../proxy/api/enclave-link/link.ts";
import { readPair, type SignerPair } from "../../../proxy/api/enclave-link/signer-pair.ts";
import { ZERO_BYTES32, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { mustFromHex, concatBytes } from "../../../shared/protocol/bytes.ts";
import { BIRTH_FAULTS, BirthRefused, makePair, pairFault, type BirthFault } from "../../operator/birth.ts";
import { act } from "../../operator/admissions.ts";
import { readSigners } from "../../operator/pool-signers.ts";
import { makeRoot } from "../../image/certificates.ts";
import type { SimulatedEnclaveOptions } from "../../stand-ins/platform/main.ts";
import { disagreement } from "./disagreement.ts";
import type { Chapter, Journey } from "../story.ts";
import { TamperStage } from "./stage.ts";
import { DEVELOPMENT_KEY_ARN } from "../../image/development-keys.ts";

export const showTamper: Journey = async (story, parties) => {
  const stage = await TamperStage.on(story.say);
  parties.add({ stop: () => stage.close() });
  for (const { name, attack, play } of CASES)
    await story.chapter(name, { attack }, (chapter) => play(chapter, stage));
};

interface Case {
  readonly name: string;
  /** What the attacker does, in a line. */
  readonly attack: string;
  readonly play: (chapter: Chapter, stage: TamperStage) => Promise<void>;
}

const CASES: readonly Case[] = [
  { name: "nothing tampered with", attack: "none: the enclave as it is built", play: honest },
  { name: "one byte changed", attack: "the image is another", play: oneByte },
  {
    name: "a substituted key",
    attack: "a key of the attacker's own, sealed to the public KMS key in the right form; KMS opens it",
    play: substitutedKey,
  },
  {
    name: "a birth certificate of another sealed key",
    attack: "two true births of this image, the sealed key of one with the certificate of the other",
    play: otherBirthCertificate,
  },
  {
    name: "a debug-mode document",
    attack: "the true image started in debug mode, where its host reads its memory",
    play: (chapter, stage) =>
      bornElsewhere(chapter, stage, { debugMode: true }, [
        "DEBUG_MODE",
        "KMS_DENIED",
        "AccessDeniedException",
      ]),
  },
  {
    name: "a foreign root",
    attack: "the true image on a platform that signs its documents under a root of the attacker's",
    play: (chapter, stage) =>
      bornElsewhere(chapter, stage, { root: makeRoot(new Date()) }, [
        "ROOT_UNKNOWN",
        "KMS_DOCUMENT_REFUSED",
        "ValidationException",
      ]),
  },
  {
    name: "a registration",
    attack: "a stranger registers signers, of the true image and of others, without the pool's owner",
    play: registration,
  },
  {
    name: "two verifiers, one of them wrong",
    attack: "a proof of another statement, where the second verifier's program takes every pairing for true",
    play: (chapter, stage) => disagreement(chapter, stage.say),
  },
  {
    name: "a complete old pair",
    attack: "sealed key and birth certificate of a signer that was removed, at the true image",
    play: oldPair,
  },
];

async function honest(chapter: Chapter, stage: TamperStage): Promise<void> {
  const { signer } = await pairOf(stage);
  chapter.is("the proxy's health", await stage.healthSays("ok"), "ok");
  chapter.is("a real deposit is attested by", await stage.attestThroughProxy(), signer);
}

async function oneByte(chapter: Chapter, stage: TamperStage): Promise<void> {
  const { KMS_DENIED } = COURIER_FAULTS;
  const { signer } = await pairOf(stage);
  const { folder, what } = await stage.copyWithOneByteChanged();
  chapter.attack = `${what}, is another`;
  const { measurement } = await stage.replaceEnclave({ enclaveFolder: folder });
  chapter.is("its measurement is another", String(measurement.pcr0 !== stage.image.measurement.pcr0), "true");
  chapter.says("the proxy's health", await stage.healthSays(KMS_DENIED), KMS_DENIED);
  const words = await stage.kmsRefusalLogged();
  chapter.says("KMS's error in the proxy's log", words, "AccessDeniedException");
  chapter.says("which statement of the key policy", words, "NoDecryptForAnotherImage");
  const signing = await signedBy(stage, stage.linkToNetwork());
  chapter.is("the changed enclave, asked to sign", signing, "WRONG_PHASE");
  chapter.is("the proxy, asked to have it signed", await stage.attestThroughProxy(), "ENCLAVE_UNAVAILABLE");

  // The proxy ran on all the while.
  await stage.replaceEnclave();
  chapter.is("control: the unchanged enclave in its place, health", await stage.healthSays("ok"), "ok");
  chapter.is("control: the same deposit is attested by", await stage.attestThroughProxy(), signer);
}

async function substitutedKey(chapter: Chapter, stage: TamperStage): Promise<void> {
  const pair = await pairOf(stage);
  const { link } = await stage.extraEnclave();
  const forged = { ...pair, ...sealOwnKey(stage) };
  await refusedByEnclave(chapter, stage, link, forged, "SIGNER_MISMATCH");
  const { outcome } = await stage.carry(link, pair);
  chapter.is("control: the true pair at the same enclave", outcome, "restored");
}

async function otherBirthCertificate(chapter: Chapter, stage: TamperStage): Promise<void> {
  const pair = await pairOf(stage);
  const { link } = await stage.extraEnclave();
  const other = await birth(stage, link);
  const mixed = { ...other, sealedKey: pair.sealedKey };
  await refusedByEnclave(chapter, stage, link, mixed, "SEALED_KEY_MISMATCH");
  const { outcome } = await stage.carry(link, other);
  chapter.is("control: that certificate with its own sealed key", outcome, "restored");
}

/** A key that is born where it should not: the operator, KMS and a true enclave each refuse it. */
async function bornElsewhere(
  chapter: Chapter,
  stage: TamperStage,
  platformOptions: Pick<SimulatedEnclaveOptions, "root" | "debugMode">,
  [fault, courier, kmsError]: readonly [BirthFault, string, string],
): Promise<void> {
  const { link, platform } = await stage.extraEnclave(platformOptions);
  const isTrueImage = platform.measurement.pcr0 === stage.image.measurement.pcr0;
  chapter.is("its measurement is the true one", String(isTrueImage), "true");
  const refusal = await birth(stage, link).then(
    () => "a pair",
    (error: unknown) => (error instanceof BirthRefused ? error.code : String(error)),
  );
  chapter.is("the operator, shown a birth there", refusal, fault);

  const errand = await stage.carry(link, await pairOf(stage));
  chapter.is("the courier, sent from there with the true pair", errand.outcome, courier);
  chapter.says("KMS's error", errand.kms, kmsError);
  chapter.says("KMS's reason", errand.kms, fault);

  const pair = await bornUnverified(stage, link);
  const { link: honestLink } = await stage.extraEnclave();
  const { outcome } = await stage.carry(honestLink, pair);
  chapter.is("a true enclave, given what was born there", outcome, "RESTORE_REFUSED");
  await whyAndUnsigned(chapter, stage, honestLink, pair, fault, "that enclave, asked to sign");
}

/** Whose signer comes in is nobody's word: of the true image anybody's, and of no other anybody's. */
async function registration(chapter: Chapter, stage: TamperStage): Promise<void> {
  const { link } = await stage.extraEnclave();
  const { signer, birthCertificate } = await birth(stage, link);
  const bent = birthCertificate.map((byte, i) => (i === birthCertificate.length - 1 ? byte ^ 1 : byte));
  chapter.is("its document with one bit changed", await stage.register(bent), "SignatureInvalid");
  chapter.is(
    "its document with a byte behind it",
    await stage.register(concatBytes(birthCertificate, Uint8Array.of(0))),
    "DocumentMalformed",
  );
  chapter.is(
    "the same under another KMS key",
    await stage.register(birthCertificate, ZERO_BYTES32),
    "ConfigurationMismatch",
  );

  const { folder: enclaveFolder } = await stage.copyWithOneByteChanged();
  const others = [
    ["an image with one byte changed", { enclaveFolder }, "ImageNotAdmitted"],
    ["an enclave in debug mode", { debugMode: true }, "DebugMode"],
    ["a platform of another root", { root: makeRoot(new Date()) }, "RootUnknown"],
  ] as const;
  for (const [what, options, refusal] of others) {
    const born = await bornUnverified(stage, (await stage.extraEnclave(options)).link);
    chapter.is(what, await stage.register(born.birthCertificate), refusal);
  }
  const old = await birthFor(stage, new Uint8Array(randomBytes(32)));
  chapter.is("a document made for no block", await stage.register(old), "NonceMismatch");

  chapter.is(
    "control: the document as it came, sent by a stranger",
    await stage.register(birthCertificate),
    signer,
  );
  chapter.is("its standing in the pool", await standingOf(stage, signer), "admitted");
  chapter.is("the same once more", await stage.register(birthCertificate), "SignerRegisteredBefore");
}

/** Of the true image, for a nonce of one's own. */
async function birthFor(stage: TamperStage, challenge: Uint8Array): Promise<Uint8Array> {
  const { link } = await stage.extraEnclave();
  return (await makePair(link, { ...policyOf(stage), challenge }, DEVELOPMENT_KEY_ARN)).birthCertificate;
}

async function oldPair(chapter: Chapter, stage: TamperStage): Promise<void> {
  const old = await pairOf(stage);
  const { link } = await stage.extraEnclave();
  const successor = await birth(stage, link);
  await rotate(stage, successor, old.signer);

  await stage.replaceEnclave();
  chapter.is("the old pair at a fresh enclave, the proxy's health", await stage.healthSays("ok"), "ok");
  const signature = await stage.attestAt(stage.linkToNetwork());
  const signing = typeof signature === "string" ? signature : "signed";
  chapter.is("the restored enclave signs again", signing, "signed");
  if (typeof signature !== "string")
    chapter.is("the pool", await stage.execute(signature), `SignerUnknown(${old.signer})`);
  chapter.is("its standing in the pool", await standingOf(stage, old.signer), "removed");
  // Even with a document that its enclave makes now.
  const live = await stage.liveDocument(stage.linkToNetwork());
  chapter.is("registering it again", await stage.register(live), "SignerRemovedBefore");
  chapter.is("the proxy, asked to have it signed", await stage.attestThroughProxy(), "ENCLAVE_UNAVAILABLE");

  chapter.is("control: its successor", (await stage.carry(link, successor)).outcome, "restored");
  const accepted = await stage.attestAt(link);
  chapter.is(
    "control: the pool, with the successor's signature over the same deposit",
    typeof accepted === "string" ? accepted : await stage.execute(accepted),
    "Executed",
  );
}

// ---------------------------------------------------------------- pieces

function pairOf(stage: TamperStage): Promise<SignerPair> {
  return readPair(stage.network.folder.secrets.path("signer.json"));
}

function policyOf({ image }: TamperStage) {
  return { configuration: image.configuration, measurements: [image.measurement] };
}

async function signedBy(stage: TamperStage, link: EnclaveLink): Promise<string> {
  const answer = await stage.attestAt(link);
  return typeof answer === "string" ? answer : "SIGNED";
}

async function refusedByEnclave(
  chapter: Chapter,
  stage: TamperStage,
  link: EnclaveLink,
  pair: SignerPair,
  fault: BirthFault,
): Promise<void> {
  chapter.is("the enclave", (await stage.carry(link, pair)).outcome, "RESTORE_REFUSED");
  await whyAndUnsigned(chapter, stage, link, pair, fault, "the enclave, asked to sign");
}

/** The enclave answers every fault alike; which one it is, the same checks say outside. */
async function whyAndUnsigned(
  chapter: Chapter,
  stage: TamperStage,
  link: EnclaveLink,
  pair: SignerPair,
  expected: BirthFault,
  asked: string,
): Promise<void> {
  const fault = pairFault(pair, policyOf(stage));
  chapter.is("why", fault === undefined ? "no fault" : shown(fault), shown(expected));
  chapter.is(asked, await signedBy(stage, link), "WRONG_PHASE");
}

function shown(fault: BirthFault): string {
  return `${fault}: ${BIRTH_FAULTS[fault]}`;
}

async function birth(stage: TamperStage, link: EnclaveLink): Promise<SignerPair> {
  return makePair(link, { ...policyOf(stage), challenge: await stage.challenge() }, DEVELOPMENT_KEY_ARN);
}

/** What an enclave gives at genesis, taken without a look. */
async function bornUnverified(stage: TamperStage, link: EnclaveLink): Promise<SignerPair> {
  const reply = await link.ask({ type: "genesis", challenge: await stage.challenge() });
  if (reply.type !== "genesis") throw new Error("no genesis");
  const { sealedKey, birthCertificate } = reply;
  return { ...(await pairOf(stage)), sealedKey, birthCertificate };
}

/** The plaintext as genesis seals it (enclave/signer.ts), with a secret that the attacker knows. */
function sealOwnKey({ image }: TamperStage): Pick<SignerPair, "signer" | "sealedKey"> {
  const secret = new Uint8Array(randomBytes(32));
  const signer = asAddress(computeAddress(new SigningKey(secret)))!;
  const plaintext = concatBytes(
    new TextEncoder().encode("cloister-signing-key"),
    Uint8Array.of(1),
    mustFromHex(signer),
    mustFromHex(image.configuration.hash),
    secret,
  );
  const key = image.configuration.kmsPublicKey;
  const sealed = publicEncrypt(
    { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" },
    plaintext,
  );
  return { signer, sealedKey: new Uint8Array(sealed) };
}

/** As `operator signer register` and `remove` do it: the new one in, only then the old one out. */
async function rotate(stage: TamperStage, successor: SignerPair, old: Address): Promise<void> {
  const fault = pairFault(successor, policyOf(stage));
  if (fault !== undefined) throw new BirthRefused(fault, BIRTH_FAULTS[fault]);
  const registered = await stage.register(successor.birthCertificate);
  if (registered !== successor.signer) throw new Error(`not registered: ${registered}`);
  await act(await stage.owner(), stage.pool, "signer", "remove", old);
}

async function standingOf(stage: TamperStage, wanted: Address): Promise<string> {
  const signers = await readSigners(stage.chain, stage.pool);
  return signers.find(({ signer }) => signer === wanted)?.standing ?? "unknown";
}

/**
 * Carries keys: an enclave that has booted asks for its signing key with an attestation document, KMS answers
 * with an envelope that only this enclave opens, and the courier brings it back. It holds no secret: what it
 * carries is sealed both ways, and the enclave itself refuses a key that was not born in its own image.
 * The only file that knows KMS; the host's credential comes from where the AWS client looks for it.
 */
import { randomInt } from "node:crypto";
import { DecryptCommand, KMSClient, KMSServiceException } from "@aws-sdk/client-kms";
import type { Address } from "../../../shared/protocol/brands.ts";
import type { EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import type { Logger } from "../../base/logging.ts";
import { EnclaveUnreachable, type EnclaveLink } from "./link.ts";
import { releaseStep, type ReleaseStep } from "./release-step.ts";
import { readPair, type SignerPair } from "./signer-pair.ts";

/** Why an enclave has no key yet. Shown to callers of /health: no upstream text, nothing of the host. */
export const COURIER_FAULTS = {
  ENCLAVE_AWAY: "it does not answer",
  ENCLAVE_HALTED: "it has halted and must be started again",
  ENCLAVE_REFUSED: "it does not ask for its key",
  NO_PAIR: "no signer's pair is configured for it",
  PAIR_UNREADABLE: "its signer's pair cannot be read",
  KMS_AWAY: "KMS cannot be reached",
  KMS_CREDENTIAL_REFUSED: "KMS does not accept the host's credential",
  KMS_DENIED: "KMS denies the key to this enclave",
  KMS_DOCUMENT_REFUSED: "KMS does not accept the enclave's attestation document",
  KMS_KEY_UNUSABLE: "the KMS key of the signer's pair is missing, disabled or another",
  KMS_REPLY_UNFIT: "KMS answered with something else than was asked for",
  RESTORE_REFUSED: "it refuses the key that was released to it",
} as const;
export type CourierFaultCode = keyof typeof COURIER_FAULTS;

export class CourierFault extends Error {
  readonly code: CourierFaultCode;
  /** Of RESTORE_REFUSED, for the operator's log alone. */
  readonly step: ReleaseStep | undefined;
  constructor(code: CourierFaultCode, { step, ...options }: ErrorOptions & { step?: ReleaseStep } = {}) {
    super(COURIER_FAULTS[code], options);
    this.name = "CourierFault";
    this.code = code;
    this.step = step;
  }
}

// ---------------------------------------------------------------- KMS

export interface KeyRelease {
  /** `CiphertextForRecipient` for the enclave behind `document`. Throws CourierFault, also when `signal` ends it. */
  open(pair: SignerPair, document: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
  close(): void;
}

export interface KmsOptions {
  readonly region: string;
  /** Default: AWS's own of that region. */
  readonly endpoint?: string | undefined;
  /** Default: the AWS client's own search (environment, container, instance role). */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

/** What the key is asked for and has to answer with. */
const ALGORITHM = "RSAES_OAEP_SHA_256";
const CONNECT_MS = 3_000;
const REQUEST_MS = 10_000;

export function createKeyRelease({ region, endpoint, credentials }: KmsOptions): KeyRelease {
  const client = new KMSClient({
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(credentials === undefined ? {} : { credentials }),
    // The courier tries again itself, with a fresh document.
    maxAttempts: 1,
    requestHandler: {
      connectionTimeout: CONNECT_MS,
      requestTimeout: REQUEST_MS,
      throwOnRequestTimeout: true,
    },
  });
  return {
    async open({ sealedKey, kmsKeyId }, document, signal) {
      const command = new DecryptCommand({
        CiphertextBlob: sealedKey,
        KeyId: kmsKeyId,
        EncryptionAlgorithm: ALGORITHM,
        Recipient: { AttestationDocument: document, KeyEncryptionAlgorithm: ALGORITHM },
      });
      const options = signal === undefined ? {} : { abortSignal: signal };
      const reply = await client.send(command, options).catch((cause: unknown) => {
        throw new CourierFault(faultOf(cause), { cause });
      });
      // Hygiene: what the enclave relies on is the birth certificate. A plaintext must never come this way.
      const { KeyId, EncryptionAlgorithm, CiphertextForRecipient: envelope, Plaintext } = reply;
      const isAsAsked = KeyId === kmsKeyId && EncryptionAlgorithm === ALGORITHM;
      if (!isAsAsked || envelope === undefined || envelope.length === 0 || (Plaintext?.length ?? 0) > 0)
        throw new CourierFault("KMS_REPLY_UNFIT");
      return envelope;
    },
    close: () => client.destroy(),
  };
}

/** KMS's error names, and those of AWS's front for every service. */
const FAULT_OF_ERROR: Readonly<Record<string, CourierFaultCode>> = {
  AccessDeniedException: "KMS_DENIED",
  ValidationException: "KMS_DOCUMENT_REFUSED",
  NotFoundException: "KMS_KEY_UNUSABLE",
  DisabledException: "KMS_KEY_UNUSABLE",
  KMSInvalidStateException: "KMS_KEY_UNUSABLE",
  InvalidKeyUsageException: "KMS_KEY_UNUSABLE",
  IncorrectKeyException: "KMS_KEY_UNUSABLE",
  InvalidCiphertextException: "KMS_KEY_UNUSABLE",
  UnrecognizedClientException: "KMS_CREDENTIAL_REFUSED",
  InvalidSignatureException: "KMS_CREDENTIAL_REFUSED",
  MissingAuthenticationTokenException: "KMS_CREDENTIAL_REFUSED",
  ExpiredTokenException: "KMS_CREDENTIAL_REFUSED",
  /** The AWS client found no credential at all. */
  CredentialsProviderError: "KMS_CREDENTIAL_REFUSED",
};

function faultOf(error: unknown): CourierFaultCode {
  return (error instanceof Error ? FAULT_OF_ERROR[error.name] : undefined) ?? "KMS_AWAY";
}

// ---------------------------------------------------------------- one errand

/** Brings an enclave that is booting its key. Throws CourierFault. */
export async function restoreEnclave(
  link: Pick<EnclaveLink, "ask">,
  pair: SignerPair,
  release: Pick<KeyRelease, "open">,
  signal?: AbortSignal,
): Promise<Address> {
  const asked = await link.ask({ type: "release-request" }).catch(awayFault);
  if (asked.type !== "release-request") throw new CourierFault("ENCLAVE_REFUSED");
  const envelope = await release.open(pair, asked.document, signal);
  const { sealedKey, birthCertificate } = pair;
  const restored = await link
    .ask({ type: "restore", sealedKey, birthCertificate, envelope })
    .catch(awayFault);
  if (restored.type !== "restore") {
    const step = releaseStep(pair, { document: asked.document, envelope });
    throw new CourierFault("RESTORE_REFUSED", { step });
  }
  return restored.signer;
}

function awayFault(cause: unknown): never {
  if (cause instanceof EnclaveUnreachable) throw new CourierFault("ENCLAVE_AWAY", { cause });
  throw cause;
}

// ---------------------------------------------------------------- on duty

export interface Errand {
  readonly link: Pick<EnclaveLink, "ask">;
  /** Read again at every try, so that a pair may be put there while the proxy runs. Undefined: none is configured. */
  readonly pairFile: string | undefined;
}

export interface KeyCourier {
  start(): void;
  /** Waits for no KMS: what it was asked is asked again by the next start. An enclave ends with its link. */
  stop(): Promise<void>;
  /** By enclave in order of configuration; undefined where nothing is wrong, or not known yet. */
  faults(): readonly (CourierFaultCode | undefined)[];
}

export interface CourierOptions {
  /** How often an enclave that serves is looked at: it may be exchanged for one that boots. */
  readonly watchMs?: number;
  /** After a first failure; it doubles up to `maxWaitMs`. */
  readonly minWaitMs?: number;
  readonly maxWaitMs?: number;
  /** In [0, 1). */
  readonly random?: () => number;
}

/** Watches over every enclave for as long as the proxy runs. `release` is undefined when no KMS is configured. */
export function createKeyCourier(
  errands: readonly Errand[],
  release: KeyRelease | undefined,
  logger: Logger,
  options: CourierOptions = {},
): KeyCourier {
  const { watchMs = 2_000, minWaitMs = 500, maxWaitMs = 15_000, random = anyShare } = options;
  const faults: (CourierFaultCode | undefined)[] = errands.map(() => undefined);
  const leaving = new AbortController();
  const hasLeft = (): boolean => leaving.signal.aborted;
  let duties: readonly Promise<void>[] = [];

  async function look({ link, pairFile }: Errand, enclave: number): Promise<void> {
    const status: EnclaveReply = await link.ask({ type: "status" }).catch(awayFault);
    if (status.type !== "status") throw new CourierFault("ENCLAVE_REFUSED");
    if (status.phase === "halted") throw new CourierFault("ENCLAVE_HALTED");
    if (status.phase === "serving") return;
    if (pairFile === undefined || release === undefined) throw new CourierFault("NO_PAIR");
    const pair = await readPair(pairFile).catch((cause: unknown) => {
      throw new CourierFault("PAIR_UNREADABLE", { cause });
    });
    const signer = await restoreEnclave(link, pair, release, leaving.signal);
    logger.info({ enclave, signer }, "an enclave has its key");
    if (signer !== pair.signer) logger.error({ enclave, signer }, "its pair's file names another signer");
  }

  async function watch(errand: Errand, enclave: number): Promise<void> {
    let failures = 0;
    while (!hasLeft()) {
      const fault = await look(errand, enclave).then(
        () => undefined,
        (error: unknown) => error,
      );
      // What a stop cut off says nothing about enclave or KMS.
      if (hasLeft()) return;
      const before = faults[enclave];
      if (fault === undefined) {
        faults[enclave] = undefined;
        failures = 0;
      } else if (fault instanceof CourierFault) {
        faults[enclave] = fault.code;
        // A new reason is tried again soon: the old one is gone.
        failures = fault.code === before ? failures + 1 : 1;
        if (failures === 1) logger.warn({ enclave, ...detailsOf(fault) }, "an enclave has no key");
      } else {
        // A fault of our own must not end the watch over this enclave.
        failures += 1;
        logger.error({ err: fault, enclave }, "the key courier failed");
      }
      // Looking at a socket costs nothing; only what may burden KMS or the enclave is put off longer and longer.
      const isIdle = failures === 0 || faults[enclave] === "ENCLAVE_AWAY";
      // An enclave waits for one envelope at a time: couriers of several proxies that came to it together would spoil each
      // other's errand again at every try, if both waited as long.
      const wait = isIdle ? watchMs : Math.min(minWaitMs * 2 ** (failures - 1), maxWaitMs) * (0.5 + random());
      await pause(wait, leaving.signal);
    }
  }

  return {
    start() {
      duties = errands.map(watch);
    },
    async stop() {
      leaving.abort();
      await Promise.all(duties);
      release?.close();
    },
    faults: () => faults,
  };
}

/** For the operator's log: KMS's own words name the caller's role and the statement that denied. */
function detailsOf({ code, message, step, cause }: CourierFault): Readonly<Record<string, string>> {
  const kms = cause instanceof KMSServiceException ? { kms: `${cause.name}: ${cause.message}` } : {};
  return { code, reason: message, ...(step === undefined ? {} : { step }), ...kms };
}

const anyShare = (): number => randomInt(1_000) / 1_000;

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener("abort", end);
  });
}

/**
 * Whether the enclaves of a service run a program that this client was told to trust. The service is not believed:
 * a fresh nonce in a document that leads to a pinned root says that this measurement runs now and holds this signer.
 */
import { base64 } from "@scure/base";
import type { Info } from "../../api/service.ts";
import {
  verifyAttestation,
  type AttestationFault,
  type Measurement,
} from "../../protocol/attestation-document.ts";
import type { Address } from "../../protocol/brands.ts";
import { asAddress } from "../../protocol/host/text.ts";
import { ClientError } from "./errors.ts";

export interface EnclavePins {
  /** PCR0 to PCR2 of each image that may run, as `npm run measure -- --json` prints them. Both images while one replaces the other. */
  readonly measurements: readonly Measurement[];
  /** SHA-256 (hex) of the root certificates that may vouch. Default: AWS's. */
  readonly roots?: readonly string[];
}

/** SHA-256 of AWS's Nitro Enclaves root certificate G1, as AWS publishes it. */
export const AWS_NITRO_ROOT = "641a0321a3e244efe456463195d606317ed7cdcc3c1756e09893f3c68f79bb5b";

/** Of the nonce, in bytes: nobody has seen it before. */
export const NONCE_LENGTH = 32;

/** An enclave that has just proved itself. */
export interface ProvedEnclave {
  readonly signer: Address;
  /** Undefined where nothing is pinned (`"unverified"`): its document was not looked at. */
  readonly measurement: Measurement | undefined;
}

/**
 * Throws ENCLAVE_UNVERIFIED unless as many enclaves as the pool asks signatures of have proved themselves, and
 * none that the pool accepts has failed to; CLOCK_WRONG when only the time stands in the way. `info` is the answer
 * to `nonce`.
 */
export function checkEnclaves(
  { measurements, roots = [AWS_NITRO_ROOT] }: EnclavePins,
  info: Info,
  nonce: Uint8Array,
  nowMs: number,
): ProvedEnclave[] {
  const accepted = info.enclaves.filter((enclave) => enclave.accepted);
  const proved = new Map<Address, ProvedEnclave>();
  for (const { signer, attestation } of accepted) {
    const document = documentOf(attestation);
    const policy = { roots, measurements, nonce, type: "live" } as const;
    const verdict = verifyAttestation(document, { ...policy, at: nowMs });
    if (typeof verdict === "string" && OF_THE_CLOCK.has(verdict))
      throw clockOrFault(verifyAttestation(document, { ...policy, at: "its own time" }), nowMs);
    if (typeof verdict === "string") throw unverified(verdict);
    const { claims, measurement } = verdict;
    if (claims?.type !== "live" || claims.signer !== asAddress(signer)) throw unverified("another signer");
    // A signer counts once, however often it is listed.
    proved.set(claims.signer, { signer: claims.signer, measurement });
  }
  if (proved.size < Math.max(info.threshold, 1)) throw unverified("too few enclaves answer");
  return [...proved.values()];
}

/** Those that count by the service's own word. */
export function acceptedEnclaves(info: Info): ProvedEnclave[] {
  const signers = info.enclaves.filter(({ accepted }) => accepted).map(({ signer }) => asAddress(signer));
  return [...new Set(signers)].flatMap((signer) =>
    signer === undefined ? [] : [{ signer, measurement: undefined }],
  );
}

const OF_THE_CLOCK: ReadonlySet<AttestationFault> = new Set([
  "CERTIFICATE_EXPIRED",
  "CERTIFICATE_NOT_YET_VALID",
  "FROM_FUTURE",
]);

/**
 * Certificates that are not valid now, or a document from the future. The document answers a nonce of a moment ago: if
 * nothing is wrong with it at its own time, then that time is now, and it is this device's clock that is wrong.
 */
function clockOrFault(atItsOwnTime: ReturnType<typeof verifyAttestation>, nowMs: number): ClientError {
  if (typeof atItsOwnTime === "string") return unverified(atItsOwnTime);
  const aheadSecs = Math.round((nowMs - atItsOwnTime.timestampMs) / 1000);
  const size = `${Math.abs(aheadSecs)} seconds ${aheadSecs < 0 ? "behind" : "ahead"}`;
  return new ClientError("CLOCK_WRONG", `it is ${size}; set it, then try again`);
}

/** Empty, and so malformed, for what is no base64. */
function documentOf(text: string): Uint8Array {
  try {
    return base64.decode(text);
  } catch {
    return new Uint8Array(0);
  }
}

function unverified(reason: AttestationFault | "another signer" | "too few enclaves answer"): ClientError {
  return new ClientError("ENCLAVE_UNVERIFIED", reason);
}

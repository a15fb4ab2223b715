// Attestation documents of the simulated platform with a recipient's key in them, without an enclave.
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { decodeAttestationReply, encodeAttestationRequest } from "../../../../../enclave/nsm.ts";
import type { Authority } from "../../../../../scripts/image/certificates.ts";
import { developmentRoot } from "../../../../../scripts/image/development-keys.ts";
import { simulatedModule } from "../../../../../scripts/stand-ins/platform/nsm.ts";
import type { Measurement } from "../../../../../scripts/image/measurement.ts";

export const MEASUREMENT = { pcr0: "a0".repeat(48), pcr1: "b1".repeat(48), pcr2: "c2".repeat(48) };

export interface Recipient {
  readonly privateKey: KeyObject;
  /** DER. */
  readonly spki: Uint8Array;
}

export function aRecipient(): Recipient {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  return { privateKey, spki: new Uint8Array(spki) };
}

export function documentFor(
  recipient: Recipient,
  {
    measurement = MEASUREMENT,
    root = developmentRoot(),
  }: { readonly measurement?: Measurement; readonly root?: Authority } = {},
): Uint8Array {
  const request = { userData: Uint8Array.of(1), publicKey: recipient.spki };
  const reply = simulatedModule(root, measurement).answer(encodeAttestationRequest(request));
  const document = decodeAttestationReply(reply);
  if (document === undefined) throw new Error("the simulated module gave no document");
  return document;
}

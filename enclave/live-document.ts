/** A fresh attestation document: this measurement runs, and holds this signer, at the time of this nonce. */
import { NONCE_BYTES, type EnclaveReply } from "../shared/protocol/enclave-messages.ts";
import type { Tools } from "./phase.ts";
import { encodeUserData } from "./user-data.ts";
import { CONFIGURATION_HASH } from "./verification-keys.ts";

export async function liveDocument(
  { platform, signer }: Pick<Tools, "platform" | "signer">,
  nonce: Uint8Array,
): Promise<EnclaveReply> {
  // A short nonce could be guessed beforehand, and an old document shown as a fresh one.
  if (nonce.length < NONCE_BYTES.min || nonce.length > NONCE_BYTES.max) {
    return { type: "refused", code: "NONCE_INVALID" };
  }
  const userData = encodeUserData({
    type: "live",
    signer: signer.address,
    configurationHash: CONFIGURATION_HASH,
  });
  const document = await platform.attestationDocument({ nonce, userData });
  return document === undefined
    ? { type: "refused", code: "PLATFORM_UNAVAILABLE" }
    : { type: "attestation", document };
}

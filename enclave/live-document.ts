/** A fresh attestation document: this measurement runs, and holds this signer, at the time of this nonce. */
import { isNonce, refused, type EnclaveReply } from "../shared/protocol/enclave-messages.ts";
import { encodeUserData } from "../shared/protocol/user-data.ts";
import type { ServingParts } from "./phase.ts";

export async function liveDocument(
  { platform, configuration, signer }: Pick<ServingParts, "platform" | "configuration" | "signer">,
  nonce: Uint8Array,
): Promise<EnclaveReply> {
  if (!isNonce(nonce)) return refused("NONCE_INVALID");
  const userData = encodeUserData({
    type: "live",
    signer: signer.address,
    configurationHash: configuration.hash,
  });
  const document = await platform.attestationDocument({ nonce, userData });
  return document === undefined ? refused("PLATFORM_UNAVAILABLE") : { type: "attestation", document };
}

/**
 * Makes a signing key that exists from then on only sealed to the KMS key of this configuration, and the birth
 * certificate without which no enclave restores it. Nothing of either is chosen by the caller but the challenge.
 */
import { isNonce, refused, type EnclaveReply } from "../shared/protocol/enclave-messages.ts";
import { sha256Hex } from "../shared/protocol/hash.ts";
import { encodeUserData } from "../shared/protocol/user-data.ts";
import type { BootingParts } from "./phase.ts";
import { makeSealedKey } from "./signer.ts";

export async function genesis(
  { platform, configuration }: Pick<BootingParts, "platform" | "configuration">,
  challenge: Uint8Array,
): Promise<EnclaveReply> {
  // The challenge tells the registrar that this key was born after it was drawn.
  if (!isNonce(challenge)) return refused("NONCE_INVALID");
  const made = await makeSealedKey(platform, configuration);
  if (made === undefined) return refused("PLATFORM_UNAVAILABLE");
  const { signer, sealedKey } = made;
  const userData = encodeUserData({
    type: "genesis",
    signer,
    configurationHash: configuration.hash,
    sealedKeyHash: sha256Hex(sealedKey),
    kmsKeyHash: configuration.kmsKeyHash,
  });
  const birthCertificate = await platform.attestationDocument({ nonce: challenge, userData });
  return birthCertificate === undefined
    ? refused("PLATFORM_UNAVAILABLE")
    : { type: "genesis", sealedKey, birthCertificate };
}

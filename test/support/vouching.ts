// Attestation documents of an enclave that is only its documents: for the client, which sees nothing else of one.
// The development root, real COSE and certificates; what they say is chosen by the test.
import { createHash } from "node:crypto";
import { developmentRoot } from "../../scripts/image/development-keys.ts";
import type { Authority } from "../../scripts/image/certificates.ts";
import { simulatedModule } from "../../scripts/stand-ins/platform/nsm.ts";
import { decodeAttestationReply, encodeAttestationRequest } from "../../enclave/nsm.ts";
import type { EnclavePins } from "../../shared/client/index.ts";
import type { Measurement } from "../../shared/protocol/attestation-document.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { toBytes32 } from "../../shared/protocol/bytes.ts";
import { encodeUserData, type UserData } from "../../shared/protocol/user-data.ts";

export const MEASURED: Measurement = { pcr0: "a1".repeat(48), pcr1: "b2".repeat(48), pcr2: "c3".repeat(48) };
export const CONFIGURATION_HASH = toBytes32(new Uint8Array(32).fill(7));

export interface Vouching {
  readonly root?: Authority;
  readonly measurement?: Measurement;
  readonly type?: "live" | "release";
}

/** A document over `nonce`, as `/info` carries it: base64. */
export function voucher(signer: Address, nonce: Uint8Array, vouching: Vouching = {}): string {
  const { root = developmentRoot(), measurement = MEASURED, type = "live" } = vouching;
  const userData: UserData =
    type === "live"
      ? { type, signer, configurationHash: CONFIGURATION_HASH }
      : { type, configurationHash: CONFIGURATION_HASH };
  const request = encodeAttestationRequest({ nonce, userData: encodeUserData(userData) });
  const document = decodeAttestationReply(simulatedModule(root, measurement).answer(request));
  if (document === undefined) throw new Error("the module gives no document");
  return Buffer.from(document).toString("base64");
}

/** What a client pins that trusts such an enclave. */
export function vouchedPins(): EnclavePins {
  const root = createHash("sha256").update(developmentRoot().certificate).digest("hex");
  return { measurements: [MEASURED], roots: [root] };
}

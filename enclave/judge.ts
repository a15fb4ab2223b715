/**
 * What an image decides by. Two programs share everything in this folder but that: the first judges by attest.ts and
 * attest-root.ts, the second by the processes of another author's judge (second.ts). Whoever judges is given the key
 * that signs and says no word about anything else.
 */
import type { AttestRequest, AttestRootRequest, EnclaveReply } from "../shared/protocol/enclave-messages.ts";
import type { Configuration } from "./configuration.ts";
import type { Platform } from "./platform.ts";
import type { Signer } from "./signer.ts";

/** `payload` is what `request` was read from: a frame without version and length. */
export type Judge = (
  signer: Signer,
  request: AttestRequest | AttestRootRequest,
  payload: Uint8Array,
) => Promise<EnclaveReply>;

/** Rejects when there is nobody to judge. `text` is what the configuration was read from. */
export type OpenJudge = (platform: Platform, configuration: Configuration, text: string) => Promise<Judge>;

/**
 * The ephemeral RSA key for which KMS encrypts what a sealed key holds, and the document that tells KMS so. The
 * private half never leaves this process, and each opens at most one envelope.
 */
import { constants, generateKeyPairSync, privateDecrypt, type KeyObject } from "node:crypto";
import { refused, type EnclaveReply } from "../shared/protocol/enclave-messages.ts";
import { encodeUserData } from "../shared/protocol/user-data.ts";
import type { Configuration } from "./configuration.ts";
import type { Platform } from "./platform.ts";

export interface Release {
  readonly privateKey: KeyObject;
  /** SPKI DER. */
  readonly publicKey: Uint8Array;
  readonly document: Uint8Array;
}

export class Releases {
  /** At most one, however often the host asks. */
  #pending: Release | undefined;

  async request(
    platform: Pick<Platform, "attestationDocument">,
    configuration: Pick<Configuration, "hash">,
  ): Promise<EnclaveReply> {
    this.#pending = undefined;
    const pair = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const publicKey = pair.publicKey.export({ type: "spki", format: "der" });
    const userData = encodeUserData({ type: "release", configurationHash: configuration.hash });
    const document = await platform.attestationDocument({ userData, publicKey });
    if (document === undefined) return refused("PLATFORM_UNAVAILABLE");
    this.#pending = { privateKey: pair.privateKey, publicKey, document };
    return { type: "release-request", document };
  }

  /** Used up by being asked for, whatever comes of it: how an envelope fails to open can be learnt from once. */
  take(): Release | undefined {
    const release = this.#pending;
    this.#pending = undefined;
    return release;
  }
}

/** RSAES-OAEP with SHA-256, which Node takes for the label and for MGF1. Undefined for every fault alike. */
export function openRsa(key: KeyObject, sealed: Uint8Array): Uint8Array | undefined {
  try {
    const oaep = { key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: "sha256" };
    const { buffer, byteOffset, length } = privateDecrypt(oaep, sealed);
    // The same memory, so that the caller wipes all there is, and no Buffer, whose slices are no copies.
    return new Uint8Array(buffer, byteOffset, length);
  } catch {
    return undefined;
  }
}

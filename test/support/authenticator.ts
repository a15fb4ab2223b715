// A passkey authenticator in software: ES256, attestation "none", discoverable credentials, user verified. What a real one
// signs is what the WebAuthn specification says it signs, so the server's library judges it as any other.
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from "node:crypto";
import type {
  AuthenticationResponse,
  CreationOptions,
  RegistrationResponse,
  RequestOptions,
} from "../../proxy/dashboard/contract/passkeys.ts";

const PRESENT = 0x01;
const VERIFIED = 0x04;
const HAS_KEY = 0x40;

export interface Deviations {
  /** The page that asks. */
  readonly origin?: string;
  /** It stands in a frame of another origin's page. */
  readonly crossOrigin?: boolean;
  readonly topOrigin?: string;
  readonly isVerified?: boolean;
  readonly counter?: number;
  /** Instead of the one that was given out. */
  readonly challenge?: string;
}

export class Authenticator {
  readonly #origin: string;
  readonly #rpId: string;
  readonly credentialId = randomBytes(32);
  readonly #privateKey: KeyObject;
  readonly #point: { readonly x: Buffer; readonly y: Buffer };
  #userHandle = "";
  counter = 0;

  constructor(origin: string) {
    this.#origin = origin;
    this.#rpId = new URL(origin).hostname;
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { x = "", y = "" } = publicKey.export({ format: "jwk" });
    this.#privateKey = privateKey;
    this.#point = { x: Buffer.from(x, "base64url"), y: Buffer.from(y, "base64url") };
  }

  create({ challenge, user }: CreationOptions, deviations: Deviations = {}): RegistrationResponse {
    this.#userHandle = user.id;
    const clientData = this.#clientData("webauthn.create", challenge, deviations);
    const cose = Buffer.concat([
      Buffer.from("a5010203262001215820", "hex"),
      this.#point.x,
      Buffer.from("225820", "hex"),
      this.#point.y,
    ]);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(this.credentialId.length);
    const authData = Buffer.concat([
      this.#head(HAS_KEY, deviations),
      Buffer.alloc(16),
      ...[length, this.credentialId, cose],
    ]);
    const attestationObject = Buffer.concat([
      Buffer.from("a363666d74646e6f6e656761747453746d74a068617574684461746158", "hex"),
      Buffer.from([authData.length]),
      authData,
    ]);
    return {
      ...this.#credential(),
      response: {
        clientDataJSON: clientData.toString("base64url"),
        attestationObject: attestationObject.toString("base64url"),
        transports: ["internal"],
      },
    };
  }

  get({ challenge }: RequestOptions, deviations: Deviations = {}): AuthenticationResponse {
    this.counter = deviations.counter ?? this.counter + 1;
    const clientData = this.#clientData("webauthn.get", challenge, deviations);
    const authData = this.#head(0, deviations);
    const signed = Buffer.concat([authData, createHash("sha256").update(clientData).digest()]);
    return {
      ...this.#credential(),
      response: {
        clientDataJSON: clientData.toString("base64url"),
        authenticatorData: authData.toString("base64url"),
        signature: sign("sha256", signed, this.#privateKey).toString("base64url"),
        userHandle: this.#userHandle,
      },
    };
  }

  #credential() {
    const id = this.credentialId.toString("base64url");
    return { id, rawId: id, type: "public-key", clientExtensionResults: {} } as const;
  }

  #clientData(type: string, challenge: string, { challenge: other, ...page }: Deviations): Buffer {
    const { origin = this.#origin, crossOrigin = false, topOrigin } = page;
    const data = { type, challenge: other ?? challenge, origin, crossOrigin, topOrigin };
    return Buffer.from(JSON.stringify(data));
  }

  #head(flags: number, { isVerified = true }: Deviations): Buffer {
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(this.counter);
    const all = flags | PRESENT | (isVerified ? VERIFIED : 0);
    return Buffer.concat([createHash("sha256").update(this.#rpId).digest(), Buffer.from([all]), counter]);
  }
}

/**
 * Ceremonies with passkeys, over the WebAuthn library: what is asked of the browser, and what is believed of its answer.
 * User verification is required everywhere, since the passkey is all that stands before an account.
 */
import { randomUUID } from "node:crypto";
import {
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import { z } from "zod";
import {
  creationOptions,
  requestOptions,
  type AuthenticationResponse,
  type CreationOptions,
  type RegistrationResponse,
  type RequestOptions,
} from "./contract/passkeys.ts";
import type { Passkey } from "../base/store/accounts.ts";
import { DashboardError } from "./errors.ts";

export interface RelyingParty {
  readonly rpId: string;
  readonly origin: string;
  readonly name: string;
}

/** How long a browser may take, milliseconds; so long a challenge is kept. */
export const CEREMONY_MS = 300_000;

export class Passkeys {
  readonly #party: RelyingParty;
  readonly #now: () => number;

  constructor(party: RelyingParty, now: () => number) {
    this.#party = party;
    this.#now = now;
  }

  /** `userId` names the account to the authenticator, and no person. Passkeys that the account has are left out. */
  async creationOptions(
    userId: string,
    userName: string,
    passkeys: readonly Passkey[],
  ): Promise<CreationOptions> {
    const made = await generateRegistrationOptions({
      ...{ rpID: this.#party.rpId, rpName: this.#party.name, userName, userDisplayName: userName },
      userID: new Uint8Array(Buffer.from(userId, "utf8")),
      timeout: CEREMONY_MS,
      attestationType: "none",
      excludeCredentials: this.#known(passkeys),
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
    });
    return creationOptions.parse(made);
  }

  /** Undefined: any passkey of this origin (discoverable credentials). */
  async requestOptions(passkeys: readonly Passkey[] | undefined): Promise<RequestOptions> {
    const made = await generateAuthenticationOptions({
      rpID: this.#party.rpId,
      timeout: CEREMONY_MS,
      userVerification: "required",
      ...(passkeys === undefined ? {} : { allowCredentials: this.#known(passkeys) }),
    });
    return requestOptions.parse(made);
  }

  /** Throws PASSKEY_REFUSED. */
  async register(response: RegistrationResponse, challenge: string, name: string): Promise<Passkey> {
    requireOwnFrame(response.response);
    const verified = await refusing(() =>
      verifyRegistrationResponse({
        response: registrationOf(response),
        expectedChallenge: challenge,
        expectedOrigin: this.#party.origin,
        expectedRPID: this.#party.rpId,
        requireUserVerification: true,
      }),
    );
    if (!verified.verified) throw new DashboardError("PASSKEY_REFUSED");
    const { credential, credentialBackedUp } = verified.registrationInfo;
    // The library compares the two names that stand beside what is attested, and not with the attested one.
    if (credential.id !== response.id) throw new DashboardError("PASSKEY_REFUSED");
    return {
      id: randomUUID(),
      name,
      credentialId: credential.id,
      publicKey: credential.publicKey,
      counter: credential.counter,
      transports: [...(response.response.transports ?? [])],
      isSynced: credentialBackedUp,
      createdAt: new Date(this.#now()).toISOString(),
    };
  }

  /** The passkey as it is from now on. Throws PASSKEY_REFUSED, also for a counter that went back: a copied key. */
  async verify(
    { response, ...rest }: AuthenticationResponse,
    challenge: string,
    passkey: Passkey,
  ): Promise<Passkey> {
    const { userHandle, ...signed } = response;
    requireOwnFrame(signed);
    const verified = await refusing(() =>
      verifyAuthenticationResponse({
        response: {
          ...asLibrary(rest),
          response: {
            ...signed,
            ...(userHandle === undefined || userHandle === null ? {} : { userHandle }),
          },
        },
        expectedChallenge: challenge,
        expectedOrigin: this.#party.origin,
        expectedRPID: this.#party.rpId,
        requireUserVerification: true,
        credential: {
          id: passkey.credentialId,
          publicKey: new Uint8Array(passkey.publicKey),
          counter: passkey.counter,
        },
      }),
    );
    if (!verified.verified) throw new DashboardError("PASSKEY_REFUSED");
    const { newCounter, credentialBackedUp } = verified.authenticationInfo;
    return {
      ...passkey,
      counter: newCounter,
      isSynced: credentialBackedUp,
      lastUsedAt: new Date(this.#now()).toISOString(),
    };
  }

  #known(passkeys: readonly Passkey[]) {
    return passkeys.map(({ credentialId, transports }) => ({
      id: credentialId,
      transports: [...transports],
    }));
  }
}

/** The library's type has the field absent where browsers send null. */
function asLibrary<T extends Pick<AuthenticationResponse, "authenticatorAttachment">>({
  authenticatorAttachment: found,
  ...response
}: T) {
  return {
    ...response,
    ...(found === undefined || found === null ? {} : { authenticatorAttachment: found }),
  };
}

function registrationOf({ response: { transports, ...made }, ...rest }: RegistrationResponse) {
  return {
    ...asLibrary(rest),
    response: { ...made, ...(transports === undefined ? {} : { transports }) },
  };
}

/** WebAuthn, 7.1 and 7.2: no page of ours is framed by another origin's, so such an answer was asked for by somebody else. */
function requireOwnFrame({ clientDataJSON }: { readonly clientDataJSON: string }): void {
  const read = clientData.safeParse(asJson(Buffer.from(clientDataJSON, "base64url").toString("utf8")));
  if (!read.success) throw new DashboardError("PASSKEY_REFUSED");
}

const clientData = z.looseObject({
  crossOrigin: z.literal(false).optional(),
  topOrigin: z.undefined().optional(),
});

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The library throws on whatever does not fit; its words may quote what was sent. */
async function refusing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch {
    throw new DashboardError("PASSKEY_REFUSED");
  }
}

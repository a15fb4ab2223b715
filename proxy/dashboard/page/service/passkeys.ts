/** The browser's half of WebAuthn, with its faults in words. */
import {
  browserSupportsWebAuthn,
  startAuthentication,
  startRegistration,
  WebAuthnError,
} from "@simplewebauthn/browser";
import {
  authenticationResponse,
  registrationResponse,
  type AuthenticationResponse,
  type CreationOptions,
  type RegistrationResponse,
  type RequestOptions,
} from "../../contract/passkeys.ts";

export const hasPasskeys = browserSupportsWebAuthn;

/** Makes a passkey. Throws an Error whose message is for people. */
export async function makePasskey(options: CreationOptions): Promise<RegistrationResponse> {
  type Taken = Parameters<typeof startRegistration>[0]["optionsJSON"];
  try {
    // One specification, two spellings of its types: the library's has no `undefined` in what may be absent.
    return registrationResponse.parse(await startRegistration({ optionsJSON: options as Taken }));
  } catch (error) {
    throw inWords(error);
  }
}

/** Asks for a passkey that is there. */
export async function usePasskey(options: RequestOptions): Promise<AuthenticationResponse> {
  type Taken = Parameters<typeof startAuthentication>[0]["optionsJSON"];
  try {
    return authenticationResponse.parse(await startAuthentication({ optionsJSON: options as Taken }));
  } catch (error) {
    throw inWords(error);
  }
}

function inWords(cause: unknown): Error {
  const name = cause instanceof Error ? cause.name : "";
  if (cause instanceof WebAuthnError && cause.code === "ERROR_AUTHENTICATOR_PREVIOUSLY_REGISTERED")
    return new Error("This device has a passkey of this account already. Use it to sign in.", { cause });
  if (name === "NotAllowedError")
    return new Error(
      "No passkey was given: it was cancelled, or took too long. Try again when you are ready.",
      {
        cause,
      },
    );
  if (name === "SecurityError" || name === "ERROR_INVALID_DOMAIN")
    return new Error(
      "Passkeys work over https, and on localhost by its name, only. Check the address of this page.",
      {
        cause,
      },
    );
  if (name === "ConstraintError")
    return new Error("This device cannot verify you (no PIN, fingerprint or face is set up on it).", {
      cause,
    });
  return new Error("The browser could not use a passkey here.", { cause });
}

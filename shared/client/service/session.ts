/**
 * Credentials. With a session-token provider the API key does not exist on this side: browsers and phones
 * must never hold one. The provider is asked when a token is needed, and again when the service says that
 * the token has expired; requests that fail together ask it once.
 */
import { inTime } from "../base/aborting.ts";
import { ClientError, underCode } from "../base/errors.ts";

/** Asks the developer's own server for a session token of the signed-in user. */
export type SessionProvider = () => Promise<string>;

/** The developer's server may ask an identity provider in turn; who takes longer than this will not answer. */
const PROVIDER_MS = 30_000;

export type Credential = { readonly apiKey: string } | { readonly sessionProvider: SessionProvider };

/** What a header can carry: a token out of a file often ends with a line break. */
const TOKEN = /^sst_[\x21-\x7e]+$/;

export interface CredentialSource {
  /** Sent with every request, streams included. */
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The session that a request or stream carries besides; undefined where there are none. A request has it in its
   * header; a stream in its query, since a browser's EventSource cannot set headers.
   */
  token(): Promise<string | undefined>;
  /** Says that `token` has expired. False when there is nothing to renew. */
  expire(token: string | undefined): boolean;
}

export function credentialSource(credential: Credential, providerMs = PROVIDER_MS): CredentialSource {
  return "apiKey" in credential
    ? withoutSession({ "X-API-Key": credential.apiKey })
    : sessionSource(credential.sessionProvider, providerMs);
}

/** Without headers: for the one endpoint that takes no credential. */
export function withoutSession(headers: CredentialSource["headers"] = {}): CredentialSource {
  return { headers, token: async () => undefined, expire: () => false };
}

function sessionSource(provider: SessionProvider, providerMs: number): CredentialSource {
  let pending: Promise<string> | undefined;
  let current: string | undefined;

  const late = (): never => {
    throw new ClientError("SESSION_PROVIDER_FAILED", `no answer in ${providerMs / 1000} s`);
  };

  async function ask(): Promise<string> {
    const token: unknown = await underCode("SESSION_PROVIDER_FAILED", undefined, async () =>
      inTime(provider(), providerMs, late),
    );
    if (typeof token !== "string" || !TOKEN.test(token))
      throw new ClientError("SESSION_PROVIDER_FAILED", "it did not return a session token (sst_…)");
    current = token;
    return token;
  }

  return {
    headers: {},
    token: async () => current ?? (pending ??= ask().finally(() => (pending = undefined))),
    expire(expired) {
      // Another request may have renewed it meanwhile; then the new one stays.
      if (current === expired) current = undefined;
      return true;
    },
  };
}

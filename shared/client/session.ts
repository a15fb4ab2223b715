/**
 * Credentials. With a session-token provider the API key does not exist on this side: browsers and phones
 * must never hold one. The provider is asked when a token is needed, and again when the service says that
 * the token has expired; requests that fail together ask it once.
 */
import { ClientError } from "./errors.ts";

/** Asks the developer's own server for a session token of the signed-in user. */
export type SessionProvider = () => Promise<string>;

/** The developer's server may ask an identity provider in turn; who takes longer than this will not answer. */
const PROVIDER_MS = 30_000;

export type Credential = { readonly apiKey: string } | { readonly sessionProvider: SessionProvider };

/** What a header can carry: a token out of a file often ends with a line break. */
const TOKEN = /^sst_[\x21-\x7e]+$/;

/** For the one endpoint that takes none. */
export const noCredential: CredentialSource = {
  headers: async () => ({ headers: {}, token: undefined }),
  stream: async () => ({ headers: {}, query: {}, token: undefined }),
  expire: () => false,
};

export interface CredentialSource {
  /** The headers of one request, and the token they carry if it is a session. */
  headers(): Promise<{ headers: Record<string, string>; token: string | undefined }>;
  /** How an event stream carries it: sessions by query (a browser's EventSource cannot set headers), keys by header. */
  stream(): Promise<{
    headers: Record<string, string>;
    query: Record<string, string>;
    token: string | undefined;
  }>;
  /** Says that `token` has expired. False when there is nothing to renew. */
  expire(token: string | undefined): boolean;
}

export function credentialSource(credential: Credential, providerMs = PROVIDER_MS): CredentialSource {
  return "apiKey" in credential
    ? apiKeySource(credential.apiKey)
    : sessionSource(credential.sessionProvider, providerMs);
}

function apiKeySource(apiKey: string): CredentialSource {
  const headers = { "X-API-Key": apiKey };
  return {
    headers: async () => ({ headers, token: undefined }),
    stream: async () => ({ headers, query: {}, token: undefined }),
    expire: () => false,
  };
}

function sessionSource(provider: SessionProvider, providerMs: number): CredentialSource {
  let pending: Promise<string> | undefined;
  let current: string | undefined;

  async function ask(): Promise<string> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      const why = `no answer in ${providerMs / 1000} s`;
      timer = setTimeout(() => reject(new ClientError("SESSION_PROVIDER_FAILED", why)), providerMs);
    });
    try {
      const token: unknown = await Promise.race([provider(), late]);
      if (typeof token !== "string" || !TOKEN.test(token)) {
        throw new ClientError("SESSION_PROVIDER_FAILED", "it did not return a session token (sst_…)");
      }
      current = token;
      return token;
    } catch (cause) {
      if (cause instanceof ClientError) throw cause;
      throw new ClientError("SESSION_PROVIDER_FAILED", undefined, { cause });
    } finally {
      clearTimeout(timer);
      pending = undefined;
    }
  }

  async function token(): Promise<string> {
    return current ?? (pending ??= ask());
  }

  return {
    async headers() {
      const session = await token();
      return { headers: { Authorization: `Bearer ${session}` }, token: session };
    },
    async stream() {
      const session = await token();
      return { headers: {}, query: { session }, token: session };
    },
    expire(expired) {
      // Another request may have renewed it meanwhile; then the new one stays.
      if (current === expired) current = undefined;
      return true;
    },
  };
}

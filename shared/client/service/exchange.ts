/**
 * Sessions from an identity provider's access token, without a server of the developer's: the token goes to the
 * service's POST /session/exchange and nowhere else.
 */
import type { ExchangeRequest, SessionResponse } from "../../api/credentials.ts";
import { ENDPOINTS } from "../../api/endpoints.ts";
import { Transport, type CallOptions, type TransportOptions } from "./http.ts";
import { checkOptions, identityProviderOptions, type Lists } from "../base/options.ts";
import { readBaseUrl } from "../base/reaching.ts";
import { withoutSession, type SessionProvider } from "./session.ts";

export type ExchangeOptions = Omit<TransportOptions, "credential">;

export interface IdentityProviderOptions extends ExchangeOptions {
  /** As the service's operator registered it. */
  readonly appId: string;
  /** A fresh access token of the signed-in user, from the provider's own library. Asked again at every expiry. */
  readonly accessToken: () => Promise<string>;
  readonly perms?: ("read" | "write")[];
  readonly ttlSecs?: number;
}

/** One exchange; not repeated by itself, since a refused token stays refused. */
export function exchangeSession(
  service: ExchangeOptions,
  request: ExchangeRequest,
  options: CallOptions = {},
): Promise<SessionResponse> {
  const transport = new Transport({ ...service, credential: withoutSession() });
  return transport.call(ENDPOINTS.sessionExchange, { ...options, body: request });
}

/** A session provider for `createClient({ credential: { sessionProvider } })`. */
export function identityProviderSession(options: IdentityProviderOptions): SessionProvider {
  checkOptions(
    identityProviderOptions satisfies Lists<IdentityProviderOptions>,
    options,
    "identityProviderSession",
  );
  readBaseUrl(options.baseUrl, "identityProviderSession.baseUrl");
  const { appId, accessToken, perms, ttlSecs, ...service } = options;
  return async () => {
    const request: ExchangeRequest = {
      app_id: appId,
      access_token: await accessToken(),
      ...(perms === undefined ? {} : { perms }),
      ...(ttlSecs === undefined ? {} : { ttl_secs: ttlSecs }),
    };
    return (await exchangeSession(service, request)).token;
  };
}

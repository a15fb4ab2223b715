/**
 * `cloister-client/service`: the service's endpoints and its event stream, without a wallet. An entry of its own: of one that
 * also has a wallet, some bundlers load what the wallet's later parts share with it, whether or not a page makes a wallet.
 */

export { createClient, type Client, type ClientOptions, type SubmitOptions } from "./client.ts";
export type { CallOptions } from "./http.ts";
export type { Credential, SessionProvider } from "./session.ts";
export { exchangeSession, identityProviderSession, type IdentityProviderOptions } from "./exchange.ts";
export type { EventsOptions, StreamTiming } from "./events.ts";
export { ApiProblem, CLIENT_ERRORS, ClientError, type ClientErrorCode } from "../base/errors.ts";

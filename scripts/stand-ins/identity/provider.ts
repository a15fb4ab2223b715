// A real OpenID provider on this machine: a user signs in through the authorization code flow with PKCE and the
// client gets an ID token and a JWT access token for our resource. It asks for no password. For tests its signing
// keys can be exchanged, and its key set can be made slow, large, absent or a redirect. DEVELOPMENT ONLY.
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWK } from "jose";
import Provider from "oidc-provider";
import { CLIENT, REDIRECT, RESOURCE, signIn, type Tokens } from "./sign-in.ts";

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateJwk: JWK;
  readonly publicJwk: JWK;
}

export interface RunningProvider {
  readonly issuer: string;
  readonly jwksUrl: string;
  readonly host: string;
  /** The key that signs. */
  readonly key: SigningKey;
  /** How often the key set was asked for. */
  readonly fetches: number;
  /** Signs in and exchanges the code, as a wallet's page would. */
  signIn(accountId: string): Promise<Tokens>;
  /** From now on signs with `key`; the earlier one is served no more unless `keep`. */
  rotate(key: SigningKey, options?: { keep: boolean }): void;
  /** Answers the key set in another way; undefined is the provider's own again. */
  misserve(answer: ((request: IncomingMessage, response: ServerResponse) => void) | undefined): void;
  stop(): Promise<void>;
}

export async function newKey(
  kid: string,
  alg: "RS256" | "PS256" | "ES256" | "EdDSA" = "RS256",
): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const named = async (key: typeof privateKey): Promise<JWK> => ({
    ...(await exportJWK(key)),
    kid,
    alg,
    use: "sig",
  });
  return { kid, alg, privateJwk: await named(privateKey), publicJwk: await named(publicKey) };
}

export async function startProvider(
  alg: "RS256" | "PS256" | "ES256" | "EdDSA" = "RS256",
): Promise<RunningProvider> {
  let key = await newKey("first", alg);
  let kept: SigningKey[] = [];
  let fetches = 0;
  let misserved: ((request: IncomingMessage, response: ServerResponse) => void) | undefined;
  let provider: Provider;

  const server = createServer((request, response) => {
    const path = request.url ?? "";
    if (path === "/jwks") {
      fetches++;
      if (misserved !== undefined) {
        misserved(request, response);
        return;
      }
    }
    if (path.startsWith("/interaction/")) void signInHere(request, response);
    else provider.callback()(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${String(port)}`;
  function make(): Provider {
    return new Provider(issuer, {
      jwks: { keys: [key, ...kept].map(({ privateJwk }) => privateJwk) },
      clients: [
        {
          client_id: CLIENT,
          token_endpoint_auth_method: "none",
          redirect_uris: [REDIRECT],
          id_token_signed_response_alg: key.alg,
        },
      ],
      enabledJWA: { idTokenSigningAlgValues: [key.alg] },
      ttl: { AccessToken: 600, IdToken: 600, Grant: 600, Session: 600, Interaction: 600 },
      cookies: { keys: [randomBytes(16).toString("hex")] },
      findAccount: (_ctx: unknown, accountId: string) => ({ accountId, claims: () => ({ sub: accountId }) }),
      interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
      features: {
        devInteractions: { enabled: false },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => RESOURCE,
          useGrantedResource: () => true,
          getResourceServerInfo: () => ({
            scope: "pay",
            audience: RESOURCE,
            accessTokenFormat: "jwt",
            accessTokenTTL: 600,
            jwt: { sign: { alg: key.alg } },
          }),
        },
      },
    });
  }
  provider = make();

  /** What the provider's own page does after the user typed a password and said yes. Whoever is named is believed. */
  async function signInHere(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { params } = await provider.interactionDetails(request, response);
    const account = String(params["login_hint"]);
    const grant = new provider.Grant({ accountId: account, clientId: CLIENT });
    grant.addOIDCScope("openid");
    grant.addResourceScope(RESOURCE, "pay");
    const consent = { grantId: await grant.save() };
    await provider.interactionFinished(request, response, { login: { accountId: account }, consent });
  }

  return {
    issuer,
    jwksUrl: `${issuer}/jwks`,
    host: `127.0.0.1:${String(port)}`,
    get key() {
      return key;
    },
    get fetches() {
      return fetches;
    },
    signIn: (accountId) => signIn(issuer, accountId),
    rotate(next, { keep } = { keep: false }) {
      kept = keep ? [key] : [];
      key = next;
      provider = make();
    },
    misserve(answer) {
      misserved = answer;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

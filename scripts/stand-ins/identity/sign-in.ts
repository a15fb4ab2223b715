// A wallet's page at the example identity provider: its client there, and how a user signs in.
import { createHash, randomBytes } from "node:crypto";

/** The audience of the access tokens: the service. */
export const RESOURCE = "https://pay.example/api";
export const CLIENT = "wallet";
export const REDIRECT = "https://wallet.example/callback";

export interface Tokens {
  readonly access_token: string;
  readonly id_token: string;
}

/** The authorization code flow with PKCE, and the code exchanged for tokens. */
export async function signIn(issuer: string, accountId: string): Promise<Tokens> {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    client_id: CLIENT,
    response_type: "code",
    redirect_uri: REDIRECT,
    scope: "openid pay",
    resource: RESOURCE,
    login_hint: accountId,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const cookies = new Map<string, string>();
  let at = `${issuer}/auth?${query.toString()}`;
  while (!at.startsWith(REDIRECT)) {
    const answer = await fetch(at, {
      redirect: "manual",
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
    });
    for (const line of answer.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = answer.headers.get("location");
    if (location === null) throw new Error(`the provider stopped: ${await answer.text()}`);
    at = new URL(location, issuer).href;
  }
  const answer = await fetch(`${issuer}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: CLIENT,
      code: new URL(at).searchParams.get("code") ?? "",
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      resource: RESOURCE,
    }),
  });
  if (!answer.ok) throw new Error(`no token: ${await answer.text()}`);
  return (await answer.json()) as Tokens;
}

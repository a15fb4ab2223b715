// The client library lives on an identity provider's access tokens: real provider, real edge, no API key.
import assert from "node:assert/strict";
import { addApp } from "../../../proxy/base/identity/registration.ts";
import {
  ApiProblem,
  ClientError,
  createClient,
  exchangeSession,
  identityProviderSession,
} from "../../../shared/client/index.ts";
import { startProvider, type RunningProvider } from "../../../scripts/stand-ins/identity/provider.ts";
import { RESOURCE } from "../../../scripts/stand-ins/identity/sign-in.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

describe("client: sessions from an identity provider", () => {
  let provider: RunningProvider;
  let edge: Edge;
  before(async () => {
    provider = await startProvider();
    edge = await startEdge();
    const { issuer, jwksUrl, host: jwksHost } = provider;
    const app = { id: "app_shop", developerId: "test", issuer, jwksUrl, jwksHost };
    const terms = { audience: RESOURCE, perms: ["read", "write"] };
    await addApp(edge.apps, async () => true, { ...app, ...terms }, { allowLoopback: true });
  });
  after(async () => {
    await edge.stop();
    await provider.stop();
  });

  it("exchanges when a token is needed, and again when the session has expired", async () => {
    let asked = 0;
    const accessToken = async (): Promise<string> => {
      asked++;
      return (await provider.signIn("alice")).access_token;
    };
    const service = { baseUrl: edge.url };
    const sessionProvider = identityProviderSession({
      ...service,
      appId: "app_shop",
      accessToken,
      ttlSecs: 60,
    });
    const client = createClient({ ...service, credential: { sessionProvider } });
    assert.equal(asked, 0);
    const who = await client.whoami();
    assert.equal(who.session?.sub, "app_shop:alice");
    await Promise.all([client.whoami(), client.whoami()]);
    assert.equal(asked, 1);
    edge.advance(61_000);
    await client.whoami();
    assert.equal(asked, 2);
  });

  it("never sends the client's own credential with an access token", async () => {
    const { access_token } = await provider.signIn("bob");
    const client = createClient({ baseUrl: edge.url, credential: { apiKey: edge.key } });
    const { sub, perms } = await client.exchangeSession({
      app_id: "app_shop",
      access_token,
      perms: ["read"],
    });
    assert.deepEqual([sub, perms], ["app_shop:bob", ["read"]]);
  });

  it("tells a refused token by its code, and a client that lives on it by its provider", async () => {
    const request = { app_id: "app_shop", access_token: "no token" };
    await assert.rejects(
      exchangeSession({ baseUrl: edge.url }, request),
      (error) => error instanceof ApiProblem && error.code === "INVALID_CREDENTIAL",
    );
    await assert.rejects(
      exchangeSession({ baseUrl: edge.url }, { ...request, app_id: "app_none" }),
      (error) => error instanceof ApiProblem && error.code === "APP_UNKNOWN",
    );
    const sessionProvider = identityProviderSession({
      baseUrl: edge.url,
      appId: "app_shop",
      accessToken: async () => "no token",
    });
    await assert.rejects(
      createClient({ baseUrl: edge.url, credential: { sessionProvider } }).whoami(),
      (error) =>
        error instanceof ClientError &&
        error.code === "SESSION_PROVIDER_FAILED" &&
        error.cause instanceof ApiProblem,
    );
  });
});

// The example of a developer's server, before the real edge and with the example identity provider as its sign-in.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createMintingServer, usersOf } from "../../../scripts/stack/example-server.ts";
import { startProvider, type RunningProvider } from "../../../scripts/stand-ins/identity/provider.ts";
import { createClient } from "../../../shared/client/index.ts";
import { startEdge, type Edge } from "../../support/edge.ts";

const APP = "http://localhost:5173";

describe("the example server that mints session tokens", () => {
  let edge: Edge;
  let provider: RunningProvider;
  let server: Server;
  let url: string;

  before(async () => {
    edge = await startEdge({ origins: [APP] });
    provider = await startProvider();
    server = createMintingServer({
      service: edge.url,
      apiKey: edge.key,
      appOrigin: APP,
      userOf: usersOf(provider.issuer),
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/session-token`;
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    await provider.stop();
    await edge.stop();
  });

  const ask = (headers: Record<string, string>, method = "POST"): Promise<Response> =>
    fetch(url, { method, headers });
  const bearer = async (user: string): Promise<string> =>
    `Bearer ${(await provider.signIn(user)).access_token}`;

  it("mints for the user who is signed in, and the client library lives on it", async () => {
    const Authorization = await bearer("alice");
    const client = createClient({
      baseUrl: edge.url,
      credential: { sessionProvider: async () => (await ask({ Authorization, Origin: APP })).text() },
    });
    const { session } = await client.whoami();
    assert.deepEqual([session?.sub, session?.perms], ["alice", ["read", "write"]]);
  });

  it("takes nothing but an explicit Authorization header with a good token", async () => {
    const token = (await bearer("bob")).slice("Bearer ".length);
    for (const headers of [
      {},
      { Cookie: `session=${token}; Authorization=Bearer ${token}` },
      { Authorization: token },
      { Authorization: `Basic ${token}` },
      { Authorization: `Bearer ${token.slice(0, -4)}AAAA` },
      { Authorization: `Bearer ${(await provider.signIn("bob")).id_token}` },
      { "X-API-Key": edge.key },
    ]) {
      const answer = await ask(headers);
      assert.equal(answer.status, 401, JSON.stringify(headers));
      assert.equal(answer.headers.get("www-authenticate"), "Bearer");
    }
    assert.equal((await fetch(`${url}?token=${token}`, { method: "POST" })).status, 404);
  });

  it("is for pages of the app, and for no other site's", async () => {
    const preflight = await ask({ Origin: APP, "Access-Control-Request-Method": "POST" }, "OPTIONS");
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), APP);
    assert.equal(preflight.headers.get("access-control-allow-headers"), "Authorization");
    assert.equal(preflight.headers.get("access-control-allow-credentials"), null);
    const Authorization = await bearer("carol");
    for (const Origin of ["https://evil.example", "null"]) {
      const answer = await ask({ Authorization, Origin });
      assert.equal(answer.status, 403);
      assert.equal(answer.headers.get("access-control-allow-origin"), APP);
    }
    assert.equal((await ask({ Authorization }, "GET")).status, 405);
  });

  it("throttles each user for itself", async () => {
    const [dave, erin] = [await bearer("dave"), await bearer("erin")];
    const statuses = [];
    for (let i = 0; i < 7; i++) statuses.push((await ask({ Authorization: dave })).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429, 429]);
    const refused = await ask({ Authorization: dave });
    assert.ok(Number(refused.headers.get("retry-after")) > 0);
    assert.equal((await ask({ Authorization: erin })).status, 200);
  });

  it("says nothing of the key or of the service, whatever goes wrong", async () => {
    const broken = createMintingServer({
      service: edge.url,
      apiKey: `${edge.key}x`,
      appOrigin: APP,
      userOf: async () => "frank",
    });
    broken.listen(0, "127.0.0.1");
    await once(broken, "listening");
    const answer = await fetch(
      `http://127.0.0.1:${String((broken.address() as AddressInfo).port)}/session-token`,
      { method: "POST", headers: { Authorization: "Bearer x" } },
    );
    assert.equal(answer.status, 502);
    assert.equal(await answer.text(), "");
    assert.ok(![...answer.headers.values()].some((value) => value.includes("ck_")));
    broken.closeAllConnections();
    broken.close();
  });
});

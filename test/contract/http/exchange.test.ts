// POST /session/exchange against a real OpenID provider: whose access tokens become sessions, and whose do not.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { SignJWT, UnsecuredJWT } from "jose";
import { eventsRoutes } from "../../../proxy/api/events/events.routes.ts";
import type { Hub } from "../../../proxy/api/events/hub.ts";
import { addApp, type NewApp } from "../../../proxy/base/identity/registration.ts";
import { MAX_EXCHANGED_SUB, sessionResponse } from "../../../shared/api/credentials.ts";
import {
  newKey,
  startProvider,
  type RunningProvider,
  type SigningKey,
} from "../../../scripts/stand-ins/identity/provider.ts";
import { RESOURCE, type Tokens } from "../../../scripts/stand-ins/identity/sign-in.ts";
import { startEdge, type Answer, type Edge, type EdgeOptions } from "../../support/edge.ts";

type Content = Readonly<Record<string, unknown>>;

const ORIGIN = "https://wallet.example";

/** A token with the provider's own key (or another's) and any content: what only a broken provider would issue. */
function forge(key: SigningKey, payload: Content, header: Content = {}): Promise<string> {
  return new SignJWT({ ...payload })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: "at+jwt", ...header })
    .sign(key.privateJwk);
}

interface Scene {
  readonly edge: Edge;
  readonly provider: RunningProvider;
  exchange(body: object, headers?: Record<string, string>): Promise<Answer>;
  /** A payload that the app accepts, with the changes. */
  claims(changes?: Content): Record<string, unknown>;
  register(changes?: Partial<NewApp>): Promise<string>;
  stop(): Promise<void>;
}

async function startScene(options: EdgeOptions = {}): Promise<Scene> {
  const provider = await startProvider();
  const edge = await startEdge({ origins: [ORIGIN], limits: { exchangesPerMinute: 10_000 }, ...options });
  const register: Scene["register"] = async (changes = {}) => {
    const wanted = {
      developerId: "test",
      issuer: provider.issuer,
      audience: RESOURCE,
      jwksUrl: provider.jwksUrl,
      jwksHost: provider.host,
      perms: ["read", "write"],
      ...changes,
    };
    const exists = async (id: string): Promise<boolean> => (await edge.store.developer(id)) !== undefined;
    return (await addApp(edge.apps, exists, wanted, { allowLoopback: true })).id;
  };
  await register({ id: "app_shop" });
  return {
    edge,
    provider,
    exchange: (body, headers = {}) =>
      edge.call("POST", "/session/exchange", {
        credential: false,
        headers,
        json: { app_id: "app_shop", ...body },
      }),
    claims: (changes = {}) => ({
      iss: provider.issuer,
      aud: RESOURCE,
      sub: "alice",
      iat: Math.floor(Date.now() / 1000),
      exp: Math.floor(Date.now() / 1000) + 600,
      client_id: "wallet",
      jti: "1",
      ...changes,
    }),
    register,
    stop: async () => {
      await edge.stop();
      await provider.stop();
    },
  };
}

/** With streams that end at once. */
function startWithStream(): Promise<Scene> {
  const hub: Pick<Hub, "read"> = {
    read(_subscription, sink) {
      sink.end();
      return { drained: () => undefined, left: () => undefined };
    },
  };
  return startScene({ handlers: eventsRoutes(hub, { openStream: async () => () => undefined }) });
}

function assertRefused(answer: Answer, status: number, code: string, what?: string): void {
  assert.equal(answer.body.code, code, `${what ?? ""} ${JSON.stringify(answer.body)}`);
  assert.equal(answer.status, status);
  assert.match(answer.headers.get("content-type") ?? "", /^application\/problem\+json/);
}

describe("exchange of an identity provider's access token", () => {
  let scene: Scene;
  let tokens: Tokens;
  before(async () => {
    scene = await startScene();
    tokens = await scene.provider.signIn("alice");
  });
  after(() => scene.stop());
  const now = (): number => Math.floor(Date.now() / 1000);

  it("gives a session of the app's developer, for a user whose name nobody else can take", async () => {
    const answer = await scene.exchange({ access_token: tokens.access_token });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    const { token, sub, perms, exp } = sessionResponse.parse(answer.body);
    assert.deepEqual([sub, perms], ["app_shop:alice", ["read", "write"]]);
    assert.ok(exp > now() && exp <= now() + 600);
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const who = (await scene.edge.call("GET", "/whoami", { session: token })).body;
    assert.equal(who.kind, "session");
    assert.equal(who.developer.id, "test");
    assert.deepEqual(who.session, { sub: "app_shop:alice", perms: ["read", "write"], exp });
    assert.equal(who.limits[0].policy, "session-minute");
  });

  it("works from a page of the developer's, and from no other", async () => {
    const preflight = await scene.edge.call("OPTIONS", "/session/exchange", {
      credential: false,
      headers: {
        Origin: ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
      },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), ORIGIN);
    assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /Content-Type/);
    const body = { access_token: tokens.access_token };
    const good = await scene.exchange(body, { Origin: ORIGIN, "Sec-Fetch-Site": "cross-site" });
    assert.equal(good.status, 201);
    assert.equal(good.headers.get("access-control-allow-origin"), ORIGIN);
    const other = await scene.edge.newDeveloper({ name: "Other", origins: ["https://other.example"] });
    assert.ok(other.key);
    scene.edge.advance(3_000);
    // Registered, so its preflight passes, but with somebody else.
    for (const origin of ["https://other.example", "https://evil.example", "null"]) {
      assertRefused(await scene.exchange(body, { Origin: origin }), 403, "FORBIDDEN", origin);
    }
  });

  it("is answered uncompressed, so that its length says nothing about the token", async () => {
    const access_token = await forge(scene.provider.key, scene.claims({ sub: "ß".repeat(256) }));
    const answer = await scene.exchange({ access_token }, { "Accept-Encoding": "gzip, br, *" });
    assert.equal(answer.status, 201);
    assert.ok(Number(answer.headers.get("content-length")) > 1_024, "long enough to be worth it");
    assert.equal(answer.headers.get("content-encoding"), null);
  });

  it("takes no other credential", async () => {
    const session = await scene.edge.session();
    for (const headers of [
      { "X-API-Key": scene.edge.key },
      { "X-API-Key": "ck_wrong" },
      { Authorization: `Bearer ${session}` },
      { Authorization: `Bearer ${tokens.access_token}` },
    ]) {
      const answer = await scene.exchange({ access_token: tokens.access_token }, headers);
      assertRefused(answer, 400, "INVALID_REQUEST", Object.keys(headers)[0]);
    }
    const browser = { "X-API-Key": scene.edge.key, Origin: ORIGIN };
    assertRefused(await scene.exchange({ access_token: tokens.access_token }, browser), 403, "FORBIDDEN");
    const query = await scene.edge.call("POST", `/session/exchange?session=${session}`, {
      credential: false,
      json: { app_id: "app_shop", access_token: tokens.access_token },
    });
    assertRefused(query, 400, "INVALID_REQUEST");
  });

  it("answers other methods and bodies as every endpoint does", async () => {
    const get = await scene.edge.call("GET", "/session/exchange", { credential: false });
    assertRefused(get, 405, "METHOD_NOT_ALLOWED");
    assert.equal(get.headers.get("allow"), "POST, OPTIONS");
    const good = tokens.access_token;
    for (const json of [
      {},
      { app_id: "app_shop" },
      { app_id: "app_shop", access_token: 1 },
      { app_id: "app_shop", access_token: "" },
      { app_id: "app_shop", access_token: "a".repeat(16_385) },
      { app_id: "app_shop", access_token: good, extra: 1 },
      { app_id: "app_shop", access_token: good, perms: [] },
      { app_id: "app_shop", access_token: good, perms: ["admin"] },
      { app_id: "app_shop", access_token: good, ttl_secs: 59 },
      { app_id: "app_shop", access_token: good, ttl_secs: 3_601 },
      { app_id: ["app_shop"], access_token: good },
    ]) {
      const answer = await scene.edge.call("POST", "/session/exchange", { credential: false, json });
      assertRefused(answer, 400, "INVALID_REQUEST", JSON.stringify(json).slice(0, 80));
    }
    const unknown = await scene.exchange({ app_id: "app_nobody", access_token: good });
    assertRefused(unknown, 404, "APP_UNKNOWN");
    assertRefused(await scene.exchange({ app_id: "__proto__", access_token: good }), 404, "APP_UNKNOWN");
  });

  it("never gives more than the app may have, nor for longer, nor beyond the access token", async () => {
    await scene.register({ id: "app_reader", perms: ["read"], maxTtlSecs: 120 });
    const ask = (body: object): Promise<Answer> =>
      scene.exchange({ app_id: "app_reader", access_token: tokens.access_token, ...body });
    const reader = await ask({});
    assert.deepEqual(reader.body.perms, ["read"]);
    assert.ok(reader.body.exp <= scene.edge.now() / 1000 + 120);
    assertRefused(await ask({ perms: ["write"] }), 403, "FORBIDDEN");
    assertRefused(await ask({ perms: ["read", "write"] }), 403, "FORBIDDEN");
    assert.ok((await ask({ ttl_secs: 3_600 })).body.exp <= scene.edge.now() / 1000 + 120);
    const less = await scene.exchange({ access_token: tokens.access_token, perms: ["read"], ttl_secs: 60 });
    assert.deepEqual(less.body.perms, ["read"]);
    assert.ok(less.body.exp <= scene.edge.now() / 1000 + 60);

    const exp = Math.floor(scene.edge.now() / 1000) + 20;
    const short = await forge(scene.provider.key, scene.claims({ exp }));
    assert.equal((await scene.exchange({ access_token: short, ttl_secs: 600 })).body.exp, exp);
  });

  it("two apps of one developer never share a user, nor does a name that the developer's own users can choose", async () => {
    await scene.register({ id: "app_other" });
    const [one, two] = await Promise.all(
      ["app_shop", "app_other"].map((app_id) =>
        scene.exchange({ app_id, access_token: tokens.access_token }),
      ),
    );
    assert.deepEqual([one?.body.sub, two?.body.sub], ["app_shop:alice", "app_other:alice"]);
    const mint = (sub: string): Promise<Answer> =>
      scene.edge.call("POST", "/session", { json: { sub, perms: ["read"], ttl_secs: 60 } });
    for (const sub of ["app_shop:alice", "app_other:", "app_x:app_shop:alice"]) {
      assertRefused(await mint(sub), 400, "INVALID_REQUEST", sub);
    }
    for (const sub of [
      "app_shop",
      "application:alice",
      "APP_shop:alice",
      " app_shop:alice",
      "app_Shop:alice",
    ]) {
      assert.equal((await mint(sub)).status, 201, sub);
    }
  });

  it("every token works on the event stream, that of the longest name included", async () => {
    const full = await startWithStream();
    try {
      const developer = await full.edge.newDeveloper({ name: "Long", id: "d".repeat(63) });
      const app_id = await full.register({ id: `app_${"x".repeat(32)}`, developerId: developer.id });
      const user = "\u4e2d".repeat(MAX_EXCHANGED_SUB - app_id.length - 1);
      const access_token = await forge(full.provider.key, full.claims({ sub: user }));
      const minted = [
        (await full.exchange({ app_id, access_token })).body.token as string,
        await full.edge.session({ sub: "\u4e2d".repeat(256) }),
        await full.edge.session({ sub: '"\\'.repeat(128) }),
      ];
      for (const token of minted) {
        const stream = await full.edge.call("GET", `/events/stream?session=${token}`, { credential: false });
        assert.equal(stream.status, 200, `${String(token.length)} ${JSON.stringify(stream.body)}`);
      }
      assert.ok(minted[0]!.length > 2_163, String(minted[0]!.length));
    } finally {
      await full.stop();
    }
  });

  it("takes a user's name of the provider's up to its bound, and no unprintable one", async () => {
    const ask = async (sub: unknown): Promise<Answer> =>
      scene.exchange({
        access_token: await forge(scene.provider.key, scene.claims({ sub })),
      });
    const longest = "漢".repeat(512 - "app_shop:".length);
    const answer = await ask(longest);
    assert.equal(answer.body.sub, `app_shop:${longest}`);
    const who = await scene.edge.call("GET", "/whoami", { session: answer.body.token });
    assert.equal(who.body.session.sub, `app_shop:${longest}`);
    for (const sub of [`${longest}x`, "", "a\nb", "a\u0000", "\u202ealice", "\ud800", 7, null, { a: 1 }]) {
      assertRefused(await ask(sub), 401, "INVALID_CREDENTIAL", JSON.stringify(sub));
    }
  });

  type Forger = (scene: Scene, tokens: Tokens) => Promise<string> | string;
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const BAD: Readonly<Record<string, Forger>> = {
    "the ID token of the same sign-in": (_s, { id_token }) => id_token,
    "an ID token whose audience is ours": ({ provider, claims }) =>
      forge(provider.key, claims(), { typ: "JWT" }),
    "one without a typ": ({ provider, claims }) => forge(provider.key, claims(), { typ: undefined }),
    "an ID token under the type of an access token": ({ provider, claims }) =>
      forge(provider.key, claims({ at_hash: "x" })),
    "another audience": ({ provider, claims }) => forge(provider.key, claims({ aud: "https://x.example" })),
    "no audience": ({ provider, claims }) => forge(provider.key, claims({ aud: undefined })),
    "another issuer": ({ provider, claims }) => forge(provider.key, claims({ iss: `${provider.issuer}/` })),
    "no issuer": ({ provider, claims }) => forge(provider.key, claims({ iss: undefined })),
    expired: ({ provider, claims }) => forge(provider.key, claims({ exp: now() - 1 })),
    "no exp": ({ provider, claims }) => forge(provider.key, claims({ exp: undefined })),
    "not valid yet": ({ provider, claims }) => forge(provider.key, claims({ nbf: now() + 120 })),
    "issued in the future": ({ provider, claims }) => forge(provider.key, claims({ iat: now() + 120 })),
    "bound to a client's key": ({ provider, claims }) => forge(provider.key, claims({ cnf: { jkt: "x" } })),
    "alg none": ({ claims }) => new UnsecuredJWT(claims()).encode(),
    "alg none under the right type": ({ provider, claims }) =>
      `${part({ alg: "none", typ: "at+jwt", kid: provider.key.kid })}.${part(claims())}.`,
    "HS256 with the public key as the secret": ({ provider, claims }) =>
      new SignJWT(claims())
        .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: provider.key.kid })
        .sign(Buffer.from(JSON.stringify(provider.key.publicJwk))),
    "HS256 with the modulus as the secret": ({ provider, claims }) =>
      new SignJWT(claims())
        .setProtectedHeader({ alg: "HS256", typ: "at+jwt", kid: provider.key.kid })
        .sign(Buffer.from(provider.key.publicJwk.n ?? "", "base64url")),
    "another key under the same kid": async ({ provider, claims }) =>
      forge(await newKey(provider.key.kid), claims()),
    "another key of another algorithm": async ({ provider, claims }) =>
      forge(await newKey(provider.key.kid, "ES256"), claims()),
    "its own key in the header": async ({ provider, claims }) => {
      const own = await newKey(provider.key.kid);
      return forge(own, claims(), { jwk: own.publicJwk });
    },
    "an algorithm that is not accepted": ({ provider, claims }) =>
      new SignJWT(claims())
        .setProtectedHeader({ alg: "RS384", typ: "at+jwt", kid: provider.key.kid })
        .sign({ ...provider.key.privateJwk, alg: "RS384" }),
    "a changed payload": ({ claims }, { access_token }) => {
      const [header, , signature] = access_token.split(".");
      return `${header ?? ""}.${part(claims({ sub: "bob" }))}.${signature ?? ""}`;
    },
    "no signature": (_s, { access_token }) => `${access_token.split(".").slice(0, 2).join(".")}.`,
    "two parts": (_s, { access_token }) => access_token.split(".").slice(0, 2).join("."),
    "five parts": (_s, { access_token }) => `${access_token}.a.b`,
    "no token at all": () => "secret",
    "a session of ours": ({ edge }) => edge.session(),
    "an API key of ours": ({ edge }) => edge.key,
  };

  it("refuses every bad token in the same words", async () => {
    const words = new Set<string>();
    for (const [what, make] of Object.entries(BAD)) {
      const access_token = await make(scene, tokens);
      const answer = await scene.exchange({ access_token });
      assertRefused(answer, 401, "INVALID_CREDENTIAL", what);
      words.add(JSON.stringify({ ...answer.body, request_id: "" }));
      assert.ok(!JSON.stringify(answer.body).includes(access_token), what);
      assert.ok(answer.headers.get("www-authenticate")?.startsWith("Bearer"), what);
    }
    assert.equal(words.size, 1);
    assert.equal((await scene.exchange({ access_token: tokens.access_token })).status, 201);
  });

  it("refuses critical headers that it does not understand, and understands none", async () => {
    const header = { crit: ["urn:x"], "urn:x": 1 } as Record<string, unknown>;
    const [, payload, signature] = tokens.access_token.split(".");
    const made = `${part({ alg: "RS256", typ: "at+jwt", kid: scene.provider.key.kid, ...header })}.${payload ?? ""}.${signature ?? ""}`;
    assertRefused(await scene.exchange({ access_token: made }), 401, "INVALID_CREDENTIAL");
    const b64 = await new SignJWT(scene.claims())
      .setProtectedHeader({
        alg: "RS256",
        typ: "at+jwt",
        kid: scene.provider.key.kid,
        b64: true,
        crit: ["b64"],
      })
      .sign(scene.provider.key.privateJwk);
    assertRefused(await scene.exchange({ access_token: b64 }), 401, "INVALID_CREDENTIAL");
  });

  it("never follows a token to keys of its own choice", async () => {
    let visits = 0;
    const own = await newKey("mine");
    const attacker = createServer((_request, response) => {
      visits++;
      response.end(JSON.stringify({ keys: [own.publicJwk] }));
    });
    await new Promise<void>((resolve) => attacker.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${String((attacker.address() as AddressInfo).port)}/jwks`;
      for (const header of [{ jku: url }, { x5u: url }, { jku: url, kid: scene.provider.key.kid }]) {
        const access_token = await forge(own, scene.claims(), header);
        scene.edge.advance(61_000);
        assertRefused(await scene.exchange({ access_token }), 401, "INVALID_CREDENTIAL");
      }
      assert.equal(visits, 0);
    } finally {
      await new Promise((resolve) => attacker.close(resolve));
    }
  });

  it("takes the tokens of an app whose provider writes no type by the claim that was registered", async () => {
    await scene.register({ id: "app_claim", accessClaim: "token_use=access" });
    const ask = async (claims: Content, header = {}): Promise<Answer> =>
      scene.exchange({
        app_id: "app_claim",
        access_token: await forge(scene.provider.key, scene.claims(claims), header),
      });
    for (const value of ["access", "x access", ["access"]]) {
      assert.equal((await ask({ token_use: value }, { typ: "JWT" })).status, 201, JSON.stringify(value));
    }
    for (const value of ["id", "accessory", "", ["id"], { access: 1 }, undefined]) {
      const answer = await ask({ token_use: value }, { typ: "JWT" });
      assertRefused(answer, 401, "INVALID_CREDENTIAL", JSON.stringify(value));
    }
    assertRefused(
      await scene.exchange({ app_id: "app_claim", access_token: tokens.id_token }),
      401,
      "INVALID_CREDENTIAL",
    );
  });

  it("takes only the algorithms of the app", async () => {
    await scene.register({ id: "app_es", algorithms: ["ES256"] });
    const answer = await scene.exchange({ app_id: "app_es", access_token: tokens.access_token });
    assertRefused(answer, 401, "INVALID_CREDENTIAL");
  });

  it("forgets a removed app at once", async () => {
    const id = await scene.register({});
    assert.match(id, /^app_[0-9a-f]{12}$/);
    assert.equal((await scene.exchange({ app_id: id, access_token: tokens.access_token })).status, 201);
    assert.equal(await scene.edge.apps.removeApp(id), true);
    const gone = await scene.exchange({ app_id: id, access_token: tokens.access_token });
    assertRefused(gone, 404, "APP_UNKNOWN");
  });

  it("writes no access token and no user into the log", async () => {
    const log = scene.edge.log();
    for (const part of [tokens.access_token, tokens.access_token.split(".")[1], "alice"]) {
      assert.ok(part !== undefined && !log.includes(part));
    }
    assert.match(log, /an access token was refused/);
  });
});

describe("exchange: the provider's keys", () => {
  let scene: Scene;
  beforeEach(async () => {
    scene = await startScene();
  });
  afterEach(() => scene.stop());

  const signedIn = async (): Promise<string> => (await scene.provider.signIn("alice")).access_token;
  const status = async (access_token: string): Promise<number> =>
    (await scene.exchange({ access_token })).status;

  for (const alg of ["PS256", "ES256", "EdDSA"] as const) {
    it(`verifies ${alg}`, async () => {
      scene.provider.rotate(await newKey("other", alg));
      assert.equal(await status(await signedIn()), 201);
    });
  }

  it("a new key is taken when it is first seen, and the old one refused once the provider has taken it back", async () => {
    const old = await signedIn();
    assert.equal(await status(old), 201);
    scene.edge.advance(61_000);
    scene.provider.rotate(await newKey("second"), { keep: true });
    const renewed = await signedIn();
    assert.equal(await status(renewed), 201);
    assert.equal(await status(old), 201);

    scene.provider.rotate(await newKey("third"));
    scene.edge.advance(300_000);
    assert.equal(await status(await signedIn()), 201);
    scene.edge.advance(60_000);
    assertRefused(await scene.exchange({ access_token: renewed }), 401, "INVALID_CREDENTIAL");
  });

  it("many first exchanges share one fetch", async () => {
    const token = await signedIn();
    const all = await Promise.all(Array.from({ length: 25 }, () => status(token)));
    assert.deepEqual(new Set(all), new Set([201]));
    assert.equal(scene.provider.fetches, 1);
  });

  describe("that are not known", () => {
    let hopped: Scene;
    before(async () => {
      foreign = await newKey("foreign");
    });
    beforeEach(async () => {
      hopped = await startScene({ trustedHops: 1 });
    });
    afterEach(() => hopped.stop());
    let foreign: SigningKey;
    let count = 0;
    const from = (address: string, access_token: string): Promise<Answer> =>
      hopped.exchange({ access_token }, { "X-Forwarded-For": address });
    /** By a stranger: a key of a new name each time. */
    const flood = async (address: string, times: number): Promise<Answer[]> => {
      const answers = [];
      for (let i = 0; i < times; i++) {
        const kid = `k${String(count++)}`;
        answers.push(await from(address, await forge(foreign, hopped.claims(), { kid })));
      }
      return answers;
    };
    const STRANGER = "192.0.2.66";
    const aliceIn = async (): Promise<string> => (await hopped.provider.signIn("alice")).access_token;

    it("cost the provider one fetch a minute and address, and are to be tried again when nobody could look", async () => {
      assert.equal((await from("192.0.2.1", await aliceIn())).status, 201);
      hopped.edge.advance(5_000);
      const [looked, ...others] = await flood(STRANGER, 10);
      // The provider was asked and has no such key.
      assertRefused(looked!, 401, "INVALID_CREDENTIAL");
      for (const answer of others) {
        assertRefused(answer, 429, "RATE_LIMITED");
        assert.equal(answer.body.policy, "provider-keys");
        assert.equal(answer.body.retryable, true);
        const wait = Number(answer.headers.get("retry-after"));
        assert.ok(wait > 50 && wait <= 60, String(wait));
      }
      assert.equal(hopped.provider.fetches, 2);
    });

    it("are taken within seconds of being published, whatever a stranger sends meanwhile", async () => {
      assert.equal((await from("192.0.2.1", await aliceIn())).status, 201);
      hopped.edge.advance(5_000);
      await flood(STRANGER, 3);
      hopped.provider.rotate(await newKey("second"), { keep: true });
      const renewed = await aliceIn();
      const early = await from("192.0.2.1", renewed);
      assertRefused(early, 429, "RATE_LIMITED");
      const wait = Number(early.headers.get("retry-after"));
      // Her address has caused a fetch of its own a moment ago; another user's has not.
      assert.ok(wait > 5 && wait <= 60, String(wait));
      const other = await from("192.0.2.2", renewed);
      assert.ok(Number(other.headers.get("retry-after")) <= 5);
      for (let second = 0; second < 5; second++) {
        hopped.edge.advance(1_000);
        await flood(STRANGER, 3);
      }
      assert.equal((await from("192.0.2.2", renewed)).status, 201);
      assert.equal((await from("192.0.2.1", renewed)).status, 201);
    });

    it("cost the provider a bounded number of fetches, however many addresses strangers have", async () => {
      assert.equal((await from("192.0.2.1", await aliceIn())).status, 201);
      for (let second = 0; second < 60; second++) {
        hopped.edge.advance(1_000);
        await flood(`198.51.100.${String(second)}`, 1);
      }
      assert.ok(hopped.provider.fetches <= 13, String(hopped.provider.fetches));
    });
  });

  it("a provider that is unreachable is tolerated for an hour, and longer not", async () => {
    const token = await forge(
      scene.provider.key,
      scene.claims({ exp: Math.floor(Date.now() / 1000) + 9_000 }),
    );
    assert.equal(await status(token), 201);
    scene.provider.misserve((request) => request.socket.destroy());
    scene.edge.advance(301_000);
    assert.equal(await status(token), 201);
    assert.equal(await status(token), 201);
    assert.equal(scene.provider.fetches, 2);
    scene.edge.advance(3_300_000);
    const answer = await scene.exchange({ access_token: token });
    assertRefused(answer, 503, "STORE_UNAVAILABLE");
    assert.ok(Number(answer.headers.get("retry-after")) > 0);
    scene.provider.misserve(undefined);
    scene.edge.advance(60_000);
    assert.equal(await status(token), 201);
  });

  const BROKEN: Readonly<Record<string, Parameters<RunningProvider["misserve"]>[0]>> = {
    "larger than 64 KiB": (_request, response) =>
      response.end(JSON.stringify({ keys: [], filler: "x".repeat(65_536) })),
    "a redirect": (_request, response) => response.writeHead(302, { Location: "/jwks2" }).end(),
    "an error": (_request, response) => response.writeHead(500).end("secret of the provider"),
    "no JSON": (_request, response) => response.end("<html>secret of the provider"),
    "no key set": (_request, response) => response.end('{"keys":{}}'),
    compressed: (_request, response) => response.writeHead(200, { "Content-Encoding": "gzip" }).end("x"),
    "cut off": (_request, response) => {
      response.writeHead(200, { "Content-Length": "1000" });
      response.write("{", () => response.destroy());
    },
  };
  for (const [what, serve] of Object.entries(BROKEN)) {
    it(`a key set that is ${what} is none, and nothing of it reaches the caller`, async () => {
      const token = await signedIn();
      scene.provider.misserve(serve);
      const answer = await scene.exchange({ access_token: token });
      assertRefused(answer, 503, "STORE_UNAVAILABLE");
      assert.ok(!JSON.stringify(answer.body).includes("secret of the provider"));
      assert.ok(!scene.edge.log().includes("secret of the provider"));
      assert.equal(scene.provider.fetches, 1);
    });
  }

  it("keys that cannot verify make no token good", async () => {
    const token = await signedIn();
    const { kid } = scene.provider.key;
    for (const key of [
      { kty: "oct", kid, k: Buffer.alloc(32).toString("base64url") },
      { kty: "RSA", kid, n: "AQAB", e: "AQAB" },
      scene.provider.key.privateJwk,
    ]) {
      scene.provider.misserve((_request, response) => response.end(JSON.stringify({ keys: [key] })));
      scene.edge.advance(301_000);
      assertRefused(await scene.exchange({ access_token: token }), 401, "INVALID_CREDENTIAL");
    }
  });

  it("in production nothing on this machine is asked, whatever was registered", async () => {
    const strict = await startScene({ identityLoopback: false });
    try {
      const { access_token } = await strict.provider.signIn("alice");
      assertRefused(await strict.exchange({ access_token }), 503, "STORE_UNAVAILABLE");
      const { port } = new URL(strict.provider.issuer);
      const named = { jwksUrl: `https://localhost:${port}/jwks`, jwksHost: `localhost:${port}` };
      const app_id = await strict.register(named);
      assertRefused(await strict.exchange({ app_id, access_token }), 503, "STORE_UNAVAILABLE");
      assert.equal(strict.provider.fetches, 0);
    } finally {
      await strict.stop();
    }
  });
});

describe("exchange: how often", () => {
  it("30 a minute for one address, good or bad, and no other address feels it", async () => {
    const scene = await startScene({ trustedHops: 1, limits: {} });
    try {
      const { access_token } = await scene.provider.signIn("alice");
      const from = (address: string, token = access_token): Promise<Answer> =>
        scene.exchange({ access_token: token }, { "X-Forwarded-For": address });
      const first = await from("192.0.2.1");
      assert.equal(first.headers.get("ratelimit-policy"), '"exchange-address";q=30;w=60');
      assert.match(first.headers.get("ratelimit") ?? "", /^"exchange-address";r=29;t=\d+$/);
      for (let i = 1; i < 30; i++) await from("192.0.2.1", i % 2 === 0 ? access_token : "bad");
      const refused = await from("192.0.2.1");
      assertRefused(refused, 429, "RATE_LIMITED");
      assert.equal(refused.body.policy, "exchange-address");
      assert.ok(Number(refused.headers.get("retry-after")) >= 1);
      assert.equal((await from("192.0.2.2")).status, 201);
      // Who has a credential is not touched by what strangers at the same address do.
      const who = await scene.edge.call("GET", "/whoami", { headers: { "X-Forwarded-For": "192.0.2.1" } });
      assert.equal(who.status, 200);
      scene.edge.advance(60_000);
      assert.equal((await from("192.0.2.1")).status, 201);
    } finally {
      await scene.stop();
    }
  });
});

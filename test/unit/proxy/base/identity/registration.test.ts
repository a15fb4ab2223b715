import assert from "node:assert/strict";
import { addApp, type NewApp } from "../../../../../proxy/base/identity/registration.ts";
import type { App, AppStore } from "../../../../../proxy/base/store/apps.ts";

const good: NewApp = {
  id: "app_shop",
  developerId: "shop",
  issuer: "https://login.example/",
  audience: "https://pay.example/api",
  jwksUrl: "https://login.example/.well-known/jwks.json",
  jwksHost: "login.example",
  perms: ["read"],
};

function emptyStore(): AppStore {
  const apps = new Map<string, App>();
  return {
    app: async (id) => apps.get(id),
    apps: async () => [...apps.values()],
    addApp: async (app) => {
      if (apps.has(app.id)) return false;
      apps.set(app.id, app);
      return true;
    },
    removeApp: async (id) => apps.delete(id),
  };
}

const add = (changes: Partial<NewApp>, store = emptyStore(), allowLoopback = false): Promise<App> =>
  addApp(store, async (id) => id === "shop", { ...good, ...changes }, { allowLoopback });

describe("registration of identity-provider apps", () => {
  it("keeps what was checked, with the narrowest defaults", async () => {
    const { createdAt, ...app } = await add({});
    assert.match(createdAt, /^\d{4}-/);
    assert.deepEqual(app, {
      ...good,
      algorithms: ["RS256", "PS256", "ES256", "EdDSA"],
      accessClaim: undefined,
      subClaim: "sub",
      maxTtlSecs: 900,
    });
    assert.deepEqual((await add({ accessClaim: "scope=pay=all" })).accessClaim, {
      name: "scope",
      value: "pay=all",
    });
  });

  const BAD: readonly [string, Partial<NewApp>, RegExp][] = [
    ["an id outside the names kept for apps", { id: "shop" }, /id is app_/],
    ["an id with a colon", { id: "app_a:b" }, /id is app_/],
    ["an unknown developer", { developerId: "nobody" }, /no developer/],
    ["an issuer that is no URL", { issuer: "login" }, /issuer/],
    ["an empty audience", { audience: "" }, /audience/],
    ["http", { jwksUrl: "http://login.example/jwks" }, /https/],
    ["a host that was not approved", { jwksHost: "other.example" }, /approved/],
    ["a look-alike host", { jwksUrl: "https://login.example@evil.example/" }, /user, password/],
    ["an address instead of a name", { jwksUrl: "https://10.0.0.1/", jwksHost: "10.0.0.1" }, /name/],
    ["an address in brackets", { jwksUrl: "https://[::1]/", jwksHost: "[::1]" }, /name/],
    ["no URL", { jwksUrl: "login.example" }, /URL/],
    ["a symmetric algorithm", { algorithms: ["HS256"] }, /algorithms/],
    ["none among others", { algorithms: ["RS256", "none"] }, /algorithms/],
    ["no algorithm", { algorithms: [] }, /algorithms/],
    ["no permission", { perms: [] }, /permissions/],
    ["an unknown permission", { perms: ["read", "admin"] }, /permissions/],
    ["a lifetime that is too long", { maxTtlSecs: 3_601 }, /lifetime/],
    ["a claim that ID tokens have too", { accessClaim: "aud=x" }, /ID tokens/],
    ["half a claim", { accessClaim: "scope" }, /name=value/],
    ["a claim without a value", { accessClaim: "scope=" }, /name=value/],
    ["an empty name of the user's claim", { subClaim: "" }, /claim/],
  ];
  for (const [what, changes, words] of BAD) {
    it(`refuses ${what}`, async () => {
      await assert.rejects(add(changes), words);
    });
  }

  it("refuses an id that is taken", async () => {
    const store = emptyStore();
    await add({}, store);
    await assert.rejects(add({}, store), /already/);
  });

  it("takes http and an address for development only", async () => {
    const local = { jwksUrl: "http://127.0.0.1:9/jwks", jwksHost: "127.0.0.1:9" };
    assert.equal((await add(local, emptyStore(), true)).jwksUrl, local.jwksUrl);
    await assert.rejects(add(local), /https/);
  });
});

// What every store of identity-provider apps promises.
import assert from "node:assert/strict";
import type { App, AppStore } from "../../../proxy/base/store/apps.ts";

export function anApp(id: string, change: Partial<App> = {}): App {
  return {
    id,
    developerId: "shop",
    createdAt: "2026-01-02",
    issuer: "https://id.example/",
    audience: "cloister",
    jwksUrl: "https://id.example/keys",
    jwksHost: "id.example:443",
    algorithms: ["ES256", "EdDSA"],
    accessClaim: undefined,
    subClaim: "sub",
    perms: ["read"],
    maxTtlSecs: 900,
    ...change,
  };
}

export function appStoreSuite(of: () => [AppStore, AppStore]): void {
  it("gives back apps as they were added, each id once", async () => {
    const [one, other] = of();
    const [plain, claimed] = [anApp("app_b"), anApp("app_a", { accessClaim: { name: "t", value: "é" } })];
    assert.equal(await one.addApp(plain), true);
    assert.equal(await one.addApp(claimed), true);
    assert.equal(await other.addApp(anApp("app_b", { issuer: "https://thief.example" })), false);
    assert.deepEqual(await other.app("app_b"), plain);
    assert.deepEqual(await other.apps(), [claimed, plain]);
  });

  it("removes an app once, for everybody", async () => {
    const [one, other] = of();
    await one.addApp(anApp("app_a"));
    assert.deepEqual(await Promise.all([one.removeApp("app_a"), one.removeApp("app_b")]), [true, false]);
    assert.equal(await other.app("app_a"), undefined);
    assert.equal(await other.removeApp("app_a"), false);
    assert.equal(await other.addApp(anApp("app_a")), true);
  });

  it("knows no app of a caller's invention, whatever it is called", async () => {
    const [one] = of();
    for (const id of ["app_none", "x".repeat(10_000), "\u0000", "{}*"])
      assert.equal(await one.app(id), undefined);
  });
}

// People at the dashboard over real HTTP, against a real process: invitations, passkeys, sessions, and everything that a
// stranger, a thief of a cookie or another page of the same machine may try.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { addDeveloper } from "../../../proxy/base/auth/registration.ts";
import { CSRF_HEADER, CSRF_VALUE, DASHBOARD } from "../../../proxy/dashboard/contract/endpoints.ts";
import { Authenticator } from "../../support/authenticator.ts";
import { Browser, refusedWith, startDashboard, type RunningDashboard } from "../../support/dashboard.ts";

describe("accounts of the dashboard", () => {
  let dashboard: RunningDashboard;
  before(async () => {
    dashboard = await startDashboard();
    for (const id of ["shop", "rival"]) await addDeveloper(dashboard.stores.keys, { id, name: id });
  });
  after(() => dashboard.stop());

  const forShop = { purpose: "sign-up", role: "developer", developerId: "shop" } as const;
  const operator = { purpose: "sign-up", role: "operator" } as const;
  async function signedUp(terms: typeof forShop | typeof operator = forShop): Promise<Browser> {
    const browser = new Browser(dashboard);
    await browser.signUp(await dashboard.invite(terms));
    return browser;
  }

  it("an invitation and a passkey make an account, and the passkey alone signs in", async () => {
    const browser = new Browser(dashboard);
    const token = await dashboard.invite(forShop);
    const view = await browser.call("viewInvitation", { token });
    assert.deepEqual([view.purpose, view.role, view.developer?.id], ["sign-up", "developer", "shop"]);
    const me = await browser.signUp(token, "Grace");
    assert.deepEqual([me.account.name, me.account.role, me.developer?.id], ["Grace", "developer", "shop"]);
    assert.notEqual(me.session.fresh_until, null);
    await browser.call("signOut", {});
    await assert.rejects(browser.call("me"), refusedWith("NOT_SIGNED_IN"));
    assert.equal((await browser.signIn()).account.id, me.account.id);
  });

  it("the cookie is bound to the host, hidden from scripts and sent by its own page only", async () => {
    const browser = new Browser(dashboard);
    const token = await dashboard.invite(forShop);
    const { options } = await browser.call("signUpOptions", { token, account_name: "A" });
    const response = browser.authenticator.create(options);
    const body = { token, account_name: "A", passkey_name: "p", response };
    const { headers } = await browser.request("POST", "/api/sign-up", body);
    const line = headers.getSetCookie().find((one) => one.startsWith("__Host-cloister-session=")) ?? "";
    for (const part of ["Path=/", "Secure", "HttpOnly", "SameSite=Strict"]) assert.ok(line.includes(part));
    assert.doesNotMatch(line, /Domain/i);
    // Of the cookie nothing is in the store but a keyed hash.
    const secret = browser.cookies.get("__Host-cloister-session")!;
    const me = await browser.call("me");
    const kept = await dashboard.stores.dashboardSessions.sessionsOf(me.account.id);
    assert.equal(kept.length, 1);
    assert.ok(!JSON.stringify(kept).includes(secret));
  });

  it("a sign-up whose passkey is framed by another page, or named otherwise than it is attested, uses nothing up", async () => {
    const browser = new Browser(dashboard);
    const token = await dashboard.invite(forShop);
    const tries: [Parameters<Authenticator["create"]>[1], object][] = [
      [{ crossOrigin: true }, {}],
      [{ topOrigin: "https://evil.example" }, {}],
      [{}, { id: "AAAA", rawId: "AAAA" }],
    ];
    for (const [deviations, names] of tries) {
      const { options } = await browser.call("signUpOptions", { token, account_name: "A" });
      const response = { ...browser.authenticator.create(options, deviations), ...names };
      const asked = { token, account_name: "A", passkey_name: "p", response };
      await assert.rejects(browser.call("signUp", asked), refusedWith("PASSKEY_REFUSED"));
    }
    assert.equal((await browser.signUp(token, "A")).account.name, "A");
  });

  it("a session ends when its browser signs in again", async () => {
    const browser = await signedUp();
    const before = new Map(browser.cookies);
    const me = await browser.signIn();
    const kept = await dashboard.stores.dashboardSessions.sessionsOf(me.account.id);
    assert.deepEqual(
      kept.map(({ id }) => id),
      [me.session.id],
    );
    browser.cookies.clear();
    for (const [name, value] of before) browser.cookies.set(name, value);
    await assert.rejects(browser.call("me"), refusedWith("SESSION_ENDED"));
  });

  it("an invitation is used once, also by two who race", async () => {
    const token = await dashboard.invite(forShop);
    const browsers = [1, 2, 3, 4].map(() => new Browser(dashboard));
    const outcomes = await Promise.allSettled(browsers.map((browser) => browser.signUp(token)));
    const refused = outcomes.filter((one) => one.status === "rejected");
    assert.equal(refused.length, 3);
    for (const one of refused) assert.ok(refusedWith("INVITATION_INVALID")(one.reason));
    await assert.rejects(browsers[0]!.call("viewInvitation", { token }), refusedWith("INVITATION_INVALID"));
  });

  it("one that is expired, cancelled, forged or unknown opens nothing, and does not say why", async () => {
    const browser = new Browser(dashboard);
    const expired = await dashboard.invite(forShop, 0);
    const cancelled = await dashboard.invite(forShop);
    const by = { kind: "program", name: "test" } as const;
    const at = new Date().toISOString();
    await dashboard.stores.accounts.cancelInvitation(cancelled.slice(4, 20), at, {
      by,
      verb: "invitation.cancel",
    });
    const forged = `${(await dashboard.invite(forShop)).slice(0, 21)}${"A".repeat(43)}`;
    const unknown = `inv_${"0".repeat(16)}_${"A".repeat(43)}`;
    const answers = new Set<string>();
    for (const token of [expired, cancelled, forged, unknown]) {
      const { status, body } = await browser.request("POST", "/api/invitation", { token });
      const { request_id: _id, ...rest } = body as Record<string, unknown>;
      answers.add(JSON.stringify([status, rest]));
      await assert.rejects(browser.signUp(token), refusedWith("INVITATION_INVALID"));
    }
    assert.equal(answers.size, 1);
  });

  it("a challenge is good for one answer, in the browser that asked", async () => {
    const browser = await signedUp();
    await browser.call("signOut", {});
    const { options } = await browser.call("signInOptions", {});
    const response = browser.authenticator.get(options);
    // Another browser, with the answer but without the cookie of the ceremony.
    await assert.rejects(
      new Browser(dashboard).call("signIn", { response }),
      refusedWith("CHALLENGE_INVALID"),
    );
    await browser.call("signIn", { response });
    await assert.rejects(browser.call("signIn", { response }), refusedWith("CHALLENGE_INVALID"));
    const wrong = await browser.call("signInOptions", {});
    const bad = browser.authenticator.get(wrong.options, { challenge: options.challenge });
    await assert.rejects(browser.call("signIn", { response: bad }), refusedWith("PASSKEY_REFUSED"));
    // The wrong answer has used it up.
    const late = browser.authenticator.get(wrong.options);
    await assert.rejects(browser.call("signIn", { response: late }), refusedWith("CHALLENGE_INVALID"));
  });

  it("refuses a passkey of another page, without the user's verification, unknown, or with a counter that went back", async () => {
    const browser = await signedUp();
    const tries: [string, Parameters<Authenticator["get"]>[1]][] = [
      ["another page", { origin: "https://evil.example" }],
      ["another port", { origin: "http://localhost:1" }],
      ["not verified", { isVerified: false }],
      ["framed by another page", { crossOrigin: true }],
      ["framed, and says by whom", { topOrigin: "https://evil.example" }],
    ];
    for (const [what, deviations] of tries) {
      const { options } = await browser.call("signInOptions", {});
      const response = browser.authenticator.get(options, deviations);
      await assert.rejects(browser.call("signIn", { response }), refusedWith("PASSKEY_REFUSED"), what);
    }
    await browser.signIn();
    const { options } = await browser.call("signInOptions", {});
    const copy = browser.authenticator.get(options, { counter: browser.authenticator.counter });
    await assert.rejects(browser.call("signIn", { response: copy }), refusedWith("PASSKEY_REFUSED"));
    const stranger = new Browser(dashboard);
    await assert.rejects(stranger.signIn(), refusedWith("PASSKEY_REFUSED"));
  });

  it("takes a change from its own page only", async () => {
    const browser = await signedUp();
    const tries: [string, Record<string, string | undefined>, number][] = [
      ["no Origin", { Origin: undefined }, 403],
      ["another origin", { Origin: "https://evil.example" }, 403],
      ["another port of this host", { Origin: "http://localhost:1" }, 403],
      ["a page of no origin", { Origin: "null" }, 403],
      ["another site", { "Sec-Fetch-Site": "cross-site" }, 403],
      ["the same site", { "Sec-Fetch-Site": "same-site" }, 403],
      ["without the header", { "X-Cloister-Dashboard": undefined }, 403],
      ["a form", { "Content-Type": "application/x-www-form-urlencoded" }, 415],
      ["plain text", { "Content-Type": "text/plain" }, 415],
    ];
    for (const [what, change, status] of tries)
      assert.equal(
        (await browser.request("POST", "/api/developer/origins", { origin: "https://a.example" }, change))
          .status,
        status,
        what,
      );
    assert.deepEqual((await browser.call("origins")).origins, []);
    const read = await browser.request("GET", "/api/me", undefined, { "Sec-Fetch-Site": "same-site" });
    assert.equal(read.status, 403);
  });

  it("binds the page: no script but its own, no frame, nothing kept of the API", async () => {
    const browser = await signedUp();
    for (const target of ["/api/me", "/api/nothing", "/"]) {
      const { headers } = await browser.request("GET", target);
      const policy = headers.get("Content-Security-Policy") ?? "";
      assert.match(policy, /default-src 'none'/);
      assert.match(policy, /frame-ancestors 'none'/);
      assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/);
      assert.doesNotMatch(policy, /unsafe/);
      assert.equal(headers.get("Referrer-Policy"), "no-referrer");
      assert.equal(headers.get("Cross-Origin-Opener-Policy"), "same-origin");
      assert.equal(headers.get("Cross-Origin-Resource-Policy"), "same-origin");
      assert.equal(headers.get("Access-Control-Allow-Origin"), null);
      if (target.startsWith("/api")) assert.equal(headers.get("Cache-Control"), "no-store");
    }
  });

  it("asks for a sign-in everywhere, and shows the wrong role nothing at all", async () => {
    const [shop, boss] = [await signedUp(), await signedUp(operator)];
    const nowhere = await shop.request("GET", "/api/operator/nothing");
    const strip = (body: unknown): unknown => ({ ...(body as object), request_id: "" });
    for (const { method, path, access } of Object.values(DASHBOARD)) {
      if (access === "none") continue;
      const target = path.replace("{id}", "0");
      assert.equal((await new Browser(dashboard).request(method, target)).status, 401, target);
      if (access === "account") continue;
      const wrong = access === "developer" ? boss : shop;
      const { status, body } = await wrong.request(method, target);
      assert.equal(status, 404, target);
      assert.deepEqual(strip(body), strip(nowhere.body), target);
    }
  });

  it("lists and ends sessions; one that ended elsewhere says so", async () => {
    const laptop = await signedUp();
    const phone = new Browser(dashboard, laptop.authenticator);
    await phone.signIn();
    const { sessions } = await laptop.call("accountSessions");
    assert.equal(sessions.length, 2);
    const other = sessions.find(({ is_current: isCurrent }) => !isCurrent)!;
    await laptop.call("endAccountSession", {}, { id: other.id });
    await assert.rejects(phone.call("me"), refusedWith("SESSION_ENDED"));
    assert.equal((await laptop.call("accountSessions")).sessions.length, 1);
    // A session of somebody else's is not there.
    const stranger = await signedUp();
    const [theirs] = (await stranger.call("accountSessions")).sessions;
    await assert.rejects(laptop.call("endAccountSession", {}, { id: theirs!.id }), refusedWith("NOT_FOUND"));
  });

  it("keeps several passkeys with names, and never loses the last", async () => {
    const browser = await signedUp();
    const second = new Authenticator(dashboard.origin);
    const { options } = await browser.call("addPasskeyOptions", {});
    const response = second.create(options);
    const { passkeys } = await browser.call("addPasskey", { name: "phone", response });
    assert.deepEqual(
      passkeys.map(({ name }) => name),
      ["laptop", "phone"],
    );
    const phone = new Browser(dashboard, second);
    await phone.signIn();
    const [first, added] = passkeys;
    const renamed = await browser.call("renamePasskey", { name: "old laptop" }, { id: first!.id });
    assert.equal(renamed.passkeys[0]?.name, "old laptop");
    assert.notEqual(renamed.passkeys[1]?.last_used_at, null);
    // Its own, which it came in with.
    const { passkeys: left } = await browser.call("removePasskey", {}, { id: first!.id });
    assert.equal(left.length, 1);
    await assert.rejects(browser.call("me"), refusedWith("SESSION_ENDED"));
    await assert.rejects(browser.signIn(), refusedWith("PASSKEY_REFUSED"));
    await assert.rejects(phone.call("removePasskey", {}, { id: added!.id }), refusedWith("LAST_PASSKEY"));
  });

  it("a session ends with the passkey that began it, also where another was used in it since", async () => {
    const thief = await signedUp();
    const owner = new Browser(dashboard);
    const { options } = await thief.call("addPasskeyOptions", {});
    const response = owner.authenticator.create(options);
    const { passkeys } = await thief.call("addPasskey", { name: "phone", response });
    await owner.signIn();
    const again = await thief.call("freshOptions", {});
    await thief.call("fresh", { response: owner.authenticator.get(again.options) });
    assert.equal((await owner.call("accountSessions")).sessions.length, 2);
    await owner.call("removePasskey", {}, { id: passkeys[0]!.id });
    assert.equal((await owner.call("accountSessions")).sessions.length, 1);
    await assert.rejects(thief.call("me"), refusedWith("SESSION_ENDED"));
    assert.equal((await owner.call("me")).account.name, "Ada");
  });

  it("a session of which no passkey is known is over", async () => {
    const browser = await signedUp();
    const { account } = await browser.call("me");
    const store = dashboard.stores.dashboardSessions;
    const [session] = await store.sessionsOf(account.id);
    const { passkeyId, ...older } = session!;
    assert.ok(passkeyId);
    await store.open(older);
    await assert.rejects(browser.call("me"), refusedWith("SESSION_ENDED"));
  });

  it("an invitation to recover an account is void when it was closed, or recovered by another", async () => {
    const boss = await signedUp(operator);
    const stateOf = async (token: string) =>
      (await boss.call("invitations")).invitations.find(({ id }) => token.includes(id))?.state;
    const invitedBack = async (of: Browser) => {
      const { account } = await of.call("me");
      const created = await boss.call("createInvitation", {
        for: "recovery",
        account_id: account.id,
        hours: 1,
      });
      assert.equal(created.invitation.state, "open");
      return { token: created.link.split("#")[1]!, id: account.id };
    };
    const [closed, recovered] = [await signedUp(), await signedUp()];
    const ofClosed = await invitedBack(closed);
    await boss.call("closeAccount", {}, { id: ofClosed.id });
    const [older, newer] = [await invitedBack(recovered), await invitedBack(recovered)];
    await new Browser(dashboard).signUp(newer.token);
    for (const { token } of [ofClosed, older]) {
      assert.equal(await stateOf(token), "void");
      const stranger = new Browser(dashboard);
      await assert.rejects(stranger.call("viewInvitation", { token }), refusedWith("INVITATION_INVALID"));
      await assert.rejects(stranger.signUp(token), refusedWith("INVITATION_INVALID"));
    }
    assert.equal(await stateOf(newer.token), "used");
  });

  it("recovers an account by another invitation: its old passkeys and sessions end", async () => {
    const lost = await signedUp();
    const { account } = await lost.call("me");
    const token = await dashboard.invite({
      ...{ purpose: "recovery", role: "developer", developerId: "shop", accountId: account.id },
    });
    const found = new Browser(dashboard);
    assert.equal((await found.call("viewInvitation", { token })).account_name, "Ada");
    assert.equal((await found.signUp(token, "ignored")).account.id, account.id);
    await assert.rejects(lost.call("me"), refusedWith("SESSION_ENDED"));
    await assert.rejects(lost.signIn(), refusedWith("PASSKEY_REFUSED"));
    assert.equal((await found.call("passkeys")).passkeys.length, 1);
  });

  it("a request whose body is held back until the account is recovered leaves no passkey in it", async () => {
    const thief = await signedUp();
    const { account } = await thief.call("me");
    const second = new Authenticator(dashboard.origin);
    const { options } = await thief.call("addPasskeyOptions", {});
    const body = JSON.stringify({ name: "mine", response: second.create(options) });
    const { origin, port } = dashboard;
    const held = request({
      ...{ host: "localhost", port, method: "POST", path: DASHBOARD.addPasskey.path },
      headers: {
        ...{ Host: new URL(origin).host, Origin: origin, [CSRF_HEADER]: CSRF_VALUE },
        ...{ "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) },
        Cookie: [...thief.cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        // Its answer says that the request has been taken up.
        Expect: "100-continue",
      },
    });
    const answered = once(held, "response") as Promise<[IncomingMessage]>;
    held.flushHeaders();
    await once(held, "continue");
    const token = await dashboard.invite({
      ...{ purpose: "recovery", role: "developer", developerId: "shop", accountId: account.id },
    });
    const owner = new Browser(dashboard);
    await owner.signUp(token);
    held.end(body);
    const [answer] = await answered;
    answer.resume();
    assert.equal(answer.statusCode, 401);
    assert.equal((await owner.call("passkeys")).passkeys.length, 1);
  });
});

describe("sessions of the dashboard that are over", () => {
  it("end without a request for a while, at their end, and dangerous changes ask again before", async () => {
    const dashboard = await startDashboard({
      ...{ CLOISTER_DASHBOARD_IDLE_MINUTES: "1", CLOISTER_DASHBOARD_FRESH_MINUTES: "1" },
    });
    try {
      await addDeveloper(dashboard.stores.keys, { id: "shop", name: "Shop" });
      const browser = new Browser(dashboard);
      const invited = await dashboard.invite({ purpose: "sign-up", role: "developer", developerId: "shop" });
      const { account } = await browser.signUp(invited);
      const store = dashboard.stores.dashboardSessions;
      const [session] = await store.sessionsOf(account.id);
      // Time is what the store says of it: nobody waits here.
      await store.touch(session!.key, { freshAt: Date.now() - 61_000 });
      assert.equal((await browser.call("me")).session.fresh_until, null);
      const press = { client_id: crypto.randomUUID(), name: "a" };
      await assert.rejects(browser.call("createKey", press), refusedWith("FRESH_NEEDED"));
      const { options } = await browser.call("freshOptions", {});
      await browser.call("fresh", { response: browser.authenticator.get(options) });
      assert.match((await browser.call("createKey", press)).key, /^ck_/);
      await store.touch(session!.key, { lastSeenAt: Date.now() - 121_000 });
      await assert.rejects(browser.call("me"), refusedWith("SESSION_ENDED"));
    } finally {
      await dashboard.stop();
    }
  });

  it("takes so many changes a day of an account, and what ends a thief's power ever after", async () => {
    const dashboard = await startDashboard({ CLOISTER_DASHBOARD_CHANGES_PER_DAY: "2" });
    try {
      await addDeveloper(dashboard.stores.keys, { id: "shop", name: "Shop" });
      const invited = { purpose: "sign-up", role: "developer", developerId: "shop" } as const;
      const [one, other] = [new Browser(dashboard), new Browser(dashboard)];
      for (const browser of [one, other]) await browser.signUp(await dashboard.invite(invited));
      const { record } = await one.call("createKey", { client_id: crypto.randomUUID(), name: "a" });
      const origin = { origin: "https://app.shop.example" };
      await one.call("addOrigin", origin);
      const full = await one.request("POST", "/api/developer/origins/remove", origin);
      assert.equal(full.status, 429);
      assert.ok(Number(full.headers.get("Retry-After")) > 0);
      assert.deepEqual((await one.call("origins")).origins, [origin.origin]);
      const { keys } = await one.call("revokeKey", {}, { id: record.id });
      assert.notEqual(keys[0]?.revoked_at, null);
      assert.deepEqual((await other.call("removeOrigin", origin)).origins, []);
      await one.call("signOut", {});
    } finally {
      await dashboard.stop();
    }
  });

  it("as it is set without more, lets thirty tries a minute and a thousand changes a day pass", async () => {
    const dashboard = await startDashboard({}, { asSetForPeople: true });
    try {
      await addDeveloper(dashboard.stores.keys, { id: "shop", name: "Shop" });
      const browser = new Browser(dashboard);
      const token = await dashboard.invite({ purpose: "sign-up", role: "developer", developerId: "shop" });
      await browser.call("viewInvitation", { token });
      await browser.signUp(token);
      await browser.call("signOut", {});
      await browser.signIn();
      // Three tries for the sign-up, two for the sign-in. The rest at once: a minute is soon over on a busy machine.
      await Promise.all(Array.from({ length: 25 }, () => new Browser(dashboard).call("signInOptions", {})));
      await assert.rejects(browser.call("signInOptions", {}), refusedWith("RATE_LIMITED"));

      const origin = { origin: "https://app.shop.example" };
      const change = (): Promise<number> =>
        browser.request("POST", "/api/developer/origins", origin).then(({ status }) => status);
      const statuses: number[] = [];
      for (let i = 0; i < 50; i++)
        statuses.push(...(await Promise.all(Array.from({ length: 20 }, () => change()))));
      assert.deepEqual(new Set(statuses), new Set([200]));
      assert.equal(await change(), 429);
      assert.deepEqual((await browser.call("origins")).origins, [origin.origin]);
    } finally {
      await dashboard.stop();
    }
  });

  it("slows down who tries without end", async () => {
    const dashboard = await startDashboard({ CLOISTER_DASHBOARD_TRIES_PER_MINUTE: "3" });
    try {
      const browser = new Browser(dashboard);
      for (let i = 0; i < 3; i++) await browser.call("signInOptions", {});
      await assert.rejects(browser.call("signInOptions", {}), refusedWith("RATE_LIMITED"));
      const { status, headers } = await browser.request("POST", "/api/invitation", {
        token: `inv_${"0".repeat(16)}_${"A".repeat(43)}`,
      });
      assert.equal(status, 429);
      assert.ok(Number(headers.get("Retry-After")) > 0);
    } finally {
      await dashboard.stop();
    }
  });
});

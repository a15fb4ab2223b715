// What developers and operators do at the dashboard over real HTTP: each change is in the store and in the audit log, and
// nobody sees what is another developer's.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { verifyApiKey } from "../../../proxy/base/auth/api-keys.ts";
import { addDeveloper } from "../../../proxy/base/auth/registration.ts";
import { mustField } from "../../../shared/protocol/brands.ts";
import { signalCount } from "../../../shared/protocol/statements.ts";
import { SpendingKey } from "../../../shared/notes/keys.ts";
import {
  aPress,
  Browser,
  refusedWith,
  startDashboard,
  USDC,
  type RunningDashboard,
} from "../../support/dashboard.ts";
import { ticketDraft } from "../../support/stores/tickets.ts";

const SINK = SpendingKey.fromSeed(new Uint8Array(32).fill(7)).viewing.addressText("clodev");
const APP = {
  issuer: "https://id.shop.example/",
  audience: "cloister",
  jwks_url: "https://id.shop.example/keys",
  perms: ["read" as const],
};

describe("developers and operators at the dashboard", () => {
  let dashboard: RunningDashboard;
  let shop: Browser;
  let rival: Browser;
  let boss: Browser;
  async function entered(developerId?: string): Promise<Browser> {
    const browser = new Browser(dashboard);
    const role = developerId === undefined ? "operator" : "developer";
    const whose = developerId === undefined ? {} : { developerId };
    await browser.signUp(await dashboard.invite({ purpose: "sign-up", role, ...whose }));
    return browser;
  }
  before(async () => {
    const feeSchedule = JSON.stringify([{ asset: USDC, operation: "transfer", flat: "50000", bps: 0 }]);
    dashboard = await startDashboard({
      CLOISTER_SERVICE_FEE_ADDRESS: SINK,
      CLOISTER_FEE_SCHEDULE: feeSchedule,
      CLOISTER_DASHBOARD_EXPLORER_TX: "https://explorer.example/tx/{tx}",
    });
    for (const id of ["shop", "rival"]) await addDeveloper(dashboard.stores.keys, { id, name: id });
    [shop, rival, boss] = [await entered("shop"), await entered("rival"), await entered()];
  });
  after(() => dashboard.stop());

  it("makes one key of one press, shows it to who pressed, and revokes it for ever", async () => {
    const press = { client_id: aPress(), name: "server" };
    const [one, two] = await Promise.all([shop.call("createKey", press), shop.call("createKey", press)]);
    assert.equal(one.key, two.key);
    assert.equal((await shop.call("createKey", press)).key, one.key);
    const { keys } = await shop.call("keys");
    assert.equal(keys.length, 1);
    assert.equal((await verifyApiKey(dashboard.stores.keys, dashboard.pepper, one.key))?.id, keys[0]?.id);
    // Another session of the same account is not shown it again.
    const phone = new Browser(dashboard, shop.authenticator);
    await phone.signIn();
    await assert.rejects(phone.call("createKey", press), refusedWith("KEY_SHOWN_ALREADY"));
    const where = { id: keys[0]!.id };
    assert.equal((await shop.call("keyImpact", undefined, where)).is_last_live_key, true);
    for (const name of ["keyImpact", "revokeKey"] as const)
      await assert.rejects(rival.call(name, {} as never, where), refusedWith("NOT_FOUND"));
    await shop.call("revokeKey", {}, where);
    assert.equal(await verifyApiKey(dashboard.stores.keys, dashboard.pepper, one.key), undefined);
  });

  it("keeps origins, and says of any address whether its page would be let in", async () => {
    await shop.call("addOrigin", { origin: "https://app.shop.example" });
    await rival.call("addOrigin", { origin: "https://app.rival.example" });
    const reasons: [string, string][] = [
      ["https://app.shop.example", "registered"],
      ["https://app.shop.example/pay?x=1", "registered-without-path"],
      ["app.shop.example", "registered-without-path"],
      ["http://app.shop.example", "not-registered"],
      ["https://app.rival.example", "others-only"],
      ["file:///home/me/index.html", "no-origin"],
      ["not a page", "malformed"],
    ];
    for (const [origin, reason] of reasons)
      assert.equal((await shop.call("testOrigin", { origin })).reason, reason, origin);
    for (const origin of [
      "https://a.example/",
      "ftp://a.example",
      "https://A.example",
      "https://*.example",
    ]) {
      const { status, body } = await shop.request("POST", "/api/developer/origins", { origin });
      assert.equal(status, 400);
      assert.equal((body as { errors: { path: string }[] }).errors[0]?.path, "origin");
    }
    assert.deepEqual((await shop.call("removeOrigin", { origin: "https://app.shop.example" })).origins, []);
  });

  it("an app is asked for, approved by its host, and refused with a reason", async () => {
    const { requests } = await shop.call("requestApp", { client_id: aPress(), ...APP });
    const { id } = requests[0]!;
    await assert.rejects(rival.call("withdrawApp", {}, { id }), refusedWith("NOT_FOUND"));
    await assert.rejects(
      boss.call("approveApp", { jwks_host: "id.other.example" }, { id }),
      refusedWith("INVALID_REQUEST"),
    );
    await boss.call("approveApp", { jwks_host: "id.shop.example" }, { id });
    const { apps, requests: after } = await shop.call("apps");
    assert.deepEqual([apps.length, after[0]?.state, after[0]?.app_id], [1, "approved", apps[0]?.id]);
    await assert.rejects(boss.call("refuseApp", { reason: "late" }, { id }), refusedWith("STATE_CHANGED"));
    const wrong = { client_id: aPress(), ...APP, jwks_url: "http://id.shop.example/keys" };
    const { body } = await shop.request("POST", "/api/developer/apps", wrong);
    assert.equal((body as { errors: { path: string }[] }).errors[0]?.path, "jwks_url");
    const second = await shop.call("requestApp", { client_id: aPress(), ...APP });
    const pending = second.requests.find(({ state }) => state === "pending")!;
    await boss.call("refuseApp", { reason: "who are you?" }, { id: pending.id });
    const found = (await shop.call("apps")).requests.find((one) => one.id === pending.id);
    assert.deepEqual([found?.state, found?.reason], ["refused", "who are you?"]);
    await assert.rejects(rival.call("removeApp", {}, { id: apps[0]!.id }), refusedWith("NOT_FOUND"));
    // Whoever asks under an id that looks like this request's gets an app of his own.
    const lookalike = `${id.slice(0, -12)}${"0".repeat(12)}`;
    await rival.call("requestApp", { client_id: lookalike, ...APP });
    await boss.call("approveApp", { jwks_host: "id.shop.example" }, { id: lookalike });
    const theirs = await rival.call("apps");
    assert.deepEqual([theirs.apps[0]?.id, theirs.apps.length], [theirs.requests[0]?.app_id, 1]);
    assert.notEqual(theirs.apps[0]?.id, apps[0]!.id);
    assert.deepEqual((await shop.call("removeApp", {}, { id: apps[0]!.id })).apps, []);
  });

  it("shows fees in money, and sets and removes a rule", async () => {
    const place = { asset: USDC, operation: "transfer" as const };
    const rule = { ...place, flat: "300000", bps: 0 };
    const preview = await shop.call("previewFee", { ...rule, amount: "100000000" });
    assert.deepEqual(
      [preview.user_pays, preview.fees, preview.arrives],
      ["100350000", "350000", "100000000"],
    );
    assert.match(preview.sentence, /^Of a transfer of 100 USDC your user pays 100\.35 USDC/);
    const deposit = { asset: USDC, operation: "deposit" as const, flat: "5", bps: 10_000, amount: "7" };
    assert.equal((await shop.call("previewFee", deposit)).is_impossible, true);
    await assert.rejects(shop.call("setFee", rule), refusedWith("INVALID_REQUEST"));
    await assert.rejects(
      shop.call("setFee", { ...rule, sink: "clodev1nothing" }),
      refusedWith("INVALID_REQUEST"),
    );
    const { rules } = await shop.call("setFee", { ...rule, sink: SINK });
    assert.deepEqual([rules.length, rules[0]?.flat, rules[0]?.sink], [1, "300000", SINK]);
    assert.deepEqual((await rival.call("fees")).rules, []);
    assert.equal((await boss.call("operatorFees")).rules[0]?.developer_id, "shop");
    assert.deepEqual((await shop.call("removeFee", place)).rules, []);
  });

  it("shows a developer his tickets alone", async () => {
    const draft = { ...ticketDraft(1, [1, 2]), id: randomUUID(), owner: { developerId: "shop", sub: "ada" } };
    const signals = Array.from({ length: signalCount("spend") }, () => mustField(1n));
    const transaction = { ...draft.transaction, signals };
    await dashboard.stores.tickets.accept({ ...draft, transaction }, 100);
    const { tickets } = await shop.call("tickets", undefined, { query: "?is_open=yes&sub=ada" });
    assert.deepEqual([tickets.length, tickets[0]?.ticket_id, tickets[0]?.sub], [1, draft.id, "ada"]);
    assert.deepEqual([tickets[0]?.operation, tickets[0]?.amount], ["withdraw", "1"]);
    assert.deepEqual((await rival.call("tickets", undefined, { query: "?is_open=yes" })).tickets, []);
    assert.deepEqual((await shop.call("tickets")).tickets, []);
    const life = await shop.call("ticket", undefined, { id: draft.id });
    assert.deepEqual(
      life.steps.map(({ state, is_reached: isReached }) => [state, isReached]),
      [
        ["queued", true],
        ["submitted", false],
        ["confirmed", false],
        ["finalized", false],
      ],
    );
    assert.equal((await shop.call("ticket", undefined, { id: life.statement })).ticket_id, draft.id);
    for (const id of [draft.id, life.statement])
      await assert.rejects(rival.call("ticket", undefined, { id }), refusedWith("NOT_FOUND"));
    await assert.rejects(shop.call("ticket", undefined, { id: "x".repeat(5_000) }), refusedWith("NOT_FOUND"));
    assert.equal((await boss.call("queue")).open[0]?.ticket_id, draft.id);
  });

  it("shows usage by day, with every day of the range", async () => {
    const { days, limits } = await shop.call("usage", undefined, { query: "?from=2026-01-01&to=2026-01-31" });
    assert.deepEqual([days.length, days[0]?.day, days.at(-1)?.day], [31, "2026-01-01", "2026-01-31"]);
    assert.deepEqual(
      limits.map(({ policy }) => policy),
      ["session-minute", "key-minute", "key-day"],
    );
    const wrong = { query: "?from=2020-01-01&to=2026-01-31" };
    await assert.rejects(shop.call("usage", undefined, wrong), refusedWith("INVALID_REQUEST"));
  });

  it("an operator changes limits, disables and enables, and each change says who made it", async () => {
    const { account } = await boss.call("me");
    const where = { id: "rival" };
    const { developers } = await boss.call("setLimits", { key_per_day: 5 }, where);
    const row = developers.find(({ id }) => id === "rival");
    assert.deepEqual([row?.limits.key_per_day, row?.raised], [5, ["key_per_day"]]);
    await boss.call("setLimits", { key_per_day: null }, where);
    assert.deepEqual((await dashboard.stores.keys.developer("rival"))?.limits, {});
    await boss.call("disableDeveloper", {}, where);
    assert.notEqual((await rival.call("me")).developer?.disabled_at, null);
    await boss.call("enableDeveloper", {}, where);
    const { entries } = await boss.call("operatorAudit");
    const made = entries.filter(({ by }) => by.id === account.id).map(({ verb }) => verb);
    assert.deepEqual(made.slice(0, 4), [
      "developer.enable",
      "developer.disable",
      "developer.limits",
      "developer.limits",
    ]);
    // A developer sees what was done to him, and nothing of another.
    const own = (await rival.call("audit")).entries;
    assert.ok(own.some(({ verb, by }) => verb === "developer.disable" && by.name === "Ada"));
    assert.ok(own.every(({ developer_id: id }) => id === "rival"));
    await assert.rejects(boss.call("setLimits", {}, { id: "nobody" }), refusedWith("NOT_FOUND"));
    await assert.rejects(boss.call("addDeveloper", { name: "Again", id: "shop" }), refusedWith("TAKEN"));
  });

  it("an operator invites and closes accounts; a link is in no list and no log", async () => {
    const made = await boss.call("createInvitation", { for: "developer", developer_id: "rival", hours: 1 });
    const token = made.link.split("#")[1]!;
    const listed = JSON.stringify([await boss.call("invitations"), await boss.call("operatorAudit")]);
    assert.ok(!listed.includes(token.slice(21)));
    const guest = new Browser(dashboard);
    const { account } = await guest.signUp(token);
    const { account: own } = await boss.call("me");
    await assert.rejects(boss.call("closeAccount", {}, { id: own.id }), refusedWith("STATE_CHANGED"));
    await boss.call("closeAccount", {}, { id: account.id });
    await assert.rejects(guest.call("me"), refusedWith("SESSION_ENDED"));
    await assert.rejects(guest.signIn(), refusedWith("PASSKEY_REFUSED"));
    const cancelled = await boss.call("createInvitation", { for: "operator" });
    await boss.call("cancelInvitation", {}, { id: cancelled.invitation.id });
    const late = { token: cancelled.link.split("#")[1]! };
    await assert.rejects(guest.call("viewInvitation", late), refusedWith("INVITATION_INVALID"));
  });

  it("says which part is down, and asks for no answer that it cannot have", async () => {
    const health = await boss.call("health");
    const stateOf = (name: string) => health.parts.find((part) => part.name === name)?.state;
    assert.deepEqual([stateOf("store"), stateOf("chain"), stateOf("watcher")], ["ok", "down", "unknown"]);
    assert.equal(health.state, "down");
    await assert.rejects(boss.call("enclaves"), refusedWith("CHAIN_UNAVAILABLE"));
    assert.equal((await boss.call("alarms")).watcher, "not-configured");
    assert.deepEqual((await boss.call("operatorBridges")).bridges, []);
  });

  it("revokes the sessions of one user and of all", async () => {
    const before = await shop.call("sessions");
    await shop.call("revokeSessions", { sub: "ada" });
    assert.equal(await dashboard.stores.keys.userEpoch("shop", "ada"), 1);
    assert.equal((await shop.call("revokeSessions", {})).epoch, before.epoch + 1);
  });
});

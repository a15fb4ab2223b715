// What every store of the dashboard's accounts, invitations, sessions, challenges and app requests promises, also when two
// programs write at once.
import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { Account, Invitation, Passkey } from "../../../proxy/base/store/accounts.ts";
import type { AppRequest } from "../../../proxy/base/store/app-requests.ts";
import type { DashboardSession } from "../../../proxy/base/store/dashboard-sessions.ts";
import type { InstanceStores } from "../../../proxy/base/store/instance.ts";

type Stores = Pick<InstanceStores, "accounts" | "dashboardSessions" | "appRequests" | "audit">;

const AT = "2026-11-25T10:00:00.000Z";
const NOTE = { by: { kind: "program", name: "test" }, verb: "account.sign-up" } as const;

const aPasskey = (id: string): Passkey => ({
  ...{ id, name: id, credentialId: `credential-${id}`.repeat(40), publicKey: Uint8Array.of(1, 2, 3) },
  ...{ counter: 0, transports: ["internal"], isSynced: false, createdAt: AT },
});
const anAccount = (id: string, ...passkeys: Passkey[]): Account => ({
  ...{ id, name: "Ada", role: "developer", developerId: "shop", createdAt: AT, sessionEpoch: 1, passkeys },
});
const anInvitation = (id: string, change: Partial<Invitation> = {}): Invitation => ({
  ...{ id, secretHash: Uint8Array.of(9), purpose: "sign-up", role: "developer", developerId: "shop" },
  ...{ createdAt: AT, expiresAt: "2026-11-25T11:00:00.000Z", ...change },
});
const aSession = (key: string, change: Partial<DashboardSession> = {}): DashboardSession => ({
  ...{ key, id: `id-${key}`, accountId: "a", epoch: 1, createdAt: 1_000, lastSeenAt: 1_000 },
  ...{ endsAt: 5_000, freshAt: 1_000, userAgent: "test", ...change },
});

export function accountStoreSuite(fresh: () => readonly [Stores, Stores]): void {
  let one: Stores;
  let other: Stores;
  beforeEach(() => {
    [one, other] = fresh();
  });

  it("an invitation makes one account, of two programs that race", async () => {
    await one.accounts.addInvitation(anInvitation("i"), NOTE);
    const use = (stores: Stores, id: string) =>
      stores.accounts.use(
        "i",
        AT,
        () => anAccount(id, aPasskey(id)),
        () => NOTE,
      );
    const outcomes = await Promise.all([use(one, "a"), use(other, "b"), use(one, "c"), use(other, "d")]);
    assert.equal(outcomes.filter((found) => found === "INVITATION_INVALID").length, 3);
    assert.equal((await other.accounts.accounts()).length, 1);
    const made = outcomes.find((found) => typeof found !== "string") as Account;
    assert.deepEqual(await other.accounts.accountOf(made.passkeys[0]!.credentialId), made);
  });

  it("none is used after its end or once it is cancelled, and each act stands in the log", async () => {
    await one.accounts.addInvitation(anInvitation("i"), NOTE);
    const late = "2026-11-25T11:00:00.000Z";
    const make = () => anAccount("a", aPasskey("p"));
    assert.equal(await one.accounts.use("i", late, make, () => NOTE), "INVITATION_INVALID");
    assert.equal(await other.accounts.cancelInvitation("i", AT, NOTE), true);
    assert.equal(await one.accounts.cancelInvitation("i", AT, NOTE), false);
    assert.equal(await one.accounts.use("i", AT, make, () => NOTE), "INVITATION_INVALID");
    const { entries } = await other.audit.page({ developerId: "shop", limit: 10 });
    assert.equal(entries.length, 2);
    assert.ok(!JSON.stringify(entries).includes("secretHash"));
  });

  it("a recovery voids the other invitations to recover that account, and none that comes later", async () => {
    const [before, later] = ["2026-11-25T09:00:00.000Z", "2026-11-25T10:30:00.000Z"];
    // The second begins later and later, so that it falls between any two steps of the first.
    for (let round = 0; round < 40; round++) {
      const named = (name: string): string => `${name}-${String(round)}`;
      const recovery = { purpose: "recovery", accountId: named("a") } as const;
      await one.accounts.addInvitation(anInvitation(named("i")), NOTE);
      for (const id of ["first", "second"])
        await one.accounts.addInvitation(anInvitation(named(id), { ...recovery, createdAt: before }), NOTE);
      await one.accounts.addInvitation(anInvitation(named("third"), { ...recovery, createdAt: later }), NOTE);
      const use = (stores: Stores, invitation: string, passkey: string) =>
        stores.accounts.use(
          named(invitation),
          AT,
          () => anAccount(named("a"), aPasskey(named(passkey))),
          () => NOTE,
        );
      await use(one, "i", "p");
      const [winner, behind] = round % 2 === 0 ? [one, other] : [other, one];
      const racing = use(winner, "first", "q");
      for (let turn = 0; turn < round; turn++) await setImmediate();
      const raced = await Promise.all([racing, use(behind, "second", "r")]);
      assert.equal(raced.filter((found) => found === "INVITATION_INVALID").length, 1);
      assert.equal(typeof (await use(other, "third", "s")), "object");
    }
  });

  it("a credential belongs to one account, and is forgotten with its passkey", async () => {
    await one.accounts.addInvitation(anInvitation("i"), NOTE);
    await one.accounts.addInvitation(anInvitation("j"), NOTE);
    await one.accounts.use(
      "i",
      AT,
      () => anAccount("a", aPasskey("p")),
      () => NOTE,
    );
    const second = await other.accounts.use(
      "j",
      AT,
      () => anAccount("b", aPasskey("p")),
      () => NOTE,
    );
    assert.equal(second, "PASSKEY_KNOWN");
    const outcomes = await Promise.all([
      one.accounts.addPasskey(anAccount("a"), aPasskey("q"), NOTE),
      other.accounts.addPasskey(anAccount("a"), aPasskey("q"), NOTE),
    ]);
    assert.equal(outcomes.filter((found) => found === false).length, 1);
    const ended = { ...anAccount("a"), sessionEpoch: 0 };
    assert.equal(await one.accounts.addPasskey(ended, aPasskey("r"), NOTE), undefined);
    const gone = aPasskey("p").credentialId;
    const without = (now: Account): Account => ({ ...now, passkeys: now.passkeys.slice(1) });
    await one.accounts.change("a", without, NOTE);
    assert.equal(await other.accounts.accountOf(gone), undefined);
    assert.equal((await other.accounts.accountOf(aPasskey("q").credentialId))?.id, "a");
    assert.equal(await one.accounts.accountOf("x".repeat(10_000)), undefined);
  });

  it("a challenge is taken once, of two programs that race, and never for another purpose", async () => {
    const given = { challenge: "c", purpose: "sign-in" } as const;
    await one.dashboardSessions.giveOut("holder", given, 60_000);
    assert.equal(await one.dashboardSessions.take("holder", "fresh"), undefined);
    const taken = await Promise.all(
      [one, other, one, other].map((stores) => stores.dashboardSessions.take("holder", "sign-in")),
    );
    assert.deepEqual(
      taken.filter((found) => found !== undefined),
      [given],
    );
  });

  it("sessions are listed by account, end for everybody, and old ones are swept", async () => {
    const [first, second] = [aSession("k"), aSession("l", { createdAt: 2_000 })];
    await one.dashboardSessions.open(first);
    await other.dashboardSessions.open(second);
    assert.deepEqual(await one.dashboardSessions.sessionsOf("a"), [second, first]);
    await one.dashboardSessions.end([first]);
    assert.equal(await other.dashboardSessions.session("k"), undefined);
    assert.equal(await other.dashboardSessions.touch("k", { freshAt: 3_000 }), undefined);
    await one.dashboardSessions.open(aSession("m", { accountId: "b", createdAt: 6_000, endsAt: 9_000 }));
    assert.equal(await other.dashboardSessions.session("l"), undefined);
    assert.deepEqual(await other.dashboardSessions.sessionsOf("a"), []);
  });

  it("an app request is decided once", async () => {
    const made: AppRequest = {
      ...{ id: "r", developerId: "shop", createdAt: AT, state: "pending", issuer: "i", audience: "a" },
      ...{
        jwksUrl: "https://i.example",
        algorithms: ["ES256"],
        subClaim: "sub",
        perms: ["read"],
        maxTtlSecs: 60,
      },
    };
    assert.deepEqual(
      await Promise.all([one.appRequests.add(made, NOTE), other.appRequests.add(made, NOTE)]).then((all) =>
        all.sort(),
      ),
      [false, true],
    );
    const decided = await Promise.all([
      one.appRequests.decide("r", (now) => ({ ...now, state: "approved" }), NOTE),
      other.appRequests.decide("r", (now) => ({ ...now, state: "refused" }), NOTE),
    ]);
    assert.equal(decided.filter((found) => found !== undefined).length, 1);
    assert.deepEqual(
      await one.appRequests.request("r"),
      decided.find((found) => found !== undefined),
    );
  });
}

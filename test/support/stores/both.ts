// The suite that every implementation of an instance's stores must pass.
import type { InstanceStores } from "../../../proxy/base/store/instance.ts";
import { accountStoreSuite } from "./accounts.ts";
import { appStoreSuite } from "./apps.ts";
import { auditStoreSuite } from "./audit.ts";
import { bridgeStoreSuite } from "./bridges.ts";
import { endedTicketsSuite } from "./ended-tickets.ts";
import { feeNoteStoreSuite } from "./fee-notes.ts";
import { feeRuleStoreSuite } from "./fee-rules.ts";
import { idempotencyStoreSuite } from "./idempotency.ts";
import { keyStoreSuite } from "./keys.ts";
import { priceStoreSuite } from "./prices.ts";
import { relayStoreSuite } from "./relay.ts";
import { ticketStoreSuite } from "./tickets.ts";
import { usageStoreSuite } from "./usage.ts";

/** `fresh` gives stores in which nothing is yet, as two proxies of one instance see them where there can be two. */
export interface FreshStores {
  readonly one: InstanceStores;
  readonly other: InstanceStores;
  /** See `idempotencyStoreSuite`. */
  lapse(): Promise<InstanceStores>;
}

export function storeSuites(fresh: () => Promise<FreshStores>): void {
  let one: InstanceStores;
  let other: InstanceStores;
  let lapse: FreshStores["lapse"];
  beforeEach(async () => {
    ({ one, other, lapse } = await fresh());
  });
  const both =
    <Name extends keyof InstanceStores>(name: Name) =>
    (): [InstanceStores[Name], InstanceStores[Name]] => [one[name], other[name]];

  describe("keys", () => keyStoreSuite(both("keys")));
  describe("accounts of the dashboard", () => accountStoreSuite(() => [one, other]));
  describe("identity-provider apps", () => appStoreSuite(both("apps")));
  describe("fee rules", () => feeRuleStoreSuite(both("feeRules")));
  describe("fee notes", () => feeNoteStoreSuite(both("feeNotes")));
  describe("prices", () => priceStoreSuite(both("prices")));
  describe("idempotency", () =>
    idempotencyStoreSuite(both("idempotency"), async () => (await lapse()).idempotency));
  describe("bridge requests", () => bridgeStoreSuite(both("bridges")));
  describe("what relay and proxies leave each other", () => relayStoreSuite(() => [one, other]));
  describe("tickets", () => ticketStoreSuite(() => [one, other]));
  describe("ended tickets", () => endedTicketsSuite(() => [one, other]));
  describe("usage", () => usageStoreSuite(() => [one, other]));
  describe("audit log", () => auditStoreSuite(() => [one, other]));
}

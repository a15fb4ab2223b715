// The stores of an instance over one implementation, and the suite that every implementation must pass.
import type { AppStore } from "../../../proxy/store/apps.ts";
import type { FeeNoteStore } from "../../../proxy/store/fee-notes.ts";
import type { FeeRuleStore } from "../../../proxy/store/fee-rules.ts";
import type { IdempotencyStore } from "../../../proxy/store/idempotency.ts";
import type { KeyStore } from "../../../proxy/store/keys.ts";
import type { PriceStore } from "../../../proxy/store/prices.ts";
import { appStoreSuite } from "./apps.ts";
import { feeNoteStoreSuite } from "./fee-notes.ts";
import { feeRuleStoreSuite } from "./fee-rules.ts";
import { idempotencyStoreSuite } from "./idempotency.ts";
import { keyStoreSuite } from "./keys.ts";
import { priceStoreSuite } from "./prices.ts";
import { ticketStoreSuite, type TicketStores } from "./tickets.ts";

export interface Stores {
  readonly keys: KeyStore;
  readonly apps: AppStore;
  readonly feeRules: FeeRuleStore;
  readonly feeNotes: FeeNoteStore;
  readonly prices: PriceStore;
  readonly idempotency: IdempotencyStore;
  readonly submission: TicketStores;
}

/** `fresh` gives stores in which nothing is yet, as two proxies of one instance see them where there can be two. */
export function storeSuites(fresh: () => Promise<{ readonly one: Stores; readonly other: Stores }>): void {
  let one: Stores;
  let other: Stores;
  beforeEach(async () => {
    ({ one, other } = await fresh());
  });
  const both =
    <Name extends keyof Stores>(name: Name) =>
    (): [Stores[Name], Stores[Name]] => [one[name], other[name]];

  describe("keys", () => keyStoreSuite(both("keys")));
  describe("identity-provider apps", () => appStoreSuite(both("apps")));
  describe("fee rules", () => feeRuleStoreSuite(both("feeRules")));
  describe("fee notes", () => feeNoteStoreSuite(both("feeNotes")));
  describe("prices", () => priceStoreSuite(both("prices")));
  describe("idempotency", () => idempotencyStoreSuite(both("idempotency")));
  describe("tickets", () => ticketStoreSuite(both("submission")));
}

/**
 * Requests for bridge addresses. Any proxy makes one; the limits on open ones are checks of the step that opens it, so
 * they hold across proxies and races. Equal terms of one owner are one request. What is open is an order of its own,
 * which whoever watches reads at its start and then follows.
 */
import { audited, noted, type Author, type Facts, type Note } from "./audit.ts";
import { bridgeForm, type BridgeRecord } from "./bridge-records.ts";
import { retrying, type Carried, type Check, type Engine, type Step, type Write } from "./engine.ts";
import { Records } from "./records.ts";
import { StoreUnavailable } from "./unavailable.ts";
import { hashed } from "./values.ts";

const BRIDGES = "bridges";
/** By owner and terms, the id. */
const TERMS = "bridges:terms";
const COUNTS = "bridges:counts";
const ALL = "all";
const OPEN = "bridges:open";
/** Tells our news from those of tickets. */
const NEWS = "bridge:";
const PAGE = 500;
/** Of one address, of one developer: as many users may have asked for the same terms. */
const MOST_AT_ONE_ADDRESS = 100;

export interface BridgeLimits {
  readonly openPerUser: number;
  /** Users are names that a developer gives: without this, one developer could take every address. */
  readonly openPerDeveloper: number;
  readonly openPerInstance: number;
}

export type Opening =
  | { readonly kind: "new" | "same"; readonly record: BridgeRecord }
  /** As many as are allowed are open already. */
  | { readonly kind: "full"; readonly of: "user" | "developer" | "instance" };

/** A promise of this store resolves when the change is durable, and not before. */
export class BridgeStore {
  readonly #engine: Engine;
  readonly #records: Records<BridgeRecord>;
  readonly #listeners = new Set<(record: BridgeRecord) => void>();
  #stopFollowing: (() => void) | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#records = new Records(engine, BRIDGES, bridgeForm);
  }

  /**
   * One atomic durable write: the record, where it is found, and its place among the open ones. Of the same owner
   * and terms there is one: it is taken up again, and nothing of it changes but the end of its watch.
   */
  async make(draft: BridgeRecord, limits: BridgeLimits): Promise<Opening> {
    const key = termsKey(draft);
    const writes: Write[] = [
      ["put", BRIDGES, draft.id, this.#records.write(draft.id, draft)],
      ["put", TERMS, key, draft.id],
      ...addressesOf(draft).map((address): Write => [
        "rank",
        atAddress(draft.owner.developerId, address),
        draft.createdAt,
        draft.id,
      ]),
      ...writesOfOpening(draft),
    ];
    for (;;) {
      const [known] = await this.#engine.get(TERMS, [key]);
      if (known !== undefined) return this.takeUp(known, draft.watchUntil, limits);
      const outcome = await this.#commit(
        { checks: [["is", TERMS, key, undefined]], writes },
        draft.owner,
        limits,
      );
      if (outcome === "again") continue;
      return outcome === "done" ? { kind: "new", record: draft } : outcome;
    }
  }

  /** Watched again until `watchUntil`, if it is not for longer already. */
  async takeUp(id: string, watchUntil: number, limits: BridgeLimits): Promise<Opening> {
    for (;;) {
      const [text] = await this.#engine.get(BRIDGES, [id]);
      const before = this.#records.read(id, text);
      if (before === undefined) throw new StoreUnavailable(new Error("a bridge request has no record"));
      const { closedAt, ...open } = before;
      const record = { ...open, watchUntil: Math.max(watchUntil, before.watchUntil) };
      const put: Write = ["put", BRIDGES, id, this.#records.write(id, record)];
      const checks: Check[] = [["is", BRIDGES, id, text]];
      if (closedAt === undefined) {
        const isSame = record.watchUntil === before.watchUntil;
        if (isSame || (await this.#engine.commit({ checks, writes: [put], thoughFull: true })).done)
          return { kind: "same", record };
        continue;
      }
      const outcome = await this.#commit(
        { checks, writes: [put, ...writesOfOpening(record)] },
        record.owner,
        limits,
      );
      if (outcome === "again") continue;
      return outcome === "done" ? { kind: "same", record } : outcome;
    }
  }

  get(id: string) {
    return this.#records.get(id);
  }

  /** Those of one developer, in order of their making: several of its users may have asked for the same terms. */
  async atAddress(developerId: string, address: string): Promise<BridgeRecord[]> {
    return this.#list(
      await this.#engine.members(atAddress(developerId, spelled(address)), { limit: MOST_AT_ONE_ADDRESS }),
    );
  }

  /** Every open request, in order of its making, in pages. */
  async *open(): AsyncGenerator<readonly BridgeRecord[]> {
    const ids = await this.#engine.members(OPEN);
    for (let at = 0; at < ids.length; at += PAGE) yield await this.#list(ids.slice(at, at + PAGE));
  }

  /** Those of one developer; with `sub`, of one user of it. */
  async openOf(developerId: string, sub: string | undefined): Promise<BridgeRecord[]> {
    return this.#list(
      await this.#engine.members(sub === undefined ? ofDeveloper(developerId) : ofUser({ developerId, sub })),
    );
  }

  /** Its watch has ended. Does nothing when it was taken up meanwhile, for longer than `at`. */
  close(id: string, at: number) {
    return this.#change(id, (now) =>
      now.closedAt !== undefined || now.watchUntil > at ? now : { ...now, closedAt: at },
    );
  }

  screen(id: string, isRefused: boolean, at: number, by?: Author) {
    return this.#change(
      id,
      (now) =>
        (now.screening?.isRefused ?? false) === isRefused ? now : { ...now, screening: { isRefused, at } },
      noted("bridge.screen", by),
    );
  }

  /** Its watch was promised for longer: it ends as soon as no money is on its way. */
  endWatch(id: string, at: number, by?: Author) {
    return this.#change(
      id,
      (now) => (now.closedAt !== undefined || now.watchUntil <= at ? now : { ...now, watchUntil: at }),
      noted("bridge.close", by),
    );
  }

  /** Asks whoever works on it to try the next step at once. */
  resend(id: string, at: number, by?: Author) {
    return this.#change(id, (now) => ({ ...now, resendAt: at }), noted("bridge.resend", by));
  }

  /**
   * Every request that is made or changed from now on, whoever wrote it, once it is durable. After a gap every open
   * one is named.
   */
  follow(listener: (record: BridgeRecord) => void): () => void {
    this.#listeners.add(listener);
    this.#stopFollowing ??= this.#engine.follow({
      named: async (members) =>
        this.#announce(
          await this.#list(
            members.filter((member) => member.startsWith(NEWS)).map((member) => member.slice(NEWS.length)),
          ),
        ),
      missed: async () => {
        for await (const page of this.open()) this.#announce(page);
      },
    });
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      this.#stopFollowing?.();
      this.#stopFollowing = undefined;
    };
  }

  async #list(ids: readonly string[]): Promise<BridgeRecord[]> {
    const found: BridgeRecord[] = [];
    for (let at = 0; at < ids.length; at += PAGE)
      for (const record of await this.#records.list(ids.slice(at, at + PAGE))) if (record) found.push(record);
    return found;
  }

  #announce(changed: readonly BridgeRecord[]): void {
    for (const record of changed) for (const listener of this.#listeners) listener(record);
  }

  /** Commits what opens a request; which of its limits refuses it, or undefined when it was written. */
  async #commit(
    step: Step & { readonly checks: readonly Check[] },
    owner: BridgeRecord["owner"],
    limits: BridgeLimits,
  ): Promise<"done" | "again" | Extract<Opening, { kind: "full" }>> {
    const checks: Check[] = [
      ...step.checks,
      ["below", COUNTS, ofUser(owner), limits.openPerUser],
      ["below", COUNTS, ofDeveloper(owner.developerId), limits.openPerDeveloper],
      ["below", COUNTS, ALL, limits.openPerInstance],
    ];
    const committed = await this.#engine.commit({ ...step, checks });
    if (committed.done) return "done";
    if (committed.failed < step.checks.length) return "again";
    const full = (["user", "developer", "instance"] as const)[committed.failed - step.checks.length];
    return { kind: "full", of: full ?? "instance" };
  }

  /** One atomic durable write over one record; `work` may be called again. What it leaves as it is is not written. */
  #change(
    id: string,
    work: (now: BridgeRecord) => BridgeRecord,
    note?: Note,
  ): Promise<BridgeRecord | undefined> {
    return retrying(this.#engine, async () => {
      const [text] = await this.#engine.get(BRIDGES, [id]);
      const before = this.#records.read(id, text);
      if (before === undefined) return { result: undefined };
      const next = work(before);
      const written = this.#records.write(id, next);
      if (written === text) return { result: next };
      const writes: Write[] = [["put", BRIDGES, id, written], ...writesOfClosing(before, next)];
      writes.push(["announce", NEWS + id]);
      const entry = note && entryOf(note, before, next);
      const step = {
        ...{ ...entry, checks: [["is", BRIDGES, id, text]] as const, thoughFull: true },
        writes: [...writes, ...(entry?.writes ?? [])],
      };
      return { step, result: next };
    });
  }
}

function entryOf(note: Note, before: BridgeRecord, after: BridgeRecord): Carried {
  const shown = ({ screening, resendAt, watchUntil }: BridgeRecord): Facts => ({
    ...{ isRefused: screening?.isRefused ?? false, resendAt, watchUntil },
  });
  const { id, owner } = after;
  return audited(note, {
    ...{ target: { kind: "bridge", id }, developerId: owner.developerId },
    ...{ before: shown(before), after: shown(after) },
  });
}

/** Any spelling of it under which its owner may ask. */
export function addressesOf({ address, way }: BridgeRecord): readonly string[] {
  if (way.kind === "from-altchain") return [address, way.tokenAccount, way.depositKey];
  return way.kind === "from-evm" && way.source !== undefined ? [address, way.source.address] : [address];
}

/** Of our own chain in lower case; base58 means its case. */
const spelled = (address: string): string => (address.startsWith("0x") ? address.toLowerCase() : address);

function writesOfOpening(record: BridgeRecord): Write[] {
  const { id, owner, createdAt } = record;
  return [
    ...ordersOf(owner).map((order): Write => ["rank", order, createdAt, id]),
    ...countsOf(owner).map((count): Write => ["add", COUNTS, count, 1]),
    ["announce", NEWS + id],
  ];
}

function writesOfClosing(before: BridgeRecord, { id, owner, createdAt, closedAt }: BridgeRecord): Write[] {
  if (before.closedAt !== undefined || closedAt === undefined) return [];
  return [
    ...ordersOf(owner).map((order): Write => ["unrank", order, createdAt, id]),
    ...countsOf(owner).map((count): Write => ["add", COUNTS, count, -1]),
  ];
}

/**
 * The addresses commit to all terms, and an account on the exchange is in the exit's hook. The deposit key is no part of
 * an address of ours.
 */
function termsKey({ owner, way, address }: BridgeRecord): string {
  const source = way.kind === "from-evm" ? (way.source?.address ?? "") : "";
  const key = way.kind === "from-altchain" ? way.depositKey : "";
  return hashed(JSON.stringify([ofUser(owner), way.kind, address, source, key]));
}

type Owner = BridgeRecord["owner"];
const countsOf = (owner: Owner): string[] => [ofUser(owner), ofDeveloper(owner.developerId), ALL];
const ordersOf = (owner: Owner): string[] => [OPEN, ofUser(owner), ofDeveloper(owner.developerId)];
const ofUser = ({ developerId, sub }: Owner): string =>
  `bridges:of:${developerId}:${sub === undefined ? "" : hashed(sub)}`;
const ofDeveloper = (developerId: string): string => `bridges:of-all:${developerId}`;
const atAddress = (developerId: string, address: string): string =>
  `bridges:at:${developerId}:${hashed(spelled(address))}`;

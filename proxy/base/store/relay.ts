/**
 * What the relay of an instance and its proxies leave for each other. The relay writes under the fence of its own lease,
 * who submits under the sequencer's, so neither changes anything once another has gone on without it. Nobody waits for the
 * other here: what a killed or frozen relay has left is read as it is, and judged by its age.
 */
import { z } from "zod";
import { bridgeStatus, type BridgeStatus } from "../../../shared/api/bridge-status.ts";
import type { Engine, Write } from "./engine.ts";
import { LEASE, RELAY_LEASE, writeUnder, type Fence } from "./lease.ts";
import { jsonForm, Records, type RecordOf } from "./records.ts";
import { storedAddress, storedBigint } from "./values.ts";

/** The call that the relay offers, what became of it, and how the relay stands: a record each. */
const DESK = "relay:desk";
const [OFFER, OUTCOME, STANDING] = ["offer", "outcome", "standing"];
/** By request, its status as the chains had it. */
const TOLD = "relay:told";
/** By request, a burn that its device has signed. */
const SIGNED = "relay:signed";
/** Tells our news from those of tickets and of requests. */
const NEWS = { offer: "relay-offer", told: "told:", signed: "signed:" } as const;
const PAGE = 500;

const offerShape = z.strictObject({
  /** Of each call another one. */
  id: z.string(),
  /** Number of the block of the pool's chain on which it was planned. */
  asOf: z.int(),
  to: storedAddress,
  data: z.string().regex(/^0x([0-9a-f]{2})*$/),
  gasLimit: storedBigint,
  label: z.string().max(64),
});
export type Offer = RecordOf<typeof offerShape>;

const outcomeShape = z.strictObject({
  id: z.string(),
  what: z.enum(["sent", "refused"]),
  /** Number of the newest block then. */
  at: z.int(),
});
export type Outcome = RecordOf<typeof outcomeShape>;

const standingShape = z.strictObject({
  /** By chain's name the newest block, or slot, that is final. */
  heads: z.record(z.string(), z.int()),
  /** Chains and venues that do not answer. */
  unreachable: z.array(z.string()),
  /** Milliseconds since 1970. */
  at: z.int(),
});
export type Standing = RecordOf<typeof standingShape>;

const signedShape = z.strictObject({
  /** Base64. */
  transaction: z.string(),
  /** Absent until the relay has looked at it. `refused`: it is not the burn that is awaited. `away`: the chain did not take it. */
  outcome: z.enum(["sent", "refused", "away"]).exactOptional(),
});
export type SignedOutcome = NonNullable<RecordOf<typeof signedShape>["outcome"]>;

export interface RelayNews {
  offered?(): void;
  /** Requests whose status was told anew. */
  told?(ids: readonly string[]): void;
  signed?(ids: readonly string[]): void;
  /** More went by than is kept. */
  missed(): void;
}
export type RelayWrites = ReturnType<RelayStore["underLease"]>;

/** Every write throws LeaseLost, and does nothing, once the lease has changed hands. */
export class RelayStore {
  readonly #engine: Engine;
  readonly #offers: Records<Offer>;
  readonly #outcomes: Records<Outcome>;
  readonly #standings: Records<Standing>;
  readonly #told: Records<BridgeStatus>;
  readonly #signed: Records<RecordOf<typeof signedShape>>;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#offers = new Records(engine, DESK, jsonForm<Offer>(offerShape, writeOffer));
    this.#outcomes = new Records(engine, DESK, jsonForm<Outcome>(outcomeShape));
    this.#standings = new Records(engine, DESK, jsonForm<Standing>(standingShape));
    this.#told = new Records(engine, TOLD, jsonForm<BridgeStatus>(bridgeStatus));
    this.#signed = new Records(engine, SIGNED, jsonForm<RecordOf<typeof signedShape>>(signedShape));
  }

  /** Undefined where none waits. */
  offer() {
    return this.#offers.get(OFFER);
  }

  /** Of the last offer that whoever submits has looked at. */
  outcome() {
    return this.#outcomes.get(OUTCOME);
  }

  /** Undefined while no relay has run. */
  standing() {
    return this.#standings.get(STANDING);
  }

  /** In the order asked; undefined where nothing was told yet. */
  told(ids: readonly string[]) {
    return this.#told.list(ids);
  }

  signed(id: string) {
    return this.#signed.get(id);
  }

  /** Requests with a signed burn that nobody has looked at. */
  async unanswered(): Promise<ReadonlyMap<string, string>> {
    const texts = await this.#engine.all(SIGNED);
    const found = [...texts].map(([id, text]) => [id, this.#signed.readOrSkip(id, text)] as const);
    return new Map(
      found.flatMap(([id, one]) =>
        one === undefined || one.outcome !== undefined ? [] : [[id, one.transaction] as const],
      ),
    );
  }

  /** Any proxy: for the relay, which sends it. */
  async sign(id: string, transaction: string): Promise<void> {
    const put: Write = ["put", SIGNED, id, this.#signed.write(id, { transaction })];
    await this.#engine.commit({ writes: [put, ["announce", NEWS.signed + id]] });
  }

  /** Under the sequencer's lease. */
  async settle(fence: Fence, outcome: Outcome): Promise<void> {
    const put: Write = ["put", DESK, OUTCOME, this.#outcomes.write(OUTCOME, outcome)];
    await writeUnder({ engine: this.#engine, lease: LEASE, fence }, [put]);
  }

  /** Under the relay's. */
  underLease(fence: Fence) {
    const write = (writes: readonly Write[]): Promise<boolean> =>
      writeUnder({ engine: this.#engine, lease: RELAY_LEASE, fence }, writes);
    return {
      /** Undefined: none waits any more. */
      offer: async (next: Offer | undefined): Promise<void> => {
        if (next === undefined) await write([["drop", DESK, OFFER]]);
        else
          await write([
            ["put", DESK, OFFER, this.#offers.write(OFFER, next)],
            ["announce", NEWS.offer],
          ]);
      },
      /** One atomic write for each page. */
      tell: async (statuses: readonly BridgeStatus[]): Promise<void> => {
        for (let at = 0; at < statuses.length; at += PAGE)
          await write(
            statuses.slice(at, at + PAGE).flatMap((one): Write[] => [
              ["put", TOLD, one.bridge_id, this.#told.write(one.bridge_id, one)],
              ["announce", NEWS.told + one.bridge_id],
            ]),
          );
      },
      /** Of a request that is watched no more. */
      forget: (id: string) =>
        write([
          ["drop", TOLD, id],
          ["drop", SIGNED, id],
        ]),
      stand: async (standing: Standing): Promise<void> => {
        await write([["put", DESK, STANDING, this.#standings.write(STANDING, standing)]]);
      },
      answer: async (id: string, transaction: string, outcome: SignedOutcome): Promise<void> => {
        await write([["put", SIGNED, id, this.#signed.write(id, { transaction, outcome })]]);
      },
    };
  }

  /** From now on; the result ends it. */
  follow(news: RelayNews): () => void {
    const named = (members: readonly string[], prefix: string): readonly string[] =>
      members.filter((one) => one.startsWith(prefix)).map((one) => one.slice(prefix.length));
    return this.#engine.follow({
      named(members) {
        if (members.includes(NEWS.offer)) news.offered?.();
        const [tellings, burns] = [named(members, NEWS.told), named(members, NEWS.signed)];
        if (tellings.length > 0) news.told?.(tellings);
        if (burns.length > 0) news.signed?.(burns);
        return Promise.resolve();
      },
      missed() {
        news.missed();
        return Promise.resolve();
      },
    });
  }
}

const writeOffer = ({ gasLimit, ...offer }: Offer) => ({ ...offer, gasLimit: String(gasLimit) });

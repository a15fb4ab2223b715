/**
 * The device that has the deposit keys of the other blockchain: it signs what the service has written, as the client library
 * does, and gives it back, or burns by itself. Nothing here decides what is signed but the client's own check.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import { z } from "zod";
import { burnMessage, signBurn, signedTransaction } from "../../../../shared/client/bridges/burn.ts";
import { DepositKey } from "../../../../shared/notes/bridge-keys.ts";
import { SpendingKey } from "../../../../shared/notes/keys.ts";
import { LONE_PAYER } from "./alt.ts";
import { altBalance } from "./alt-seen.ts";
import type { Desk } from "./desk.ts";
import type { Deposit } from "./requests.ts";
import type { Stage } from "./stage.ts";
import type { WayToSign } from "./steps.ts";
import type { Spot } from "./spot.ts";

/** More slots than a transaction can wait. */
const EXPIRES_AFTER_SLOTS = 160;
const GIVES_UP_AFTER_MS = 15_000;
const WRITTEN_WITHIN_ROUNDS = 25;
const ROUND_MS = 60;
const FINAL = 2_000;
const DUST = 5n;

export class Device {
  readonly #stage: Stage;
  readonly #desk: Desk;
  readonly #keys: SpendingKey;

  constructor(stage: Stage, desk: Desk) {
    this.#stage = stage;
    this.#desk = desk;
    this.#keys = SpendingKey.fromSeed(stage.facts.seed);
  }

  /** False where there was nothing to sign. `other`: the proxy that has not told it what to sign, if there is one. */
  async sign(name: string, how: WayToSign, place: Spot, other: Spot): Promise<boolean> {
    const { alt } = this.#stage.parties;
    if (how === "alone") return this.#burnAlone(this.#deposit(name));
    const signed = await this.#written(name, place);
    if (signed === undefined) return false;
    if (how === "late") await alt.pass(EXPIRES_AFTER_SLOTS);
    // Somebody's few units change what lies there, but not what was signed.
    if (how === "dusted") {
      await alt.issue(this.#deposit(name).key, DUST);
      await alt.pass(1);
    }
    const give = (to: Spot): Promise<void> => this.#desk.give(name, signed, to);
    if (how === "twice") await Promise.all([give(place), give(other)]);
    else await give(how === "elsewhere" ? other : place);
    return true;
  }

  /** It is online: whatever waits is signed and given back. */
  async signAll(place: Spot): Promise<void> {
    for (const { name } of this.#desk.asked) {
      if (this.#desk.prebuilt(name).deposit === undefined) continue;
      const signed = await this.#signed(name, place);
      if (signed !== undefined) await this.#desk.give(name, signed, place);
    }
  }

  /** A deposit takes some looks until it is seen and its burn is written. */
  async #written(name: string, place: Spot) {
    // A proxy that is held still answers nothing at all.
    const end = performance.now() + GIVES_UP_AFTER_MS;
    for (let i = 0; i < WRITTEN_WITHIN_ROUNDS && performance.now() < end; i++) {
      const signed = await this.#signed(name, place).catch(() => undefined);
      if (signed !== undefined) return signed;
      await this.#stage.parties.alt.pass(1);
      await new Promise((resolve) => setTimeout(resolve, ROUND_MS));
    }
    return undefined;
  }

  async #signed(name: string, place: Spot) {
    const asked = await this.#desk.toSign(name, place);
    if (asked === undefined) return undefined;
    const { index, terms } = this.#deposit(name);
    return { ...asked, transaction: signBurn(asked.transaction, new DepositKey(this.#keys, index), terms) };
  }

  /** With coins of its own, and without any service. */
  async #burnAlone({ index, tokenAccount, terms }: Deposit): Promise<boolean> {
    const { alt } = this.#stage.parties;
    const amount = await altBalance(alt, tokenAccount);
    if (amount < terms.minimum) return false;
    const shape = z.object({ value: z.object({ blockhash: z.string() }) });
    const { value } = await alt.call(shape, "getLatestBlockhash", [{ commitment: "confirmed" }]);
    const key = new DepositKey(this.#keys, index);
    const payer = base58.encode(ed25519.getPublicKey(LONE_PAYER));
    const fields = { amount, maxFee: 0n, finality: FINAL, payer, blockhash: value.blockhash };
    const message = burnMessage(fields, key.text, terms);
    const transaction = signedTransaction(message, [ed25519.sign(message, LONE_PAYER), key.sign(message)]);
    const config = { encoding: "base64", preflightCommitment: "confirmed" };
    // The service's burn may have been faster.
    return alt.call(z.string(), "sendTransaction", [transaction, config]).then(
      () => true,
      () => false,
    );
  }

  #deposit(name: string): Deposit {
    const { deposit } = this.#desk.prebuilt(name);
    if (deposit === undefined) throw new RangeError(`${name} has no deposit key`);
    return deposit;
  }
}

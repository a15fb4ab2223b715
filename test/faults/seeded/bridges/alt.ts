/** The other blockchain of a lane, from outside: its node as people ask it, and what makes its slots pass. */
import { ed25519 } from "@noble/curves/ed25519.js";
import { base58 } from "@scure/base";
import { z } from "zod";
import { FINAL_DEPTH } from "../../../../scripts/stand-ins/venues/altchain/ledger.ts";
import { JsonRpc } from "../../../../scripts/stand-ins/venues/json-rpc.ts";
import type { Bytes32 } from "../../../../shared/protocol/brands.ts";

/** A device that pays for its own burn has coins here. */
export const LONE_PAYER = new Uint8Array(32).fill(0x77);
const COINS = 100_000_000_000;
const SLOTS_A_CALL = 1_000;

/** The other blockchain; where its program listens differs from lane to lane. */
export interface AltFacts {
  readonly mint: string;
  readonly decimals: number;
  readonly domain: number;
  readonly messenger: Bytes32;
  /** Who pays the network for the service. */
  readonly feePayer: string;
  /** That the relay of the snapshot may have told of. Slots rise as long as there is an instance, also on a chain begun anew. */
  readonly slot: number;
}

export class Alt {
  readonly url: string;
  readonly #rpc: JsonRpc;

  constructor(url: string) {
    this.url = url;
    this.#rpc = new JsonRpc(url);
  }

  call<S extends z.ZodType>(shape: S, method: string, params: readonly unknown[]): Promise<z.output<S>> {
    return this.#rpc.call(shape, method, params);
  }

  /** A new chain: who pays for burns has coins. */
  async begin({ feePayer, slot }: AltFacts): Promise<void> {
    await this.pass(slot);
    for (const payer of [feePayer, base58.encode(ed25519.getPublicKey(LONE_PAYER))])
      await this.#rpc.call(z.string(), "requestAirdrop", [payer, COINS]);
    // Final, so that no reorganisation of a scenario takes their coins back.
    await this.pass(Number(FINAL_DEPTH) + 1);
  }

  slot(): Promise<number> {
    return this.call(z.int(), "getSlot", [{ commitment: "processed" }]);
  }

  async pass(slots: number): Promise<void> {
    for (let left = slots; left > 0; left -= SLOTS_A_CALL)
      await this.#develop("slots", { count: Math.min(left, SLOTS_A_CALL) });
  }

  /** Tokens for whoever has this key, in the slot that is open. */
  async issue(owner: string, amount: bigint): Promise<void> {
    await this.#develop("mint", { to: owner, amount: String(amount) });
  }

  /** `again`: what was in the blocks that are gone lands once more. False where what is final would go. */
  async reorganise(slots: number, again: boolean): Promise<boolean> {
    return this.#develop("reorganise", { slots, again }).then(
      () => true,
      () => false,
    );
  }

  async #develop(call: string, body: object): Promise<void> {
    const response = await fetch(`${this.url}/dev/${call}`, { method: "POST", body: JSON.stringify(body) });
    const said = await response.text();
    if (!response.ok) throw new Error(`${call}: ${said}`);
  }
}

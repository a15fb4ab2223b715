/**
 * What can lie at the addresses of one place, and the calls that move it: on its way, and back by the refund clock. The
 * contract decides what of it can happen now.
 */
import { FORWARDERS_ABI } from "../../../contracts/abi.ts";
import type { Address } from "../../../protocol/brands.ts";
import { toHex } from "../../../protocol/bytes.ts";
import { contractAbi } from "../../statements/execute-call.ts";
import type { InPlace, OutPlace, SourcePlace } from "../terms.ts";
import type { EvmChain } from "./evm-chain.ts";
import type { FoundMoney, RecoveryAct } from "./options.ts";
import type { Place } from "./places.ts";

export const FORWARDERS = contractAbi(FORWARDERS_ABI);
/** Of Circle's TokenMessengerV2; an older one has none, and takes nothing. */
export const MESSENGER = contractAbi(["function getMinFeeAmount(uint256 amount) view returns (uint256)"]);
/** The slow way: for it the attesters take nothing. */
const FINAL = 2_000;

/** A token's money at one address, and the three calls of its refund clock. */
export interface Held {
  readonly chain: EvmChain;
  readonly place: Place;
  readonly kind: FoundMoney["kind"];
  readonly vault: Address;
  readonly token: Address;
  readonly minimum: bigint;
  /** Who burns it on the way on, and may take a fee itself; undefined where nothing is burned. */
  readonly messenger: Address | undefined;
  /** The way on. */
  readonly act: RecoveryAct;
  readonly call: (maxFee: bigint) => readonly [name: string, args: readonly unknown[]];
  readonly touch: readonly [name: string, args: readonly unknown[]];
  readonly back: readonly [act: "refund" | "return", name: string, args: readonly unknown[]];
}

export class Holdings {
  readonly #home: EvmChain;
  readonly #others: ReadonlyMap<number, EvmChain>;

  constructor(home: EvmChain, others: ReadonlyMap<number, EvmChain>) {
    this.#home = home;
    this.#others = others;
  }

  atHome(place: Place, chain = this.#home): Held {
    const { record, at } = place;
    const common = {
      chain,
      place,
      vault: at.address,
      token: record.asset,
      minimum: record.minimum,
    };
    if (at.direction === "out") {
      const terms = outArgument(at);
      return {
        ...{
          ...common,
          kind: "out",
          act: "flush",
          messenger: at.terms.exit.messenger,
          call: (maxFee) => ["flush", [terms, maxFee, FINAL]],
        },
        ...{ touch: ["touchOut", [terms]], back: ["return", "returnOut", [terms]] },
      };
    }
    const terms = inArgument(at);
    return {
      ...{ ...common, kind: "in", act: "sweep", messenger: undefined },
      call: () => ["sweep", [[{ terms, fees: [] }], []]],
      ...{ touch: ["touch", [terms]], back: ["refund", "refund", [terms]] },
    };
  }

  elsewhere(place: Place): Held[] {
    return [...this.#atSource(place), ...this.#misplaced(place)];
  }

  /**
   * At the address of the pool's chain, on another one, in a token that has the asset's address there: no pool is there, so
   * it goes on where the exit's messenger is there, too, and else back by the clock.
   */
  #misplaced(place: Place): Held[] {
    return [...this.#others.values()].map((chain) => this.atHome(place, chain));
  }

  #atSource({ at, ...place }: Place): Held[] {
    if (at.direction === "out" || at.source === undefined) return [];
    const { source } = at;
    const terms = sourceArgument(source);
    const held: Held[] = [];
    for (const [number, lane] of source.terms.lanes.entries()) {
      const chain = this.#others.get(Number(lane.chainId));
      if (chain === undefined) continue;
      held.push({
        ...{
          chain,
          place: { at, ...place },
          kind: "source",
          vault: source.address,
          token: lane.token,
        },
        ...{ minimum: lane.minimum, act: "forward", messenger: lane.messenger },
        call: (maxFee) => ["forward", [terms, number, maxFee, FINAL]],
        ...{ touch: ["touchSource", [terms, number]], back: ["refund", "refundSource", [terms, number]] },
      });
    }
    return held;
  }
}

function receiverArgument({ npk, ephemeralKey, ciphertext }: InPlace["terms"]["receiver"]) {
  return { npk, ephemeralKey: toHex(ephemeralKey), ciphertext: toHex(ciphertext) };
}

export function inArgument({ terms }: InPlace) {
  return { ...terms, receiver: receiverArgument(terms.receiver) };
}

export function outArgument({ terms }: OutPlace) {
  const exit = { ...terms.exit, hook: toHex(terms.exit.hook) };
  return { ...terms, exit, refund: receiverArgument(terms.refund) };
}

export function sourceArgument({ terms }: SourcePlace) {
  return { ...terms, lanes: [...terms.lanes] };
}

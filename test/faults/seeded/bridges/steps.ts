/** What can be done in a scenario of bridges, as data. */
import type { Arming } from "../../../../scripts/stand-ins/between/node-relay.ts";
import type { Moment } from "../../../../scripts/stand-ins/between/trap.ts";
import type {
  AttesterFault,
  AttesterQuestion,
} from "../../../../scripts/stand-ins/between/attester-relay.ts";
import type {
  ExchangeFault,
  ExchangeQuestion,
} from "../../../../scripts/stand-ins/between/exchange-relay.ts";
import type { ChainName, PlaceName } from "./world.ts";
import type { Whom } from "./spot.ts";
import type { AccountKind } from "./world-exchange.ts";

/** Of a scenario's proxies. */
export type Via = 0 | 1;

/** A request that is there to be asked. */
export interface Supply {
  readonly name: string;
  /** `foreign`: in, from the other blockchain. `exchange`: out, to an account there. */
  readonly direction: "in" | "out" | "foreign" | "exchange";
  /** Of the exchange. */
  readonly account: AccountKind | undefined;
}

export type KillAt =
  | { readonly on: "now" }
  | {
      readonly on: "rpc";
      readonly chain: PlaceName;
      readonly method: string | undefined;
      readonly moment: Moment;
      /** Which such question. */
      readonly nth: number;
    }
  | { readonly on: "attester"; readonly question: AttesterQuestion | undefined; readonly moment: Moment }
  | { readonly on: "exchange-api"; readonly question: ExchangeQuestion | undefined; readonly moment: Moment };

export const STRANGERS_ACTS = ["deliver", "sweep", "forward", "flush", "relay", "refund"] as const;
export type StrangersAct = (typeof STRANGERS_ACTS)[number];

export const WAYS_TO_SIGN = ["once", "twice", "late", "dusted", "alone", "elsewhere"] as const;
export type WayToSign = (typeof WAYS_TO_SIGN)[number];

/** `away`: until the faults end. `forget`: it comes back without an account that has nothing. */
export const EXCHANGE_ACTS = ["restart", "away", "pause", "forget"] as const;
export type ExchangeAct = (typeof EXCHANGE_ACTS)[number];

export type Step =
  | {
      readonly do: "ask";
      readonly what: string;
      readonly via: Via;
      /** The caller hangs up so long after it asked. */
      readonly cutMs: number | undefined;
      /** The next step waits for the answer. */
      readonly waits: boolean;
    }
  /** Somebody sends so much to an address, which was told before. */
  | {
      readonly do: "pay";
      readonly what: string;
      readonly chain: PlaceName;
      readonly amount: string;
      readonly token: "right" | "wrong";
    }
  /** The trader has the exchange pay so much, and its fee, to an address, which was told before. */
  | { readonly do: "withdraw"; readonly what: string; readonly amount: string }
  | { readonly do: "exchange"; readonly act: ExchangeAct }
  | {
      readonly do: "exchange-api";
      readonly via: Via;
      readonly fault: ExchangeFault;
      readonly times: number;
    }
  /** Blocks come on all chains, one after the other, and everybody has time to look at each. */
  | { readonly do: "go"; readonly rounds: number }
  | { readonly do: "mine"; readonly chain: PlaceName; readonly blocks: number }
  /** The device signs what the service has written for it; see `device.ts`. */
  | { readonly do: "sign"; readonly what: string; readonly via: Via; readonly how: WayToSign }
  | { readonly do: "rpc"; readonly via: Via; readonly chain: PlaceName; readonly arming: Arming }
  | { readonly do: "attester"; readonly via: Via; readonly fault: AttesterFault; readonly times: number }
  /** It answers nothing and attests nothing until the faults end. */
  | { readonly do: "attester-away" }
  | {
      readonly do: "kill";
      readonly via: Via;
      readonly at: KillAt;
      readonly whom: Whom;
      readonly pauseMs: number;
    }
  /** Held still past its lease, so that another takes over, or for less. */
  | { readonly do: "freeze"; readonly via: Via; readonly whom: Whom; readonly lapses: boolean }
  /** A stranger sends so many grains of dust to an address, all in one block. */
  | { readonly do: "flood"; readonly what: string; readonly times: number }
  | { readonly do: "thaw" }
  /** Other blocks in the place of the newest; `later`: with their transactions again, each a block later. */
  | {
      readonly do: "reorg";
      readonly chain: PlaceName;
      readonly depth: number;
      readonly content: "empty" | "later";
    }
  /** The newest blocks are gone, and nothing is in their place yet. */
  | { readonly do: "rollback"; readonly chain: ChainName; readonly depth: number }
  /** The node forgets our waiting transaction. */
  | { readonly do: "drop"; readonly chain: ChainName }
  | { readonly do: "base-fee"; readonly chain: ChainName; readonly gwei: number }
  | { readonly do: "chain-clock"; readonly chain: ChainName; readonly secs: number }
  | { readonly do: "proxy-clock"; readonly ms: number }
  /** Somebody else does what the service would do, without fees. `refund`: after the time-out, to whom it is due. */
  | { readonly do: "stranger"; readonly act: StrangersAct; readonly what: string }
  /** Somebody has a message attested that says that a fortune was burned for this address. */
  | { readonly do: "forge"; readonly what: string };

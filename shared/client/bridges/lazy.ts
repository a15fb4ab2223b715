/** `wallet.bridges`: what comes in is read here; the work is in live.ts. */
import * as z from "../../api/zod.ts";
import type { Core } from "../paying/core.ts";
import {
  bridgeHints,
  bridgeInOptions,
  bridgeName,
  bridgeOutOptions,
  bridgeWaitOptions,
  bridgeWithdrawOptions,
  waitOptions,
  type Lists,
} from "../base/options.ts";
import type { Spending } from "../paying/spending.ts";
import type {
  BridgeHints,
  BridgeInOptions,
  BridgeOutOptions,
  Bridges,
  BridgeWaitOptions,
  BridgeWithdrawOptions,
} from "./bridges.ts";
import type { WaitOptions } from "../service/feed.ts";

export interface Parts {
  readonly core: Core;
  readonly spending: Spending;
  /** Throws WALLET_CLOSED and OPTIONS_INVALID. */
  check(schema: z.ZodType, given: unknown, name: string): void;
}

const text = z.string("a text");
const chainNumber = z.number("a chain's number").int().min(1);

export function lazyBridges(parts: Parts): Bridges {
  const { core, spending } = parts;
  let live: Bridges | undefined;
  // Only now: a page that shows a balance does not load them. And without pins there are none, and no reason to refuse a
  // wallet.
  const bridges = async (): Promise<Bridges> => {
    const { LiveBridges } = await import("./live.ts");
    return (live ??= new LiveBridges(core, spending));
  };
  const read = (name: string, schema: z.ZodType, given: unknown): void =>
    parts.check(schema, given, `bridges.${name}`);
  const incoming = bridgeInOptions satisfies Lists<BridgeInOptions>;
  const outgoing = bridgeOutOptions satisfies Lists<BridgeOutOptions>;
  const withdrawing = bridgeWithdrawOptions satisfies Lists<BridgeWithdrawOptions>;
  return {
    async fromExchange(options = {}) {
      read("fromExchange", incoming, options);
      return (await bridges()).fromExchange(options);
    },
    async fromChain(options = {}) {
      read("fromChain", incoming, options);
      return (await bridges()).fromChain(options);
    },
    async fromOtherBlockchain(options = {}) {
      read("fromOtherBlockchain", incoming, options);
      return (await bridges()).fromOtherBlockchain(options);
    },
    async toExchange(account, options = {}) {
      read("toExchange", z.tuple([text, outgoing]), [account, options]);
      return (await bridges()).toExchange(account, options);
    },
    async toChain(chainId, recipient, options = {}) {
      read("toChain", z.tuple([chainNumber, text, outgoing]), [chainId, recipient, options]);
      return (await bridges()).toChain(chainId, recipient, options);
    },
    async withdrawToExchange(account, amount, options = {}) {
      read("withdrawToExchange", z.tuple([text, withdrawing]), [account, options]);
      return (await bridges()).withdrawToExchange(account, amount, options);
    },
    async withdrawToChain(chainId, recipient, amount, options = {}) {
      read("withdrawToChain", z.tuple([chainNumber, text, withdrawing]), [chainId, recipient, options]);
      return (await bridges()).withdrawToChain(chainId, recipient, amount, options);
    },
    async status(idOrAddress, options = {}) {
      read("status", z.tuple([bridgeName, waitOptions satisfies Lists<WaitOptions>]), [idOrAddress, options]);
      return (await bridges()).status(idOrAddress, options);
    },
    async wait(idOrAddress, options = {}) {
      const waiting = bridgeWaitOptions satisfies Lists<BridgeWaitOptions>;
      read("wait", z.tuple([bridgeName, waiting]), [idOrAddress, options]);
      return (await bridges()).wait(idOrAddress, options);
    },
    async sign(idOrAddress, options = {}) {
      read("sign", z.tuple([bridgeName, waitOptions]), [idOrAddress, options]);
      return (await bridges()).sign(idOrAddress, options);
    },
    async list() {
      read("list", z.undefined(), undefined);
      return (await bridges()).list();
    },
    async refundKey(address) {
      read("refundKey", bridgeName, address);
      return (await bridges()).refundKey(address);
    },
    async find(hints = {}) {
      read("find", bridgeHints satisfies Lists<BridgeHints>, hints);
      return (await bridges()).find(hints);
    },
  };
}

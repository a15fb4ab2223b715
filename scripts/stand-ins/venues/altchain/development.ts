/** Calls that no real node has: for tests and the local stack, under `/dev/`. */
import { z } from "zod";
import type { Chain } from "./chain.ts";
import type { Issuing } from "./issuing.ts";
import type { Json } from "./json.ts";
import { address } from "./params.ts";

const minting = z.strictObject({ to: address, amount: z.string().regex(/^[1-9][0-9]{0,18}$/) });
const passing = z.strictObject({ count: z.number().int().min(1).max(1000) });
const reorganising = z.strictObject({
  slots: z.number().int().min(1).max(31),
  /** Whether validators pass the dropped transactions on once more. */
  again: z.boolean().default(false),
});

export type DevelopmentCall = (untrusted: unknown) => Json | Promise<Json>;

export function developmentCalls(chain: Chain, issue: Issuing): Readonly<Record<string, DevelopmentCall>> {
  return {
    "/dev/mint": async (untrusted) => {
      const { to, amount } = minting.parse(untrusted);
      const { signature, tokenAccount } = await issue.mint(to, BigInt(amount));
      return { signature, token_account: tokenAccount };
    },
    "/dev/slots": (untrusted) => {
      const { count } = passing.parse(untrusted);
      for (let passed = 0; passed < count; passed += 1) chain.advance();
      return { slot: chain.ledger.slotAt("processed") };
    },
    "/dev/reorganise": (untrusted) => {
      const { slots, again } = reorganising.parse(untrusted);
      return chain.reorganise(slots, again);
    },
  };
}

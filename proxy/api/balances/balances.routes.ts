/** GET /balance/usdc. */
import { balanceQuery } from "../../../shared/api/data.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { invalidField, parse } from "../../base/http/parse.ts";
import type { Handlers } from "../../base/http/routes.ts";
import type { Balances } from "./balances.service.ts";

export function balanceRoutes(balances: Balances): Handlers<"balance"> {
  return {
    async balance(ctx) {
      const account = asAddress(parse(balanceQuery, ctx.query, "query").address);
      if (account === undefined) throw invalidField("address", "not an address");
      ctx.body = await balances.usdc(account);
    },
  };
}

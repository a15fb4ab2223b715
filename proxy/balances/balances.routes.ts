/** GET /balance/usdc. */
import Router from "@koa/router";
import { balanceQuery } from "../../shared/api/data.ts";
import { asAddress } from "../../shared/protocol/brands.ts";
import { invalidField, parse } from "../http/parse.ts";
import type { RequestState } from "../http/state.ts";
import type { Balances } from "./balances.service.ts";

export function balanceRoutes(balances: Balances): Router<RequestState> {
  return new Router<RequestState>().get("/balance/usdc", async (ctx) => {
    const account = asAddress(parse(balanceQuery, ctx.query, "query").address);
    if (account === undefined) throw invalidField("address", "not an address");
    ctx.body = await balances.usdc(account);
  });
}

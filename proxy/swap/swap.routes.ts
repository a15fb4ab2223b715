/** POST /swap/quote. */
import Router from "@koa/router";
import { swapQuoteRequest } from "../../shared/api/swaps.ts";
import { ApiError } from "../http/errors.ts";
import { parse } from "../http/parse.ts";
import type { RequestState } from "../http/state.ts";
import type { SwapQuotes } from "./swap.service.ts";

/** `quotes` is undefined where swaps are off; the guard has then refused already. */
export function swapRoutes(quotes: SwapQuotes | undefined): Router<RequestState> {
  return new Router<RequestState>().post("/swap/quote", async (ctx) => {
    if (quotes === undefined) throw new ApiError("SWAPS_DISABLED", "This instance does not run swaps");
    const request = parse(swapQuoteRequest, ctx.state.json, "body");
    ctx.body = await quotes.quote(request, ctx.state.principal.developerId);
  });
}

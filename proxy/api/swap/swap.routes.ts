/** POST /swap/quote. */
import { swapQuoteRequest } from "../../../shared/api/swaps.ts";
import { ApiError } from "../../base/http/errors.ts";
import { parse } from "../../base/http/parse.ts";
import type { Handlers } from "../../base/http/routes.ts";
import type { SwapQuotes } from "./swap.service.ts";

/** `quotes` is undefined where swaps are off; the endpoint is then refused already. */
export function swapRoutes(quotes: Pick<SwapQuotes, "quote"> | undefined): Handlers<"swapQuote"> {
  return {
    async swapQuote(ctx) {
      if (quotes === undefined) throw new ApiError("SWAPS_DISABLED", "This instance does not run swaps");
      const request = parse(swapQuoteRequest, ctx.state.json, "body");
      ctx.body = await quotes.quote(request, ctx.state.principal.developerId);
    },
  };
}

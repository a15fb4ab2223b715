/** POST /bridge/perpvenue/in-address, /bridge/perpvenue/out-address and /bridge/altchain/deposit-address, and GET /bridge/status. */
import {
  bridgeDepositRequest,
  bridgeInRequest,
  bridgeOutRequest,
  bridgeQuery,
} from "../../../shared/api/bridges.ts";
import { invalidField, parse } from "../../base/http/parse.ts";
import { refuseSwitchedOff, type Handler, type Handlers } from "../../base/http/routes.ts";
import { ownerOf } from "../../base/http/state.ts";
import type { Bridges, Made } from "./bridge.service.ts";

export type BridgeEndpoint = "bridgeFromVenue" | "bridgeToVenue" | "bridgeFromChain" | "bridgeStatus";

/** `bridges` is undefined where they are off; every endpoint is then refused already. */
type Served = Pick<Bridges, "fromEvm" | "toOutside" | "fromAltchain" | "signed" | "status">;

export function bridgeRoutes(bridges: Served | undefined): Handlers<BridgeEndpoint> {
  const running = (): Served => bridges ?? refuseSwitchedOff("FEATURE_DISABLED");
  function show(ctx: Parameters<Handler>[0], { isNew, address }: Made): void {
    ctx.status = isNew ? 201 : 200;
    ctx.body = address;
  }
  return {
    async bridgeFromVenue(ctx) {
      const request = parse(bridgeInRequest, ctx.state.json, "body");
      show(ctx, await running().fromEvm(ownerOf(ctx.state.principal), request));
    },
    async bridgeToVenue(ctx) {
      const request = parse(bridgeOutRequest, ctx.state.json, "body");
      show(ctx, await running().toOutside(ownerOf(ctx.state.principal), request));
    },
    async bridgeFromChain(ctx) {
      const request = parse(bridgeDepositRequest, ctx.state.json, "body");
      const owner = ownerOf(ctx.state.principal);
      if ("bridge_id" in request) ctx.body = await running().signed(owner, request);
      else show(ctx, await running().fromAltchain(owner, request));
    },
    async bridgeStatus(ctx) {
      const query = parse(bridgeQuery, ctx.query, "query");
      if ((query.id === undefined) === (query.address === undefined))
        throw invalidField("id", "is needed, or address in its place");
      ctx.set("Cache-Control", "no-store");
      ctx.body = await running().status(ownerOf(ctx.state.principal), query);
    },
  };
}

// The edge with handlers of the money path that read and refuse as the service's own do; then its stage ends.
import { bridgeRoutes } from "../../../proxy/api/bridge/bridge.routes.ts";
import { eventsRoutes } from "../../../proxy/api/events/events.routes.ts";
import { parse } from "../../../proxy/base/http/parse.ts";
import type { Handler } from "../../../proxy/base/http/routes.ts";
import { readAttestBody, readRelayBody, readSequenceBody } from "../../../proxy/api/payments/body.ts";
import { swapRoutes } from "../../../proxy/api/swap/swap.routes.ts";
import { historyChunksQuery, merkleTreeQuery } from "../../../shared/api/data.ts";
import { ticketPath } from "../../../shared/api/transactions.ts";
import type { Kind } from "../../../shared/protocol/statements.ts";
import { absent, POOL, startEdge, USDC, type Edge, type EdgeOptions } from "../../support/edge.ts";

/** Refused credentials and exchanges are not slowed down: these tests send nothing else. */
export function startReadingEdge({
  features,
  ...options
}: EdgeOptions & {
  readonly features: { readonly swaps: boolean; readonly bridges: boolean };
}): Promise<Edge> {
  const limits = { failuresPerMinute: 1_000_000_000, exchangesPerMinute: 1_000_000_000 };
  const { swaps } = features;
  const bridges = features.bridges ? { info: () => BRIDGED, health: () => Promise.resolve(OK) } : undefined;
  return startEdge({ ...options, swaps, bridges, handlers: readingHandlers(), limits });
}

const OK = { state: "ok", ageMs: 0 } as const;
/** Nothing of it is looked at here. */
const BRIDGED = {
  ...{ factory: POOL, vault_code_hash: `0x${"ab".repeat(32)}`, collector: POOL, timeout_secs: 86_400 },
  ...{ assets: [{ asset: USDC, minimum: "2", fee_ceiling: "1" }], perpvenue: null, chains: [] },
  altchain: null,
};

/** As the service's own handlers read a request; then the stage ends. */
function readingHandlers(): NonNullable<EdgeOptions["handlers"]> {
  const sequenceOf =
    (kind: Kind): Handler =>
    (ctx) =>
      absent(readSequenceBody(kind, ctx.state.json));
  const attestOf =
    (kind: Kind): Handler =>
    (ctx) =>
      absent(readAttestBody(kind, ctx.state.json));
  return {
    sequenceDeposit: sequenceOf("deposit-shield"),
    sequenceSpend: sequenceOf("spend"),
    sequenceSpend9: sequenceOf("spend9"),
    sequenceSwap: sequenceOf("private-swap"),
    attestDeposit: attestOf("deposit-shield"),
    attestSpend: attestOf("spend"),
    attestSpend9: attestOf("spend9"),
    attestSwap: attestOf("private-swap"),
    ticket: (ctx) => absent(parse(ticketPath, ctx.params, "path")),
    relay: (ctx) => absent(readRelayBody(ctx.state.json)),
    historyChunks: (ctx) => absent(parse(historyChunksQuery, ctx.query, "query")),
    merkleTree: (ctx) => absent(parse(merkleTreeQuery, ctx.query, "query")),
    ...bridgeRoutes({
      ...{
        fromEvm: async () => absent(),
        toOutside: async () => absent(),
        fromAltchain: async () => absent(),
      },
      ...{ signed: async () => absent(), status: async () => absent() },
    }),
    ...swapRoutes({ quote: async () => absent() }),
    ...eventsRoutes({ read: () => absent() }, { openStream: () => absent() }),
  };
}

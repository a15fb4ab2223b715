// The edge with handlers of the money path that read and refuse as the service's own do; then its stage ends.
import { eventsRoutes } from "../../../proxy/events/events.routes.ts";
import { parse } from "../../../proxy/http/parse.ts";
import type { Handler } from "../../../proxy/http/routes.ts";
import { readAttestBody, readRelayBody, readSequenceBody } from "../../../proxy/payments/body.ts";
import { swapRoutes } from "../../../proxy/swap/swap.routes.ts";
import { merkleTreeQuery } from "../../../shared/api/data.ts";
import { ticketPath } from "../../../shared/api/transactions.ts";
import type { Kind } from "../../../shared/protocol/statements.ts";
import { absent, startEdge, type Edge, type EdgeOptions } from "./edge.ts";

/** Refused credentials and exchanges are not slowed down: these tests send nothing else. */
export function startReadingEdge(options: EdgeOptions): Promise<Edge> {
  const limits = { failuresPerMinute: 1_000_000_000, exchangesPerMinute: 1_000_000_000 };
  return startEdge({ ...options, handlers: readingHandlers(), limits });
}

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
    merkleTree: (ctx) => absent(parse(merkleTreeQuery, ctx.query, "query")),
    ...swapRoutes({ quote: async () => absent() }),
    ...eventsRoutes({ read: () => absent(), close: () => undefined }, { openStream: () => absent() }),
  };
}

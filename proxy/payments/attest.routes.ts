/** POST /attest/<kind> for every kind. */
import Router from "@koa/router";
import { checksumAddress } from "../../shared/api/checksum.ts";
import type { AttestResponse } from "../../shared/api/transactions.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { KIND_NAMES } from "../../shared/protocol/statements.ts";
import type { RequestState } from "../http/state.ts";
import { toAttest } from "./body.ts";
import type { Attest, SendableStatement } from "./attest.service.ts";

export function attestRoutes(attest: Attest): Router<RequestState> {
  const router = new Router<RequestState>();

  for (const kind of KIND_NAMES) {
    router.post(`/attest/${kind}`, async (ctx) => {
      const { developerId } = ctx.state.principal;
      ctx.body = toResponse(await attest.attest(developerId, toAttest(kind, ctx.state.json)));
    });
  }
  return router;
}

function toResponse({ statement, attestations, calldata }: SendableStatement): AttestResponse {
  return {
    kind: statement.kind,
    statement: statement.hash,
    deadline: Number(statement.deadline),
    attestations: attestations.map(({ signer, signature }) => ({
      signer: checksumAddress(signer),
      signature: toHex(signature),
    })),
    transaction: {
      to: checksumAddress(statement.home.pool),
      data: calldata,
      chain_id: Number(statement.home.chainId),
    },
  };
}

/** POST /attest/deposit-shield and /attest/spend. */
import Router from "@koa/router";
import { checksumAddress } from "../../shared/api/checksum.ts";
import { depositBody, spendBody, type AttestResponse } from "../../shared/api/transactions.ts";
import { toHex } from "../../shared/protocol/bytes.ts";
import { parse } from "../http/parse.ts";
import type { RequestState } from "../http/state.ts";
import type { Attest, SendableStatement } from "./attest.service.ts";

export function attestRoutes(attest: Attest): Router<RequestState> {
  const router = new Router<RequestState>();

  router.post("/attest/deposit-shield", async (ctx) => {
    const body = parse(depositBody, ctx.state.json, "body");
    ctx.body = toResponse(await attest.attest({ kind: "deposit-shield", body }));
  });

  router.post("/attest/spend", async (ctx) => {
    const body = parse(spendBody, ctx.state.json, "body");
    ctx.body = toResponse(await attest.attest({ kind: "spend", body }));
  });

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

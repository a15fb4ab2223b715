// A client that stops in front of sending, for who wants to see the request that a wallet made.
import type { Client } from "../../shared/client/index.ts";

/** Thrown in the place of sending; carries what would have been sent. */
export class Intercepted extends Error {
  readonly body: unknown;
  constructor(body: unknown) {
    super("not sent");
    this.body = body;
  }
}

export function intercepting(client: Client): Client {
  const stop = (body: unknown): Promise<never> => Promise.reject(new Intercepted(body));
  return {
    ...client,
    ...{ sequenceDeposit: stop, sequenceSpend: stop, sequenceSpend9: stop, sequenceSwap: stop },
    ...{ attestDeposit: stop, bridgeIn: stop, bridgeOut: stop, bridgeDeposit: stop },
  };
}

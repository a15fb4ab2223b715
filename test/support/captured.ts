// Real requests that were made, proved and signed, and not sent: what a hostile caller starts from.
import type { Client, Wallet } from "../../shared/client/index.ts";
import type { DepositBody, SpendBody, SwapBody } from "../../shared/api/transactions.ts";

type Body = DepositBody | SpendBody | SwapBody;

class Captured extends Error {
  readonly body: Body;
  constructor(body: Body) {
    super("captured");
    this.body = body;
  }
}

/** A client whose wallet builds everything and sends nothing. */
export function capturing(client: Client): Client {
  const stop = (body: Body): Promise<never> => Promise.reject(new Captured(body));
  return {
    ...client,
    sequenceDeposit: stop,
    sequenceSpend: stop,
    sequenceSpend9: stop,
    sequenceSwap: stop,
  };
}

/** The body that `act` would have sent. The wallet keeps the notes back afterwards: take another for the next. */
export async function capture<T extends Body>(
  wallet: Wallet,
  act: (wallet: Wallet) => Promise<unknown>,
): Promise<T> {
  try {
    await act(wallet);
  } catch (error) {
    if (error instanceof Captured) return structuredClone(error.body) as T;
    throw error;
  }
  throw new Error("the wallet sent nothing");
}

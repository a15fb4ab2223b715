/**
 * Deposits in which the chain runs code of the depositor's own: a smart account judges signatures (EIP-1271). Such code
 * can behave in every simulation and burn its whole share of gas in a block, so that not enough is left for those behind
 * it and the call reverts as a whole. One goes in a call at most, with its full share; where a call still fails, it is
 * put off and its neighbours are not.
 */
import { KEY_SIGNATURE_BYTES, type Tokens } from "../../base/chain/token.ts";
import type { TicketRecord } from "../../base/store/tickets.ts";
import { depositOf } from "./pool-transaction.ts";

/** Asked of the newest block: an account of a key can get code at any time (EIP-7702), and lose it. */
export async function runsOwnCode(
  tokens: Pick<Tokens, "isContract">,
  ticket: TicketRecord,
): Promise<boolean> {
  const deposit = depositOf(ticket);
  if (deposit === undefined) return false;
  if (ticket.transaction.authorization.length !== KEY_SIGNATURE_BYTES) return true;
  return tokens.isContract(deposit.depositor);
}

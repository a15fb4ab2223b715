/**
 * Balances of many deposit addresses, at a slot that the node chooses. A hundred accounts a call is the most that nodes answer,
 * so 10,000 addresses are 100 calls: what came and went is read by `blocks.ts`, with one call a block, and compared with these.
 */
import { TOKEN_PROGRAM_ADDRESS } from "@solana-program/token";
import { getAddressDecoder, getBase64Encoder, type Address } from "@solana/kit";
import { z } from "zod";
import { integer, readAnswer, type AltchainNode, type Commitment } from "./node.ts";
import { AltchainRefusal } from "./refusals.ts";
import type { AltchainToken } from "./token.ts";

/** Most that a node answers in one call. */
export const ACCOUNTS_A_CALL = 100;
/** Mint, owner and amount stand at the beginning of a token account; the rest is not sent. */
const SLICE = { offset: 0, length: 72 };

const answer = z.object({
  context: z.object({ slot: integer }),
  value: z.array(
    z.object({ owner: z.string(), data: z.tuple([z.string(), z.literal("base64")]) }).nullable(),
  ),
});

export interface BalancesAt {
  /** The lowest slot among the answers: nothing that came until then is missing. */
  readonly slot: bigint;
  /** Of every account asked for; 0 for one that does not exist or is of another token. */
  readonly amounts: ReadonlyMap<Address, bigint>;
}

export async function tokenBalances(
  node: AltchainNode,
  token: AltchainToken,
  accounts: readonly Address[],
  commitment: Commitment,
): Promise<BalancesAt> {
  const amounts = new Map<Address, bigint>();
  let lowest: bigint | undefined;
  for (let from = 0; from < accounts.length; from += ACCOUNTS_A_CALL) {
    const page = accounts.slice(from, from + ACCOUNTS_A_CALL);
    const said = await node
      .getMultipleAccounts(page, { commitment, encoding: "base64", dataSlice: SLICE })
      .send();
    const { context, value } = readAnswer(answer, said);
    if (value.length !== page.length) throw new AltchainRefusal("ANSWER_UNREADABLE");
    page.forEach((account, at) => amounts.set(account, amountIn(value[at] ?? null, token)));
    if (lowest === undefined || context.slot < lowest) lowest = context.slot;
  }
  return { slot: lowest ?? (await node.getSlot({ commitment }).send()), amounts };
}

function amountIn(account: z.output<typeof answer>["value"][number], token: AltchainToken): bigint {
  if (account?.owner !== TOKEN_PROGRAM_ADDRESS) return 0n;
  const data = Uint8Array.from(getBase64Encoder().encode(account.data[0]));
  if (data.length !== SLICE.length || getAddressDecoder().decode(data) !== token.mint) return 0n;
  return new DataView(data.buffer).getBigUint64(64, true);
}

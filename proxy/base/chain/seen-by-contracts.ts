/**
 * What contracts see at one block: its number, and what accounts hold of tokens. One `eth_call` without a receiver runs code as
 * if it created a contract, and answers what that returns. Every EVM node has it, and nothing has to be deployed (as Multicall3,
 * which is not everywhere, would have to be); it is one question, where vendors bound, count or refuse a JSON-RPC batch.
 *
 * The number need not be the node's: on Arbitrum contracts see the number of the chain below.
 */
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import { ChainUnreachable } from "./json-rpc.ts";
import type { Chain } from "./provider.ts";

/** Addresses in hex; wider words are taken as they are. The zero address as the token is the chain's coin. */
export interface Held {
  readonly account: string;
  readonly token: string;
}

/** In one question: code that creates a contract is bounded (EIP-3860: 49,152 bytes), and so is what it returns (EIP-170: 24,576). */
export const MOST_HELD = 400;

/**
 * Behind it stand account and token of each, two words. Memory: 28 to 96 the call with its token behind it, from 96 on what is
 * returned. Two values lie on the stack, from the top: where in the code the next two words stand, and where in memory their
 * balance goes. The number comes first, so that nothing that is returned begins with 0xef, which no code may (EIP-3541).
 */
const CODE = [
  "6370a08231600052", // memory[0] = selector of balanceOf(address), which ends at 32
  "43606052", // memory[96] = NUMBER
  "60806059", // to = 128, from = 89, the end of this code
  "5b38811015605057", // 16: while (from < CODESIZE)
  "604081602039", // memory[32] = account, memory[64] = token
  "6020826024601c6040515afa", // STATICCALL(GAS, token, 28, 36, to, 32)
  "601f3d111660019003", // 0 if that was answered with a word, otherwise all bits
  "8251178252", // memory[to] |= it
  "604051604457", // without a token,
  "6020513182525b", // memory[to] = BALANCE(account)
  "6040019060200190601056", // from += 64, to += 32
  "5b50606090036060f3", // 80: RETURN(96, to - 96)
].join("");

const NOT_TOLD = (1n << 256n) - 1n;
const WORD = 64;

/** What a token does not tell is left out. */
export async function seenByContracts<One extends Held>(
  chain: Pick<Chain, "call">,
  of: readonly One[],
  at: Bytes32,
): Promise<{ readonly number: number; readonly held: readonly (One & { readonly amount: bigint })[] }> {
  const words = of
    .flatMap(({ account, token }) => [account, token])
    .map((hex) => hex.slice(2).padStart(WORD, "0"));
  const answer = await chain.call({ data: `0x${CODE}${words.join("")}` }, at);
  const read =
    answer
      .slice(2)
      .match(/[0-9a-fA-F]{64}/g)
      ?.map((word) => BigInt(`0x${word}`)) ?? [];
  const [number, ...amounts] = read;
  const isWhole = amounts.length === of.length && answer.length === 2 + WORD * read.length;
  if (number === undefined || number > Number.MAX_SAFE_INTEGER || !isWhole)
    throw new ChainUnreachable("what contracts see was answered with something else");
  const held = of.map((one, place) => ({ ...one, amount: amounts[place]! }));
  return { number: Number(number), held: held.filter(({ amount }) => amount !== NOT_TOLD) };
}

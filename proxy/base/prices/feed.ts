/**
 * One question to a price feed with Chainlink's interface (AggregatorV3Interface, docs.chain.link, "API
 * reference"). The feed is a contract of somebody else's: its number is judged by the caller, and only its
 * form is believed here.
 */
import { Interface } from "ethers";
import type { Address } from "../../../shared/protocol/brands.ts";
import { ChainUnreachable, ChainRefused } from "../chain/json-rpc.ts";
import type { Chain } from "../chain/provider.ts";

export interface Round {
  readonly answer: bigint;
  readonly decimals: number;
  /** Unix seconds; 0 for a round that is not complete. */
  readonly updatedAt: number;
}

const ABI = new Interface([
  "function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)",
  "function decimals() view returns (uint8)",
]);
/** More than any feed or token has; a factor of 10^255 is no price. */
const MAX_DECIMALS = 36;

/**
 * `now` is the time of the block that was asked, Unix seconds. Undefined when the contract gives no round; throws
 * ChainUnreachable when the node is unreachable.
 */
export async function latestRound(
  chain: Pick<Chain, "call" | "header">,
  feed: Address,
): Promise<{ readonly round: Round; readonly now: number } | undefined> {
  const head = await chain.header("latest");
  if (head === undefined) throw new ChainUnreachable("the node has no newest block");
  // Of one block: an upgrade between the two questions must not give a price of another scale.
  const ask = async (name: "latestRoundData" | "decimals"): Promise<readonly unknown[]> => {
    const answer = await chain.call({ to: feed, data: ABI.encodeFunctionData(name) }, head.number);
    return ABI.decodeFunctionResult(name, answer).toArray() as unknown[];
  };
  try {
    const [[, answer, , updatedAt], [decimals]] = await Promise.all([
      ask("latestRoundData"),
      ask("decimals"),
    ]);
    if (typeof answer !== "bigint" || typeof updatedAt !== "bigint" || typeof decimals !== "bigint")
      return undefined;
    if (decimals > MAX_DECIMALS || updatedAt > Number.MAX_SAFE_INTEGER) return undefined;
    const round = { answer, decimals: Number(decimals), updatedAt: Number(updatedAt) };
    return { round, now: head.timestamp };
  } catch (error) {
    // A revert, or bytes that are no answer (no contract, another one).
    const isRevert = error instanceof ChainRefused && /revert/i.test(error.message);
    if (isRevert || isUndecodable(error)) return undefined;
    throw error;
  }
}

function isUndecodable(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "BAD_DATA";
}

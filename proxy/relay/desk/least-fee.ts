/**
 * What the bridge's own contract takes of a burn at least, whatever its attesters ask for: it refuses a burn that allows less.
 * Source: `getMinFeeAmount` of Circle's TokenMessengerV2.
 */
import { Interface } from "ethers";
import type { Address } from "../../../shared/protocol/brands.ts";
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";

const CONTRACT = new Interface(["function getMinFeeAmount(uint256 amount) view returns (uint256)"]);

/** In the token's smallest units; 0 where the contract has no such fee. Throws where the chain does not answer. */
export async function leastFee(
  chain: Pick<Chain, "call">,
  messenger: Address,
  amount: bigint,
): Promise<bigint> {
  const data = CONTRACT.encodeFunctionData("getMinFeeAmount", [amount]);
  try {
    const said = await chain.call({ to: messenger, data });
    return said.length === WORD ? BigInt(said) : 0n;
  } catch (error) {
    // One that was deployed before there was such a fee.
    if (error instanceof ChainRefused) return 0n;
    throw error;
  }
}

/** Hex digits of 32 bytes, with 0x. */
const WORD = 66;

/**
 * Whether the contracts before the exchange would take money for an account, by their own words. What they refuse is refused
 * permanently and, once it is burned, lost: so they are asked before, by a call that could move nothing.
 */
import { Interface } from "ethers";
import { ZERO_ADDRESS, type Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { ChainRefused } from "../../base/chain/json-rpc.ts";
import type { Chain } from "../../base/chain/provider.ts";
import { textIn } from "./refusal-words.ts";
import type { ExchangeDesk } from "./snapshot.ts";

export interface Door {
  readonly chain: Pick<Chain, "call">;
  readonly forwarder: Address;
  /** The dollar on the exchange's chain. */
  readonly token: Address;
}

const CONTRACTS = new Interface([
  "function tokenToForwardingAddress(address token) view returns (address)",
  "function depositFor(address recipient, uint256 amount, uint32 destinationId)",
]);
/** Nobody's, and refused by none: whether any money is taken. */
const ANYBODY = `0x${"00".repeat(19)}01` as Address;

/** `desk`, and besides what the contracts say. Throws where either does not answer. */
export function withDoor(desk: ExchangeDesk, door: Door): ExchangeDesk {
  return {
    hasAccount: async (account) =>
      (await desk.hasAccount(account)) && (await answerOf(door, account)) !== "refused",
    isOpen: async () => (await desk.isOpen()) && (await answerOf(door, ANYBODY)) !== "closed",
  };
}

/** A contract of another form says nothing that is known here; then what the exchange itself says is all there is. */
async function answerOf(
  { chain, forwarder, token }: Door,
  account: Address,
): Promise<"open" | "closed" | "refused"> {
  if (account === token) return "refused";
  const data = CONTRACTS.encodeFunctionData("tokenToForwardingAddress", [token]);
  const wallet = await answer(() => chain.call({ to: forwarder, data }));
  const address = asAddress(`0x${wallet.slice(26)}`);
  if (address === ZERO_ADDRESS) return "closed";
  if (address === undefined) return "open";
  // Nothing is refused last of all, so whoever is named is judged before.
  const deposit = CONTRACTS.encodeFunctionData("depositFor", [account, 0n, 0]);
  const said = textIn(await answer(() => chain.call({ to: address, data: deposit }))) ?? "";
  if (said.startsWith("Invalid recipient")) return "refused";
  return said === "Pausable: paused" ? "closed" : "open";
}

/** Its answer, or with what it reverted. */
async function answer(ask: () => Promise<string>): Promise<string> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ChainRefused)) throw error;
    return error.data;
  }
}

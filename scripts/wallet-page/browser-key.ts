/**
 * The public account that a deposit comes from: the browser's own wallet where one is installed (EIP-1193), or, on a
 * development chain, a throw-away key that this page makes. Loaded when somebody deposits.
 */
import { computeAddress, Interface, SigningKey, TypedDataEncoder } from "ethers";
import { eip1193Signer, type DepositSigner, type Eip1193Provider } from "../../shared/client/index.ts";
import type { Network, Token } from "./config.ts";
import { read, write } from "./kept.ts";
import { Refused } from "./words.ts";

const TOKEN = new Interface([
  "function mint(address to, uint256 amount)",
  "function balanceOf(address owner) view returns (uint256)",
]);
const ANSWER_MS = 15_000;
const KEY_BYTES = 32;

export interface PublicAccount {
  readonly address: string;
  readonly signer: DepositSigner;
  /** Whose it is. */
  readonly kind: "browser wallet" | "throw-away key";
}

/** Asks the person at their browser wallet. Throws Refused when it is on another network, or nothing was allowed. */
export async function connect({ pins, name }: Network): Promise<PublicAccount> {
  const { ethereum: provider } = window as { ethereum?: Eip1193Provider };
  if (provider === undefined) throw new Refused("device", "This browser has no wallet for public accounts.");
  const chain = await provider.request({ method: "eth_chainId", params: [] });
  if (typeof chain !== "string" || Number(chain) !== pins.chainId)
    throw new Refused(
      "you",
      `Your browser wallet is on another network. Switch it to ${name} (chain ${String(pins.chainId)}), then connect again.`,
    );
  const accounts = await provider.request({ method: "eth_requestAccounts", params: [] });
  const address: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof address !== "string") throw new Refused("you", "Your browser wallet showed no account.");
  return { address, signer: eip1193Signer(provider, address), kind: "browser wallet" };
}

/** The same one each time in this browser. For development chains: a key in a page's storage protects no money. */
export async function throwAwayKey(): Promise<PublicAccount> {
  let secret = await read("throw-away key");
  if (!(secret instanceof Uint8Array) || secret.length !== KEY_BYTES) {
    secret = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
    await write("throw-away key", secret);
  }
  const key = new SigningKey(secret as Uint8Array);
  const address = computeAddress(key);
  const signer: DepositSigner = {
    getAddress: async () => address,
    signTypedData: async (domain, types, message) =>
      key.sign(TypedDataEncoder.hash(domain, types, message)).serialized,
  };
  return { address, signer, kind: "throw-away key" };
}

export async function publicBalance(network: Network, token: Token, of: string): Promise<bigint> {
  const data = TOKEN.encodeFunctionData("balanceOf", [of]);
  const answer = await ask(network, "eth_call", [{ to: token.address, data }, "latest"]);
  return BigInt(answer as string);
}

/** Test money: the development node's own account pays the gas. */
export async function giveTestMoney(
  network: Network,
  token: Token,
  to: string,
  amount: bigint,
  signal: AbortSignal,
): Promise<void> {
  const [payer] = (await ask(network, "eth_accounts", [])) as string[];
  const data = TOKEN.encodeFunctionData("mint", [to, amount]);
  const hash = await ask(network, "eth_sendTransaction", [{ from: payer, to: token.address, data }]);
  while (!signal.aborted) {
    const receipt = (await ask(network, "eth_getTransactionReceipt", [hash])) as { status: string } | null;
    if (receipt !== null) {
      if (Number(receipt.status) === 1) return;
      throw new Refused("chain", "This token does not give out test money.");
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

async function ask({ chainRpc }: Network, method: string, params: readonly unknown[]): Promise<unknown> {
  const response = await fetch(chainRpc, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    credentials: "omit",
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  const { result, error } = (await response.json()) as { result?: unknown; error?: { message?: string } };
  if (error !== undefined) throw new Refused("chain", `Its node refused: ${error.message ?? "no reason"}`);
  return result;
}

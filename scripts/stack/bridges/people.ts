// What people do at the local venues without any service of ours: an account on the exchange, money on other chains. For
// demonstrations and tests. DEVELOPMENT ONLY.
import { Contract, Interface, JsonRpcProvider, Wallet } from "ethers";
import { z } from "zod";
import { encodeForward } from "../../../shared/protocol/host/cctp-forward.ts";
import { addressToWord } from "../../../shared/protocol/host/cctp.ts";
import type { Address } from "../../../shared/protocol/brands.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import { toHex } from "../../../shared/protocol/bytes.ts";
import type { BridgesEntry, NetworkEntry } from "../../base/stack-file.ts";
import { giveCoins } from "../../stand-ins/local-chain.ts";
import { poll } from "../../base/poll.ts";
import { TestUsdc } from "../../stand-ins/usdc.ts";
import { postAction, sendToEvm, signAction } from "../../stand-ins/venues/exchange/actions.ts";
import { readAmount, writeAmount } from "../../stand-ins/venues/exchange/amounts.ts";

const GAS_MONEY = 10n ** 18n;
const SAFE = 2_000;

const MESSENGER = new Interface([
  "function depositForBurnWithHook(uint256 amount, uint32 destinationDomain, bytes32 mintRecipient, address burnToken, bytes32 destinationCaller, uint256 maxFee, uint32 minFinalityThreshold, bytes hookData)",
]);
const MINTS = new Interface([
  "event MintAndWithdraw(address indexed mintRecipient, uint256 amount, address indexed mintToken, uint256 feeCollected)",
]);
const TOKEN = new Interface([
  "function approve(address spender, uint256 value)",
  "function transfer(address to, uint256 value)",
]);

export function chainAt({
  rpc,
  chain_id,
}: {
  readonly rpc: string;
  readonly chain_id: number;
}): JsonRpcProvider {
  return new JsonRpcProvider(rpc, chain_id, { staticNetwork: true, cacheTimeout: -1, pollingInterval: 200 });
}

// ---------------------------------------------------------------- the exchange

const state = z.object({ withdrawable: z.string() });

/** Perpetuals account, in the smallest units. */
export async function exchangeBalance({ perpvenue }: BridgesEntry, account: string): Promise<bigint> {
  const answer = await ask(`${perpvenue.api_url}/info`, { type: "clearinghouseState", user: account });
  const units = readAmount(state.parse(answer).withdrawable);
  if (units === undefined) throw new Error("the exchange told no amount");
  return units;
}

/** As anybody brings dollars there: a burn on the pool's chain whose hook names the account, delivered by its owner. */
export async function depositAtExchange(
  network: NetworkEntry,
  bridges: BridgesEntry,
  account: Wallet,
  amount: bigint,
): Promise<void> {
  const home = chainAt({ rpc: network.chain_rpc, chain_id: network.chain_id });
  const venue = chainAt(bridges.perpvenue);
  try {
    const person = account.connect(home);
    await (await TestUsdc.at(network.usdc, home)).mint(person.address, amount);
    await giveCoins(home, person.address, GAS_MONEY);
    await giveCoins(venue, person.address, GAS_MONEY);
    const { messenger } = bridges.home;
    await sent(person, network.usdc, TOKEN.encodeFunctionData("approve", [messenger, amount]));
    const forwarder = addressToWord(mustAddress(bridges.perpvenue.forwarder));
    const hook = toHex(encodeForward({ recipient: mustAddress(person.address), destination: "perps" }));
    const burn = [amount, bridges.perpvenue.domain, forwarder, network.usdc, forwarder, 0n, SAFE, hook];
    const hash = await sent(person, messenger, MESSENGER.encodeFunctionData("depositForBurnWithHook", burn));
    const { message, attestation } = await attested(bridges, bridges.home.domain, hash);
    const contract = new Contract(
      bridges.perpvenue.forwarder,
      ["function mintAndForward(bytes message, bytes attestation)"],
      account.connect(venue),
    );
    const delivery = (await contract.getFunction("mintAndForward")(message, attestation)) as {
      wait(): Promise<unknown>;
    };
    await delivery.wait();
  } finally {
    home.destroy();
    venue.destroy();
  }
}

/** The exchange pays any address on any chain that its messages reach. */
export async function sendFromExchange(
  { perpvenue, home }: BridgesEntry,
  account: Wallet,
  to: string,
  amount: bigint,
): Promise<void> {
  const order = { amount: writeAmount(amount), from: "perps", recipient: to, domain: home.domain } as const;
  await postAction(perpvenue.api_url, await signAction(account, sendToEvm({ ...order, nonce: Date.now() })));
}

const complete = z.object({
  status: z.literal("complete"),
  message: z.string(),
  attestation: z.string(),
});
/** Of what is not complete yet there is nothing to use. */
const messages = z.object({ messages: z.array(complete.or(z.unknown().transform(() => undefined))) });

async function attested({ attester_url: url }: BridgesEntry, domain: number, hash: string) {
  const found = await poll(async () => {
    const response = await fetch(`${url}/v2/messages/${String(domain)}?transactionHash=${hash}`);
    if (response.status === 404) return undefined;
    return messages.parse(await response.json()).messages[0];
  });
  if (found === undefined) throw new Error("the attester has not attested a burn");
  return found;
}

/**
 * What the attester kept of a burn of so much that came to this chain: the fee of a fast one, and nothing where the burn was
 * final before the attester could vouch for it.
 */
export async function feeTaken(
  chain: { readonly rpc: string; readonly chain_id: number },
  burnt: bigint,
): Promise<bigint> {
  const provider = chainAt(chain);
  try {
    const topics = [MINTS.getEvent("MintAndWithdraw")!.topicHash];
    const logs = await provider.getLogs({ topics, fromBlock: 0, toBlock: "latest" });
    for (const log of logs) {
      const { amount, feeCollected } = MINTS.parseLog(log)!.args as unknown as Record<string, bigint>;
      if (amount! + feeCollected! === burnt) return feeCollected!;
    }
  } finally {
    provider.destroy();
  }
  throw new Error(`no burn of ${burnt} came to the chain ${chain.chain_id}`);
}

// ---------------------------------------------------------------- other chains

/** Test dollars on another EVM chain, sent to an address there. */
export async function sendOnChain(
  chain: BridgesEntry["chains"][number],
  to: string,
  amount: bigint,
): Promise<void> {
  const provider = chainAt(chain);
  try {
    const person = new Wallet(Wallet.createRandom().privateKey, provider);
    await giveCoins(provider, person.address, GAS_MONEY);
    await (await TestUsdc.at(chain.usdc, provider)).mint(person.address, amount);
    await sent(person, chain.usdc, TOKEN.encodeFunctionData("transfer", [to, amount]));
  } finally {
    provider.destroy();
  }
}

export async function balanceOnChain(
  chain: { readonly rpc: string; readonly chain_id: number; readonly usdc: string },
  of: string,
): Promise<bigint> {
  const provider = chainAt(chain);
  try {
    return await (await TestUsdc.at(chain.usdc, provider)).balanceOf(of);
  } finally {
    provider.destroy();
  }
}

/** Tokens of the other blockchain for whoever owns this key, as its bridge's minter brings them. */
export async function giveOnAltchain(
  { altchain }: BridgesEntry,
  owner: string,
  amount: bigint,
): Promise<void> {
  await ask(`${altchain.rpc}/dev/mint`, { to: owner, amount: String(amount) });
}

function mustAddress(text: string): Address {
  const address = asAddress(text);
  if (address === undefined) throw new TypeError("not an address");
  return address;
}

async function ask(url: string, body: unknown): Promise<unknown> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`${url} answered ${String(response.status)}`);
  return response.json();
}

/** Its hash, once it is mined and has succeeded. */
async function sent(from: Wallet, to: string, data: string): Promise<string> {
  const receipt = await (await from.sendTransaction({ to, data })).wait();
  if (receipt?.status !== 1) throw new Error("a transaction failed");
  return receipt.hash;
}

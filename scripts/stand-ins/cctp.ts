// Stand-ins for CCTP on local chains: deployed, with one token that is burnt and minted, and linked with each other.
// DEVELOPMENT ONLY.
import { Contract, type ContractTransactionResponse, type Signer } from "ethers";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import { paddedAddress } from "../../shared/protocol/host/forwarders.ts";
import { loadArtifact } from "../build/contracts.ts";
import { deployContract } from "../deploy/pool.ts";

export interface CctpSettings {
  /** This chain's, in CCTP's own numbers. */
  readonly domain: number;
  readonly token: Address;
  readonly attesters: readonly Address[];
  readonly threshold: number;
  readonly feeRecipient: Address;
}

export interface Cctp {
  readonly domain: number;
  readonly token: Address;
  readonly transmitter: Address;
  readonly messenger: Address;
  readonly minter: Address;
  /** Nothing of them is before this block. */
  readonly block: number;
}

/** What another domain burns, and who says so. */
export interface Remote {
  readonly domain: number;
  readonly messenger: Bytes32;
  readonly token: Bytes32;
}

/** Circle's own limit for dollars. */
const BURN_LIMIT = 10_000_000_000_000n;

export async function deployCctp(sender: Signer, settings: CctpSettings): Promise<Cctp> {
  const place = async (name: string, ...args: unknown[]) =>
    (await deployContract(sender, name, args)).address;
  const { domain, token, attesters, threshold } = settings;
  const first = await deployContract(sender, "MessageTransmitterV2", [domain, attesters, threshold]);
  const { address: transmitter, block } = first;
  const messenger = await place("TokenMessengerV2", transmitter, settings.feeRecipient);
  const minter = await place("TokenMinterV2");
  await tell(sender, "TokenMessengerV2", messenger, "addLocalMinter", minter);
  await tell(sender, "TokenMinterV2", minter, "addLocalTokenMessenger", messenger);
  await tell(sender, "TokenMinterV2", minter, "setMaxBurnAmountPerMessage", token, BURN_LIMIT);
  return { domain, token, transmitter, messenger, minter, block };
}

/** This side mints for burns of the other. */
export async function acceptRemote(
  sender: Signer,
  here: Pick<Cctp, "messenger" | "minter" | "token">,
  remote: Remote,
): Promise<void> {
  const { domain, messenger, token } = remote;
  await tell(sender, "TokenMessengerV2", here.messenger, "addRemoteTokenMessenger", domain, messenger);
  await tell(sender, "TokenMinterV2", here.minter, "linkTokenPair", here.token, domain, token);
}

export function asRemote({ domain, messenger, token }: Cctp): Remote {
  return { domain, messenger: paddedAddress(messenger), token: paddedAddress(token) };
}

async function tell(
  sender: Signer,
  name: string,
  address: Address,
  call: string,
  ...args: unknown[]
): Promise<void> {
  const { abi } = await loadArtifact(name);
  const contract = new Contract(address, abi, sender);
  const sent = (await contract.getFunction(call)(...args)) as ContractTransactionResponse;
  await sent.wait();
}

// Puts the stand-ins of CCTP on local chains and introduces them to each other, and those of the exchange's doors.
// DEVELOPMENT ONLY: one owner holds every role, and the dollars are printed.
import { Contract, MaxUint256, NonceManager, Wallet, type JsonRpcProvider, type Signer } from "ethers";
import type { Address } from "../../../shared/protocol/brands.ts";
import { deployContract } from "../../deploy/pool.ts";
import { acceptRemote, asRemote, deployCctp as deployOn, type Cctp, type Remote } from "../cctp.ts";
import { giveCoins } from "../local-chain.ts";
import { openReserve } from "./exchange/keys.ts";

export interface CctpContracts {
  readonly domain: number;
  readonly usdc: Address;
  readonly transmitter: Address;
  readonly messenger: Address;
  readonly minter: Address;
  /** Where the fees of fast messages go. */
  readonly feeRecipient: Address;
  /** Nothing of them is before this block. */
  readonly block: number;
}

export interface CctpChain {
  readonly domain: number;
  /** Pays, and owns the contracts. */
  readonly owner: Signer;
  readonly usdc: Address;
}

export interface CctpOptions {
  readonly chains: readonly CctpChain[];
  /** In any order; all of them must sign. */
  readonly attesters: readonly Address[];
  /** Chains without contracts of ours, as their messages name them. */
  readonly foreign?: readonly Remote[];
  /** Default: the owner. */
  readonly feeRecipient?: Address;
}

/** In the order of the chains, each knowing all others. */
export async function deployCctp(options: CctpOptions): Promise<readonly CctpContracts[]> {
  const { chains, attesters, foreign = [] } = options;
  const deployed: Cctp[] = [];
  const recipients: Address[] = [];
  for (const { domain, owner, usdc: token } of chains) {
    const feeRecipient = options.feeRecipient ?? ((await owner.getAddress()).toLowerCase() as Address);
    const terms = { domain, token, attesters, threshold: attesters.length, feeRecipient };
    deployed.push(await deployOn(owner, terms));
    recipients.push(feeRecipient);
  }
  for (const [i, here] of deployed.entries())
    for (const remote of [...deployed.filter((there) => there !== here).map(asRemote), ...foreign])
      await acceptRemote(chains[i]!.owner, here, remote);
  return deployed.map(({ token: usdc, ...rest }, i) => ({ ...rest, usdc, feeRecipient: recipients[i]! }));
}

// ---------------------------------------------------------------- the exchange's door

export interface ExchangeDoorOptions {
  /** Folder of the exchange's program: its key is made there where it is missing. */
  readonly folder: string;
  readonly own: CctpContracts;
  readonly ownChain: JsonRpcProvider;
  readonly ownOwner: Signer;
}

const COINS = 1_000n * 10n ** 18n;

/** The forwarder on the exchange's chain, and gas for the exchange there. */
export async function deployExchangeForwarder(options: ExchangeDoorOptions): Promise<Address> {
  const { own, ownChain } = options;
  const reserve = await openReserve(options.folder);
  await giveCoins(ownChain, reserve.address, COINS);
  const wallet = await deployContract(options.ownOwner, "CoreDepositWallet", [own.usdc, reserve.address]);
  const arguments_ = [own.transmitter, own.messenger, own.usdc, wallet.address];
  const { address } = await deployContract(options.ownOwner, "CctpForwarder", arguments_);
  // Its burns take from its own balance, so once is enough.
  const payer = new NonceManager(new Wallet(reserve.key, ownChain));
  await send(own.usdc, payer, "approve(address spender, uint256 value)", [own.messenger, MaxUint256]);
  return address;
}

async function send(to: Address, signer: Signer, method: string, args: readonly unknown[]): Promise<void> {
  const contract = new Contract(to, [`function ${method}`], signer);
  const sent = (await contract.getFunction(method.slice(0, method.indexOf("(")))(...args)) as {
    wait(): Promise<unknown>;
  };
  await sent.wait();
}

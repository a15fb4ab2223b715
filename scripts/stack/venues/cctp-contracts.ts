// Puts the stand-ins of CCTP on local chains and introduces them to each other, and those of the exchange's doors.
// DEVELOPMENT ONLY: one owner holds every role, and the dollars are printed.
import { Contract, MaxUint256, NonceManager, Wallet, type JsonRpcProvider, type Signer } from "ethers";
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import { addressToWord } from "../../../shared/protocol/host/cctp.ts";
import { deployContract } from "../../product/deploy.ts";
import { giveCoins } from "../local-chain.ts";
import { openExchangeKeys } from "./exchange/keys.ts";

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

/** Of a chain without contracts of ours, as its messages name it. */
export interface ForeignDomain {
  readonly domain: number;
  readonly messenger: Bytes32;
  readonly token: Bytes32;
}

export interface CctpOptions {
  readonly chains: readonly CctpChain[];
  /** In any order; all of them must sign. */
  readonly attesters: readonly Address[];
  readonly foreign?: readonly ForeignDomain[];
  /** Default: the owner. */
  readonly feeRecipient?: Address;
}

/** As on the real one. */
const MOST_PER_BURN = 10_000_000n * 1_000_000n;

/** In the order of the chains, each knowing all others. */
export async function deployCctp(options: CctpOptions): Promise<readonly CctpContracts[]> {
  const { chains, foreign = [] } = options;
  const deployed: CctpContracts[] = [];
  for (const chain of chains) deployed.push(await deployOne(chain, options));
  for (const [i, here] of deployed.entries()) {
    const owner = chains[i]!.owner;
    const others = [
      ...deployed
        .filter((there) => there !== here)
        .map((there): ForeignDomain => ({
          domain: there.domain,
          messenger: addressToWord(there.messenger),
          token: addressToWord(there.usdc),
        })),
      ...foreign,
    ];
    for (const { domain, messenger, token } of others) {
      await send(here.messenger, owner, "addRemoteTokenMessenger(uint32 domain, bytes32 messenger)", [
        domain,
        messenger,
      ]);
      await send(here.minter, owner, "linkTokenPair(address local, uint32 domain, bytes32 remote)", [
        here.usdc,
        domain,
        token,
      ]);
    }
  }
  return deployed;
}

async function deployOne(
  { domain, owner, usdc }: CctpChain,
  { attesters, feeRecipient }: CctpOptions,
): Promise<CctpContracts> {
  const self = (await owner.getAddress()).toLowerCase() as Address;
  const recipient = feeRecipient ?? self;
  const threshold = attesters.length;
  const transmitter = await deployContract(owner, "MessageTransmitterV2", [domain, attesters, threshold]);
  const messenger = (await deployContract(owner, "TokenMessengerV2", [transmitter.address, recipient]))
    .address;
  const minter = (await deployContract(owner, "TokenMinterV2", [])).address;
  await send(messenger, owner, "addLocalMinter(address minter)", [minter]);
  await send(minter, owner, "addLocalTokenMessenger(address messenger)", [messenger]);
  await send(minter, owner, "setMaxBurnAmountPerMessage(address token, uint256 most)", [usdc, MOST_PER_BURN]);
  return {
    domain,
    usdc,
    transmitter: transmitter.address,
    messenger,
    minter,
    feeRecipient: recipient,
    block: transmitter.block,
  };
}

// ---------------------------------------------------------------- the exchange's doors

export interface ExchangeDoors {
  readonly forwarder: Address;
  readonly bridge: Address;
  readonly bridgeBlock: number;
}

export interface ExchangeDoorsOptions {
  /** Folder of the exchange's program: its keys are made there when they are missing. */
  readonly folder: string;
  readonly own: CctpContracts;
  readonly ownChain: JsonRpcProvider;
  readonly ownOwner: Signer;
  readonly homeChain: JsonRpcProvider;
  readonly homeOwner: Signer;
  readonly homeUsdc: Address;
  /** Of the bridge's own clock, which is its chain's. */
  readonly disputePeriodSecs: number;
}

const COINS = 1_000n * 10n ** 18n;

/** The forwarder on the exchange's chain, the old bridge on the pool's, and gas for the exchange on both. */
export async function deployExchangeDoors(options: ExchangeDoorsOptions): Promise<ExchangeDoors> {
  const { own, ownChain, homeChain } = options;
  const { reserve, validators } = await openExchangeKeys(options.folder);
  await giveCoins(ownChain, reserve.address, COINS);
  await giveCoins(homeChain, reserve.address, COINS);
  const forwarder = await deployContract(options.ownOwner, "CctpForwarder", [
    own.transmitter,
    own.usdc,
    reserve.address,
  ]);
  const bridge = await deployContract(options.homeOwner, "OldBridge", [
    options.homeUsdc,
    validators.map(({ address }) => address),
    options.disputePeriodSecs,
  ]);
  // Its burns take from its own balance, so once is enough.
  const wallet = new NonceManager(new Wallet(reserve.key, ownChain));
  await send(own.usdc, wallet, "approve(address spender, uint256 value)", [own.messenger, MaxUint256]);
  return { forwarder: forwarder.address, bridge: bridge.address, bridgeBlock: bridge.block };
}

async function send(to: Address, signer: Signer, method: string, args: readonly unknown[]): Promise<void> {
  const contract = new Contract(to, [`function ${method}`], signer);
  const sent = (await contract.getFunction(method.slice(0, method.indexOf("(")))(...args)) as {
    wait(): Promise<unknown>;
  };
  await sent.wait();
}

/** A pool on a chain of its own, without any service: wallets read it from a node, and its time passes on demand. */
import { poolChain } from "../../shared/client/chain.ts";
import { Contract, JsonRpcProvider, toBeHex, Wallet as Account } from "ethers";
import { loadArtifact } from "../../scripts/build/contracts.ts";
import { committedKeyHashes, deployTestUsdc } from "../../scripts/deploy/pool.ts";
import { deployPoolWithSigners } from "../../scripts/stack/development-registration.ts";
import { startAnvil, type Anvil } from "../../scripts/stand-ins/anvil.ts";
import { attester } from "../../scripts/stack/pool-transaction.ts";
import {
  createWallet,
  memoryStorage,
  type ChainOptions,
  type Prover,
  type Wallet,
  type WalletStorage,
} from "../../shared/client/index.ts";
import type { Address, Bytes32 } from "../../shared/protocol/brands.ts";
import type { Kind } from "../../shared/protocol/statements.ts";

export const PROVED_DELAY_SECS = 3_600;
/** The pool's own: so long the signers are silent before anybody may advance. */
export const SILENCE_SECS = 6 * 3_600;

export interface LoneWallet {
  readonly seed?: number;
  readonly rpc?: string | readonly string[];
  readonly storage?: WalletStorage;
  readonly chain?: Partial<ChainOptions>;
  readonly verifyingKeys?: Readonly<Partial<Record<Kind, string>>>;
  readonly chainId?: number;
  readonly pool?: Address;
}

type Parts = Pick<LonePool, "anvil" | "provider" | "pool" | "block" | "asset" | "keyHashes" | "prover">;

export class LonePool {
  readonly anvil: Anvil;
  readonly provider: JsonRpcProvider;
  readonly pool: Address;
  /** Nothing of the pool is before it. */
  readonly block: number;
  readonly asset: Address;
  readonly keyHashes: Readonly<Record<Kind, Bytes32>>;
  readonly prover: Prover;
  readonly #usdc: Contract;

  private constructor(made: Parts & { readonly usdc: Contract }) {
    this.anvil = made.anvil;
    this.provider = made.provider;
    this.pool = made.pool;
    this.block = made.block;
    this.asset = made.asset;
    this.keyHashes = made.keyHashes;
    this.prover = made.prover;
    this.#usdc = made.usdc;
  }

  /** `minimumCap` is what may leave in a day at least. */
  static async start(prover: Prover, minimumCap = 10n ** 15n): Promise<LonePool> {
    const anvil = await startAnvil();
    const provider = new JsonRpcProvider(anvil.url, anvil.chainId, {
      staticNetwork: true,
      cacheTimeout: -1,
      pollingInterval: 20,
    });
    const owner = await provider.getSigner(0);
    const asset = (await deployTestUsdc(owner)).address;
    const { address, block } = await deployPoolWithSigners(owner, {
      signers: [attester(1).address],
      threshold: 1,
      changeDelay: 2 * PROVED_DELAY_SECS,
      provedDelay: PROVED_DELAY_SECS,
      assets: [asset],
      minimumCaps: [minimumCap],
    });
    const usdc = new Contract(asset, (await loadArtifact("TestUSDC")).abi, owner);
    const keyHashes = await committedKeyHashes();
    return new LonePool({ ...{ anvil, provider, pool: address, block, asset, keyHashes, prover }, usdc });
  }

  async stop(): Promise<void> {
    this.provider.destroy();
    await this.anvil.stop();
  }

  /** A fresh account with coins for gas, and so much of the token. */
  async account(units = 0n): Promise<Account> {
    const account = new Account(Account.createRandom().privateKey, this.provider);
    await this.provider.send("anvil_setBalance", [account.address, toBeHex(10n ** 20n)]);
    if (units > 0n)
      await ((await this.#usdc["mint"]!(account.address, units)) as { wait(): Promise<unknown> }).wait();
    return account;
  }

  wallet(wishes: LoneWallet = {}): Promise<Wallet> {
    const {
      seed = 1,
      rpc = this.anvil.url,
      storage = memoryStorage(),
      verifyingKeys = this.keyHashes,
    } = wishes;
    return createWallet({
      key: { seed: new Uint8Array(32).fill(seed) },
      chain: poolChain({ rpc, fromBlock: this.block, finality: 0, pollMs: 20, ...wishes.chain }),
      ...{ storage, prover: this.prover },
      pins: {
        chainId: wishes.chainId ?? this.anvil.chainId,
        pool: wishes.pool ?? this.pool,
        assets: [this.asset],
        addressPrefix: "clodev",
        enclaves: "unverified",
        feeCeiling: {},
        verifyingKeys,
      },
    });
  }

  async pass(seconds: number): Promise<void> {
    await this.provider.send("evm_increaseTime", [seconds]);
    await this.provider.send("evm_mine", []);
  }

  async publicBalance(of: string): Promise<bigint> {
    return (await this.#usdc["balanceOf"]!(of)) as bigint;
  }
}

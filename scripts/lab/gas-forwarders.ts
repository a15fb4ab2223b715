// What forwarders cost: sweeps into a pool in use, and burns beside the bare burn.
import { randomBytes } from "node:crypto";
import { Contract, type ContractTransactionResponse, type Signer } from "ethers";
import { FORWARDERS_ABI } from "../../shared/contracts/abi.ts";
import { randomField } from "../../shared/notes/note.ts";
import { ZERO_BYTES32, type Address } from "../../shared/protocol/brands.ts";
import {
  FINALITY,
  inAddress,
  outAddress,
  paddedAddress,
  sourceAddress,
  type Factory,
  type InTerms,
  type Lane,
  type Receiver,
} from "../../shared/protocol/host/forwarders.ts";
import { CIPHERTEXT_BYTES } from "../../shared/protocol/statements.ts";
import { deployTestUsdc } from "../deploy/pool.ts";
import { deployPoolWithSigners } from "../stack/development-registration.ts";
import { deployForwarders } from "../deploy/forwarders.ts";
import { acceptRemote, deployCctp } from "../stand-ins/cctp.ts";
import { attester } from "../stack/pool-transaction.ts";
import { mustAddress } from "../stand-ins/uniswap.ts";
import { transact } from "./gas-alone.ts";

const BATCH = 16;
/** Places for the ends of calls: after so many, a pool is in use. */
const RING = 256;
const AMOUNT = 25_000_000n;
const FEE = 50_000n;
const REMOTE_DOMAIN = 6;

/** Gas by figure, each of a whole transaction. */
export async function measureForwarders(sender: Signer, chainId: bigint): Promise<Record<string, number>> {
  const field = await Field.open(sender, chainId);
  const used = field.inTerms();
  await field.use(used);
  const fresh = Array.from({ length: BATCH }, () => field.inTerms());
  return {
    sweep_first: await field.paidSweep([field.inTerms()], FEE),
    sweep_first_without_fee: await field.paidSweep([field.inTerms()], 0n),
    sweep_again: await field.paidSweep([used], FEE),
    sweep_again_without_fee: await field.paidSweep([used], 0n),
    sweep_first_batch16: (await field.paidSweep(fresh, FEE)) / BATCH,
    sweep_batch16: (await field.paidSweep(fresh, FEE)) / BATCH,
    ...(await field.burns()),
  };
}

class Field {
  readonly factory: Factory;
  readonly #forwarders: Contract;
  readonly #usdc: Contract;
  readonly #pool: Address;
  readonly #sender: Signer;
  readonly #collector: Address;
  readonly #messenger: Address;
  readonly #chainId: bigint;

  private constructor(
    sender: Signer,
    parts: {
      factory: Factory;
      usdc: Contract;
      pool: Address;
      collector: Address;
      messenger: Address;
      chainId: bigint;
    },
  ) {
    this.#sender = sender;
    this.factory = parts.factory;
    this.#forwarders = new Contract(parts.factory.address, FORWARDERS_ABI, sender);
    this.#usdc = parts.usdc;
    this.#pool = parts.pool;
    this.#collector = parts.collector;
    this.#messenger = parts.messenger;
    this.#chainId = parts.chainId;
  }

  static async open(sender: Signer, chainId: bigint): Promise<Field> {
    const collector = mustAddress(await sender.getAddress());
    const token = (await deployTestUsdc(sender)).address;
    const { address: pool } = await deployPoolWithSigners(sender, {
      signers: [attester(0).address],
      threshold: 1,
      changeDelay: 60,
      assets: [token],
    });
    const factory = await deployForwarders(sender);
    const domain = 3;
    const attesters = [attester(0).address];
    const cctp = await deployCctp(sender, {
      domain,
      token,
      attesters,
      threshold: 1,
      feeRecipient: collector,
    });
    await acceptRemote(sender, cctp, {
      domain: REMOTE_DOMAIN,
      messenger: paddedAddress(cctp.messenger),
      token: paddedAddress(token),
    });
    const usdc = new Contract(
      token,
      [
        "function mint(address to, uint256 value) returns (bool)",
        "function approve(address spender, uint256 value) returns (bool)",
      ],
      sender,
    );
    await transact(usdc, "mint", collector, 10n ** 12n);
    return new Field(sender, { factory, usdc, pool, collector, messenger: cctp.messenger, chainId });
  }

  inTerms(): InTerms {
    return {
      ...{ pool: this.#pool, asset: mustAddress(this.#usdc.target), receiver: someone() },
      ...{ feeCeiling: 500_000n, minimum: 1_000_000n, collector: this.#collector },
      refund: mustAddress(`0x${randomBytes(20).toString("hex")}`),
    };
  }

  async pay(address: Address): Promise<void> {
    await transact(this.#usdc, "mint", address, AMOUNT);
  }

  /** Makes the pool one in use. Many calls at once: only their number counts. */
  async use(terms: InTerms): Promise<void> {
    const [address, sweeps] = [inAddress(terms, this.factory), [{ terms, fees: [] }]];
    const ask = async (contract: Contract, name: string, ...args: readonly unknown[]): Promise<void> => {
      const sent: unknown = await contract.getFunction(name)(...args, { gasLimit: 400_000 });
      await (sent as ContractTransactionResponse).wait();
    };
    // Past its places: the first credit of 256 leaves pays for their word, and is none of those measured.
    for (let i = 0; i <= RING; i += BATCH) {
      const calls = Array.from({ length: BATCH }, () => [
        ask(this.#usdc, "mint", address, AMOUNT),
        ask(this.#forwarders, "sweep", sweeps, []),
      ]);
      await Promise.all(calls.flat());
    }
  }

  async paidSweep(terms: readonly InTerms[], fee: bigint): Promise<number> {
    for (const each of terms) await this.pay(inAddress(each, this.factory));
    return this.sweep(terms, fee);
  }

  async sweep(terms: readonly InTerms[], fee: bigint): Promise<number> {
    const sweeps = terms.map((each) => ({ terms: each, fees: fee === 0n ? [] : [fee] }));
    return this.#gasOf("sweep", sweeps, fee === 0n ? [] : [someone()]);
  }

  /** Of a fresh address each time, as clients take them, and of one that was used before. */
  async burns(): Promise<Record<string, number>> {
    const token = mustAddress(this.#usdc.target);
    const recipient = paddedAddress(this.#collector);
    const lane: Lane = {
      ...{ chainId: this.#chainId, token, messenger: this.#messenger },
      ...{ domain: REMOTE_DOMAIN, minimum: 1_000_000n, feeCeiling: 500_000n },
    };
    const source = { recipient, lanes: [lane], refund: mustAddress(`0x${randomBytes(20).toString("hex")}`) };
    const out = {
      ...{ pool: this.#pool, asset: token, feeCeiling: 500_000n, minimum: 1_000_000n, refund: someone() },
      exit: {
        ...{ messenger: this.#messenger, domain: REMOTE_DOMAIN, recipient },
        ...{ caller: paddedAddress(this.#collector), hook: Uint8Array.from(randomBytes(56)) },
      },
    };
    const forward = async (): Promise<number> => {
      await this.pay(sourceAddress(source, this.factory));
      return this.#gasOf("forward", source, 0n, FEE, FINALITY.fast);
    };
    const flush = async (): Promise<number> => {
      await this.pay(outAddress(out, this.factory));
      return this.#gasOf("flush", out, FEE, FINALITY.fast);
    };
    const approval = await this.#gasOfApproval();
    const bare = await this.#bareBurn(token, recipient);
    const first = await forward();
    return {
      bare_approval: approval,
      bare_burn: bare,
      forward_first: first,
      forward_over_bare_burn: first - bare,
      forward_again_over_bare_burn: (await forward()) - bare,
      flush_first: await flush(),
      flush: await flush(),
    };
  }

  async #gasOfApproval(): Promise<number> {
    return Number((await transact(this.#usdc, "approve", this.#messenger, AMOUNT)).gasUsed);
  }

  /** By an account that has approved the amount before. */
  async #bareBurn(token: Address, recipient: string): Promise<number> {
    const abi = ["function depositForBurn(uint256,uint32,bytes32,address,bytes32,uint256,uint32)"];
    const messenger = new Contract(this.#messenger, abi, this.#sender);
    const args = [AMOUNT, REMOTE_DOMAIN, recipient, token, ZERO_BYTES32, FEE, FINALITY.fast];
    return Number((await transact(messenger, "depositForBurn", ...args)).gasUsed);
  }

  async #gasOf(name: string, ...args: readonly unknown[]): Promise<number> {
    return Number((await transact(this.#forwarders, name, ...args)).gasUsed);
  }
}

function someone(): Receiver {
  return {
    npk: randomField(),
    ephemeralKey: Uint8Array.from(randomBytes(32)),
    ciphertext: Uint8Array.from(randomBytes(CIPHERTEXT_BYTES)),
  };
}

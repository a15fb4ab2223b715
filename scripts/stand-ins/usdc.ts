// The local chain's test dollar: 6 decimals, anybody may mint it. DEVELOPMENT ONLY.
import { Contract, type JsonRpcProvider, type Signer } from "ethers";
import type { NetworkEntry } from "../base/stack-file.ts";

export type Token = NetworkEntry["tokens"][number];

const ABI = [
  "function mint(address to, uint256 amount)",
  "function balanceOf(address) view returns (uint256)",
];
const DECIMALS = 6;

interface Calls {
  mint(to: string, amount: bigint): Promise<{ wait(): Promise<unknown> }>;
  balanceOf(owner: string): Promise<bigint>;
}

export class TestUsdc {
  static readonly decimals = DECIMALS;
  static readonly unit = 10n ** BigInt(DECIMALS);
  readonly #contract: Calls;

  private constructor(contract: Contract) {
    this.#contract = contract as unknown as Calls;
  }

  static async at(address: string, chain: JsonRpcProvider): Promise<TestUsdc> {
    // The chain's first account is unlocked and pays the gas of minting.
    return TestUsdc.with(address, await chain.getSigner(0));
  }

  static with(address: string, minter: Signer): TestUsdc {
    return new TestUsdc(new Contract(address, ABI, minter));
  }

  async mint(to: string, amount: bigint): Promise<void> {
    await (await this.#contract.mint(to, amount)).wait();
  }

  balanceOf(owner: string): Promise<bigint> {
    return this.#contract.balanceOf(owner);
  }
}

/** Smallest units as a decimal number, without a floating-point number in between. */
export function showUnits(amount: bigint, decimals: number): string {
  const sign = amount < 0n ? "-" : "";
  const digits = (amount < 0n ? -amount : amount).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${sign}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Such as `12.5 USDC`. */
export function show(amount: bigint, { decimals, symbol }: Pick<Token, "decimals" | "symbol">): string {
  return `${showUnits(amount, decimals)} ${symbol}`;
}

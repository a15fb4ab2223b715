// The local chain's test dollar: 6 decimals, anybody may mint it. DEVELOPMENT ONLY.
import { Contract, type JsonRpcProvider } from "ethers";

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
    return new TestUsdc(new Contract(address, ABI, await chain.getSigner(0)));
  }

  async mint(to: string, amount: bigint): Promise<void> {
    await (await this.#contract.mint(to, amount)).wait();
  }

  balanceOf(owner: string): Promise<bigint> {
    return this.#contract.balanceOf(owner);
  }
}

/** Smallest units as a decimal number, without a floating-point number in between. */
export function showUsdc(amount: bigint): string {
  const sign = amount < 0n ? "-" : "";
  const digits = (amount < 0n ? -amount : amount).toString().padStart(DECIMALS + 1, "0");
  const fraction = digits.slice(-DECIMALS).replace(/0+$/, "");
  return `${sign}${digits.slice(0, -DECIMALS)}${fraction === "" ? "" : `.${fraction}`}`;
}

/** "12.5" to smallest units; undefined for signs, exponents, leading zeros and more than six places. */
export function parseUsdc(text: string): bigint | undefined {
  const [, whole, fraction = ""] = /^(0|[1-9][0-9]{0,20})(?:\.([0-9]{1,6}))?$/.exec(text) ?? [];
  return whole === undefined ? undefined : BigInt(whole + fraction.padEnd(DECIMALS, "0"));
}

/** What people have on the chains of the world, and how these stand still. */
import type { JsonRpcProvider } from "ethers";
import { deployTestUsdc } from "../../../../scripts/deploy/pool.ts";
import { TestUsdc } from "../../../../scripts/stand-ins/usdc.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { PAYER, person, STRANGER } from "./persons.ts";

const UNIT = 1_000_000n;
const RICH = 10_000_000n * UNIT;
/** Empty blocks above the world's transactions. */
export const REST_BLOCKS = 2;

/** No blocks but those that are asked for. */
export async function rest(far: JsonRpcProvider): Promise<void> {
  await far.send("evm_setAutomine", [false]);
  await far.send("evm_setIntervalMining", [0]);
  await far.send("anvil_mine", [`0x${REST_BLOCKS.toString(16)}`]);
}

/** Dollars for the payer, and a token of his that no bridge knows. */
export async function stock(chain: JsonRpcProvider, usdc: string): Promise<Address> {
  const owner = await chain.getSigner(0);
  const { address } = person(PAYER);
  const wrong = await deployTestUsdc(owner);
  await (await TestUsdc.at(usdc, chain)).mint(address, RICH);
  await TestUsdc.with(wrong.address, owner).mint(address, RICH);
  for (const one of [PAYER, STRANGER])
    await chain.send("anvil_setBalance", [person(one).address, `0x${(10n ** 24n).toString(16)}`]);
  return wrong.address;
}

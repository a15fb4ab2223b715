// What notes cost that the pool makes for money which a contract brings. The contract is the tests' own: it moves what it
// holds and answers with the notes of its order, so the figures hold its part, and the reading of the order, too.
import { randomBytes } from "node:crypto";
import { AbiCoder, Contract, hexlify, type Signer } from "ethers";
import { randomField } from "../../shared/notes/note.ts";
import { ZERO_ADDRESS, type Address } from "../../shared/protocol/brands.ts";
import { CIPHERTEXT_BYTES } from "../../shared/protocol/statements.ts";
import { loadArtifact } from "../build/contracts.ts";
import { deployContract } from "../deploy/pool.ts";
import { transact } from "./gas-alone.ts";

const MANY = 64;
/** As ConfigurableSource.sol has it. */
const ORDER =
  "tuple(uint8 behaviour, uint256 moved, address target, bytes message, bytes answered, tuple(uint256 npk, uint128 value, bytes32 ephemeralKey, bytes ciphertext)[] notes)";

/** @param token can be printed by `sender` */
export async function measureCredits(
  sender: Signer,
  pool: Address,
  token: Contract,
): Promise<Record<string, number>> {
  const { address } = await deployContract(sender, "ConfigurableSource", []);
  const source = new Contract(address, (await loadArtifact("ConfigurableSource")).abi, sender);
  await transact(token, "mint", address, 10n ** 12n);
  const credit = async (count: number): Promise<number> => {
    const notes = Array.from({ length: count }, () => ({
      ...{ npk: randomField(), value: 1_500_000n, ephemeralKey: hexlify(randomBytes(32)) },
      ciphertext: hexlify(randomBytes(CIPHERTEXT_BYTES)),
    }));
    const order = {
      ...{ behaviour: 0, moved: 1_500_000n * BigInt(count), target: ZERO_ADDRESS },
      ...{ message: "0x", answered: "0x", notes },
    };
    const encoded = AbiCoder.defaultAbiCoder().encode([ORDER], [order]);
    return Number((await transact(source, "credit", pool, await token.getAddress(), encoded)).gasUsed);
  };
  // Ends of calls share 256 places. These use the ones that those below end in.
  for (const count of [1, MANY, MANY, MANY, MANY - 1]) await credit(count);
  return { credit_alone: await credit(1), credit_64_per_note: (await credit(MANY)) / MANY };
}

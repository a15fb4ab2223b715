// The pool of the test vectors on a chain of its own: at their address, so that their proofs are for it.
import { NonceManager, toBeHex, Wallet, type JsonRpcProvider, type Signer } from "ethers";
import {
  deployContract,
  deployVerifiers,
  readKeys,
  type PoolSettings,
} from "../../../scripts/product/deploy.ts";
import { STORY } from "../vectors/story.ts";

/** Its first four contracts stand where the vectors say: three test dollars, then the pool. */
export async function toldDeployer(provider: JsonRpcProvider): Promise<Signer> {
  const deployer = new NonceManager(new Wallet(STORY.keys.deployer, provider));
  await provider.send("anvil_setBalance", [await deployer.getAddress(), toBeHex(10n ** 20n)]);
  return deployer;
}

/** What the pool is made of, deployed by somebody else. */
export async function toldParts(
  owner: Signer,
): Promise<Pick<PoolSettings, "verifiers" | "noteHasher" | "treeHasher" | "governance" | "recovery">> {
  const place = async (name: string) => (await deployContract(owner, name, [])).address;
  return {
    verifiers: await deployVerifiers(owner, await readKeys()),
    noteHasher: await place("PoseidonNoteHasher"),
    treeHasher: await place("TreeHasher"),
    governance: await place("Governance"),
    recovery: await place("Recovery"),
  };
}

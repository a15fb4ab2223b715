// Puts the forwarders' contract where it stands on every chain. Trusts nobody: the address is the hash of the code.
import { concat, getBytes, keccak256 as keccak, type Signer } from "ethers";
import type { Address } from "../../shared/protocol/brands.ts";
import { mustFromHex, toAddress } from "../../shared/protocol/bytes.ts";
import { keccak256, keccakHex } from "../../shared/protocol/hash.ts";
import type { Factory } from "../../shared/protocol/host/forwarders.ts";
import { loadArtifact } from "../build/contracts.ts";

/** The deterministic deployer: calldata is salt and creation code. On most chains, and in anvil, it is there. */
const DEPLOYER = "0x4e59b44847b379578588920ca78fbf26c0b4956c" as Address;
const SALT = "0x" + "00".repeat(32);

/** ERC-1167: creation code of a clone, before and after the implementation's address. */
const CLONE = ["0x3d602d80600a3d3981f3363d3d373d3d3d363d73", "0x5af43d82803e903d91602b57fd5bf3"] as const;

/** What the compiler's output says of address and vaults; the constants in shared/protocol/host are compared with it. */
export async function compiledFactory(): Promise<Factory> {
  const { bytecode } = await loadArtifact("Forwarders");
  const hash = keccak256(
    ...[Uint8Array.of(0xff), mustFromHex(DEPLOYER), mustFromHex(SALT), getBytes(keccak(bytecode))],
  );
  const address = toAddress(hash.slice(12));
  // The first contract that it makes (EIP-161 begins to count at 1): the RLP list of its address and 1.
  const implementation = keccak256(mustFromHex("0xd694"), mustFromHex(address), Uint8Array.of(1)).slice(12);
  const clone = [mustFromHex(CLONE[0]), implementation, mustFromHex(CLONE[1])];
  return { address, vaultCodeHash: keccakHex(...clone) };
}

/** Deploys it unless it is there. Anyone may, and it is the same. */
export async function deployForwarders(sender: Signer): Promise<Factory> {
  const factory = await compiledFactory();
  const { provider } = sender;
  if (provider === null) throw new Error("a sender with a provider is needed");
  if ((await provider.getCode(factory.address)) !== "0x") return factory;
  if ((await provider.getCode(DEPLOYER)) === "0x")
    throw new Error(`this chain has no deterministic deployer at ${DEPLOYER}`);
  const { bytecode } = await loadArtifact("Forwarders");
  await (await sender.sendTransaction({ to: DEPLOYER, data: concat([SALT, bytecode]) })).wait();
  if ((await provider.getCode(factory.address)) === "0x") throw new Error("the forwarders were not deployed");
  return factory;
}

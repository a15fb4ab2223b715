// Registers the running enclave with the pool and removes the ones that are gone. On the local chain the
// start script owns the pool; in production this is an operator's act with a verified genesis document.
import { Contract, type Signer } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { Address } from "../../shared/protocol/brands.ts";

interface SignerCalls {
  isSigner(signer: string): Promise<boolean>;
  proposeSigner(signer: string, genesisDocument: string): Promise<{ wait(): Promise<unknown> }>;
  addSigner(signer: string): Promise<{ wait(): Promise<unknown> }>;
  removeSigner(signer: string): Promise<{ wait(): Promise<unknown> }>;
  changeDelay(): Promise<bigint>;
}

/**
 * Adds `signer` unless the pool has it, then removes `former`. The new one is added first, so the pool is
 * never without a signer.
 * @param genesisDocument `0x` and hex: goes into the proposal's event, for everybody to verify during the delay
 */
export async function registerSigner(
  owner: Signer,
  pool: Address,
  signer: Address,
  former: readonly Address[],
  genesisDocument = "0x",
): Promise<void> {
  const calls = new Contract(pool, POOL_ABI, owner) as unknown as SignerCalls;
  if (!(await calls.isSigner(signer))) {
    await (await calls.proposeSigner(signer, genesisDocument)).wait();
    await waitForDelay(owner, Number(await calls.changeDelay()));
    await (await calls.addSigner(signer)).wait();
  }
  for (const gone of former) {
    if (gone !== signer && (await calls.isSigner(gone))) await (await calls.removeSigner(gone)).wait();
  }
}

/** Until the chain's own clock has passed the delay. */
async function waitForDelay(owner: Signer, delaySecs: number): Promise<void> {
  const provider = owner.provider;
  if (provider === null) throw new Error("the owner has no provider");
  const timeOf = async (): Promise<number> => (await provider.getBlock("latest"))?.timestamp ?? 0;
  const until = (await timeOf()) + delaySecs;
  while ((await timeOf()) < until) await new Promise((resolve) => setTimeout(resolve, 200));
}

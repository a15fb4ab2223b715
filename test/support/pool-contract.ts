/** The pool as a stranger or its owner calls it, past the proxy. */
import { Contract } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import type { SignedBy } from "../../shared/protocol/host/signed-by.ts";
import type { Address } from "../../shared/protocol/brands.ts";
import { compressProof } from "../../shared/protocol/proof.ts";
import { NO_PROOF, type MadeStatement, type Money } from "./money.ts";

interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

interface PoolCaller {
  /** Hash of the transaction that carried it, once it is mined. */
  execute(made: MadeStatement, attestations: readonly SignedBy[], fees?: Fees): Promise<string>;
  removeSigner(signer: Address): Promise<void>;
}

export function poolContract(on: Money): PoolCaller {
  const contract = new Contract(on.pool.address, POOL_ABI, on.owner);
  return {
    async execute({ statement, authorization }, attestations, fees) {
      const data = on.pool.encodeExecute([
        {
          statement: statement.hash,
          kind: statement.kind,
          deadline: statement.deadline,
          signals: statement.signals,
          ext: statement.extBytes,
          proof: compressProof(NO_PROOF),
          authorization,
          attestations,
        },
      ]);
      const sent = await on.owner.sendTransaction({
        to: on.pool.address,
        data,
        gasLimit: 3_000_000n,
        ...fees,
      });
      await sent.wait();
      return sent.hash;
    },
    async removeSigner(signer) {
      await ((await contract["removeSigner"]!(signer)) as { wait(): Promise<unknown> }).wait();
    },
  };
}

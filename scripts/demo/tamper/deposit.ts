// A deposit with a real proof that nobody has sent: what a client would post, and what proxy and enclave read in it.
import { HDNodeWallet, type JsonRpcProvider } from "ethers";
import { toTransaction, type Transaction } from "../../../proxy/api/payments/transaction.ts";
import type { DepositBody } from "../../../shared/api/transactions.ts";
import { memoryStorage, newSeed, type Client } from "../../../shared/client/index.ts";
import { developmentProver } from "../../../shared/client/node/development.ts";
import { asAddress } from "../../../shared/protocol/host/text.ts";
import type { NetworkEntry } from "../../base/stack-file.ts";
import { Intercepted, intercepting } from "../../stand-ins/intercepting.ts";
import { openStackWallet } from "../../stack/stack-wallet.ts";
import { TestUsdc } from "../../stand-ins/usdc.ts";

const AMOUNT = 5_000_000n;

export interface Deposit extends Transaction {
  readonly body: DepositBody;
}

/** Of a fresh account into a fresh wallet. */
export async function makeDeposit(
  entry: NetworkEntry,
  chain: JsonRpcProvider,
  through: Client,
): Promise<Deposit> {
  const depositor = HDNodeWallet.createRandom().connect(chain);
  await (await TestUsdc.at(entry.usdc, chain)).mint(depositor.address, AMOUNT);
  const prover = await developmentProver();
  const client = intercepting(through);
  const wallet = await openStackWallet(entry, {
    ...{ seed: newSeed(), client, prover, storage: memoryStorage() },
  });
  try {
    await wallet.deposit(AMOUNT, depositor, { deadlineSecs: 3_600 });
    throw new Error("the deposit was sent");
  } catch (error) {
    if (!(error instanceof Intercepted)) throw error;
    const body = error.body as DepositBody;
    const home = { chainId: BigInt(entry.chain_id), pool: asAddress(entry.pool)! };
    return { body, ...toTransaction({ kind: "deposit-shield", ...body }, home) };
  } finally {
    await wallet.close();
    await prover.close();
  }
}

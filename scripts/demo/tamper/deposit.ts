// A deposit with a real proof that nobody has sent: what a client would post, and what proxy and enclave read in it.
import { toTransaction, type Transaction } from "../../../proxy/api/payments/transaction.ts";
import type { DepositBody } from "../../../shared/api/transactions.ts";
import { Intercepted, intercepting } from "../../stand-ins/intercepting.ts";
import type { Stage } from "../../stack/stage.ts";
import { TestUsdc } from "../../stand-ins/usdc.ts";

const AMOUNT = 5_000_000n;

export interface Deposit extends Transaction {
  readonly body: DepositBody;
}

/** Of a fresh account into a fresh wallet. */
export async function makeDeposit(stage: Stage): Promise<Deposit> {
  const { entry, pool, chain, client } = stage;
  const depositor = await stage.account();
  await (await TestUsdc.at(entry.usdc, chain)).mint(depositor.address, AMOUNT);
  const wallet = await stage.wallet(undefined, intercepting(client));
  try {
    await wallet.deposit(AMOUNT, depositor, { deadlineSecs: 3_600 });
    throw new Error("the deposit was sent");
  } catch (error) {
    if (!(error instanceof Intercepted)) throw error;
    const body = error.body as DepositBody;
    const home = { chainId: BigInt(entry.chain_id), pool };
    return { body, ...toTransaction({ kind: "deposit-shield", ...body }, home) };
  } finally {
    await wallet.close();
  }
}

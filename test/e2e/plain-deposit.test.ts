/**
 * Deposits of a token that knows no signatures: the depositor's own account sends them, and nobody else can.
 * The token is wrapped ether, which is also how the chain's own coin comes into the pool.
 */
import assert from "node:assert/strict";
import { parseEther, toBeHex, Wallet as Account } from "ethers";
import type { OutgoingTransaction, TransactionSender } from "../../shared/client/index.ts";
import { documentedFetch } from "../support/documented.ts";
import type { TestStack } from "../support/stack.ts";
import { startTrading } from "../support/trading.ts";
import type { LocalVenue } from "../support/venue.ts";

const AMOUNT = parseEther("0.25");
/** Of an ether, as the local stack charges. */
const FLAT = 20_000_000_000_000n;
const PUBLIC = "0x00000000000000000000000000000000000000ce";

describe("plain deposit", function () {
  let on: TestStack;
  let venue: LocalVenue;

  before(async () => {
    ({ on, venue } = await startTrading());
  });
  after(() => on.stop());

  /** A public account with gas and so much wrapped ether. */
  async function owner(amount: bigint): Promise<Account> {
    const account = new Account(Account.createRandom().privateKey, on.chain);
    await on.chain.send("anvil_setBalance", [account.address, toBeHex(amount + parseEther("1"))]);
    await (await account.sendTransaction({ to: venue.weth, value: amount })).wait();
    return account;
  }

  it("of wrapped ether becomes a note, which can be spent", async () => {
    const account = await owner(AMOUNT);
    const wallet = await on.wallet();
    const poolBefore = await venue.balanceOf(venue.weth, on.entry.pool);
    const deposit = await wallet.depositPlain(AMOUNT, account, { asset: venue.weth });
    assert.equal(deposit.fees, FLAT);
    assert.equal(wallet.balance(venue.weth).total, AMOUNT - FLAT);
    assert.deepEqual(await on.executions(deposit.statement), [deposit.transactionHash]);
    assert.equal((await venue.balanceOf(venue.weth, on.entry.pool)) - poolBefore, AMOUNT);
    assert.equal(await venue.balanceOf(venue.weth, account.address), 0n);

    await wallet.withdraw(PUBLIC, AMOUNT - 2n * FLAT, { asset: venue.weth });
    assert.equal(await venue.balanceOf(venue.weth, PUBLIC), AMOUNT - 2n * FLAT);
    assert.equal(wallet.balance(venue.weth).total, 0n);
  });

  it("sent by somebody else moves nothing, and its owner can still send it", async () => {
    const account = await owner(AMOUNT);
    const thief = await owner(AMOUNT);
    const wallet = await on.wallet();
    const kept: OutgoingTransaction[] = [];
    /** The owner's account, except that the deposit is shown to a stranger first, who sends it as it is. */
    const watched: TransactionSender = {
      getAddress: () => account.getAddress(),
      sendTransaction: async (transaction) => {
        if (transaction.to.toLowerCase() === on.entry.pool.toLowerCase()) {
          kept.push(transaction);
          const { to, data } = transaction;
          await (await thief.sendTransaction({ to, data, gasLimit: 2_000_000n })).wait();
        }
        return account.sendTransaction(transaction);
      },
    };
    const deposit = await wallet.depositPlain(AMOUNT, watched, { asset: venue.weth });
    assert.equal(kept.length, 1);
    assert.equal((await on.executions(deposit.statement)).length, 1);
    assert.deepEqual(await on.executions(deposit.statement), [deposit.transactionHash]);
    assert.equal(await venue.balanceOf(venue.weth, thief.address), AMOUNT);
    assert.equal(await venue.balanceOf(venue.weth, account.address), 0n);
    assert.equal(wallet.balance(venue.weth).total, AMOUNT - FLAT);
  });

  it("without an authorization is not for the service to carry", async () => {
    const account = await owner(AMOUNT);
    const wallet = await on.wallet({
      through: {
        ...on.client,
        attestDeposit: async (body) => {
          const { base_url: url } = on.entry;
          const response = await documentedFetch(url)(`${url}/sequence/deposit-shield`, {
            method: "POST",
            headers: { "x-api-key": on.stack.file.api_key, "content-type": "application/json" },
            body: JSON.stringify(body),
          });
          const answer = (await response.json()) as { code: string; errors: { path: string }[] };
          assert.deepEqual([response.status, answer.code], [400, "INVALID_REQUEST"]);
          assert.ok(answer.errors.some(({ path }) => path === "authorization"));
          throw new Error("refused as it should be");
        },
      },
    });
    await assert.rejects(
      wallet.depositPlain(AMOUNT, account, { asset: venue.weth }),
      /refused as it should be/,
    );
    assert.equal(await venue.balanceOf(venue.weth, account.address), AMOUNT);
  });
});

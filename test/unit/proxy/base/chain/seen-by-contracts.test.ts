// Code that is run and never kept, on a real chain: what it sees is what the token and the block say.
import assert from "node:assert/strict";
import { ChainUnreachable } from "../../../../../proxy/base/chain/json-rpc.ts";
import { createChain, type Chain } from "../../../../../proxy/base/chain/provider.ts";
import { MOST_HELD, seenByContracts } from "../../../../../proxy/base/chain/seen-by-contracts.ts";
import { ZERO_ADDRESS } from "../../../../../shared/protocol/brands.ts";
import { Second } from "../../../../contract/forwarders/stage.ts";
import { madeAddress } from "../../../../support/bridges.ts";

describe("base/chain: what contracts see", function () {
  let on: Second;
  let chain: Chain;
  before(async () => {
    on = await Second.open();
    chain = createChain(on.place.provider._getConnection().url, 31_338n);
  });
  after(() => on.stop());

  const newest = async () => (await chain.header("latest"))!;

  it("as many balances as one question has, in order, of the block that is named, and that block's number", async () => {
    const { token } = on.place;
    const accounts = Array.from({ length: MOST_HELD }, (_, i) => madeAddress(0xacc0000 + i));
    for (const [place, amount] of [
      [0, 5n],
      [7, 70n],
      [MOST_HELD - 1, 2n ** 200n],
    ] as const)
      await on.place.mint(accounts[place]!, amount);
    const block = await newest();
    await on.place.mint(accounts[7]!, 1n);
    const of = accounts.map((account) => ({ account, token }));
    const { number, held } = await seenByContracts(chain, of, block.hash);
    assert.equal(number, block.number);
    assert.deepEqual(
      held.map(({ account }) => account),
      accounts,
    );
    const amounts = held.map(({ amount }) => amount);
    assert.deepEqual([amounts[0], amounts[7], amounts.at(-1)], [5n, 70n, 2n ** 200n]);
    assert.equal(amounts.filter((amount) => amount !== 0n).length, 3);
    assert.equal((await seenByContracts(chain, of, (await newest()).hash)).held[7]!.amount, 71n);
  });

  it("leaves out what a token does not tell: one that reverts, and one that is not there", async () => {
    const { token, factory } = on.place;
    const account = madeAddress(0xacc);
    await on.place.mint(account, 3n);
    const of = [factory.address, madeAddress(0xdead), token].map((one) => ({ account, token: one }));
    const { held } = await seenByContracts(chain, of, (await newest()).hash);
    assert.deepEqual(held, [{ account, token, amount: 3n }]);
  });

  it("coins, in the place of a token, between tokens", async () => {
    const { token, owner } = on.place;
    const [rich, poor] = [madeAddress(0xc01), madeAddress(0xc02)];
    await (await owner.sendTransaction({ to: rich, value: 2n ** 65n })).wait();
    await on.place.mint(rich, 6n);
    const of = [token, ZERO_ADDRESS].flatMap((one) =>
      [rich, poor].map((account) => ({ account, token: one })),
    );
    const { held } = await seenByContracts(chain, of, (await newest()).hash);
    assert.deepEqual(
      held.map(({ amount }) => amount),
      [6n, 0n, 2n ** 65n, 0n],
    );
  });

  it("tells the number alone", async () => {
    const { hash, number } = await newest();
    assert.deepEqual(await seenByContracts(chain, [], hash), { number, held: [] });
  });

  for (const answer of ["0x", "0x12", `0x${"00".repeat(64)}`, `0x${"ff".repeat(32)}`, `0x${"zz".repeat(32)}`])
    it(`takes no answer of another form: ${answer.slice(0, 6)}, ${String(answer.length)} characters`, async () => {
      const call = async (): Promise<string> => answer;
      await assert.rejects(seenByContracts({ call }, [], (await newest()).hash), ChainUnreachable);
    });
});

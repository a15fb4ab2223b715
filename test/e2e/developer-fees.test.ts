// A developer's fees on the whole service: paid by its users' wallets, checked by the proxy, received and spent by
// the sink's wallet, and not lost even where the sink cannot read its ciphertexts.
import assert from "node:assert/strict";
import { pinsOf } from "../../scripts/stack/stack-wallet.ts";
import {
  asAddress,
  asField,
  createWallet,
  encodeShieldedAddress,
  feesFor,
  homeOf,
  memoryStorage,
  merklePaths,
  newSeed,
  noteCommitment,
  poolRootVerifier,
  prepareSpend,
  spendBody,
  SpendingKey,
  wireProof,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { developmentProver } from "../../shared/client/node/development.ts";
import { addTestDeveloper, type Developer } from "../support/developer.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";
import { until } from "../support/until.ts";

const SERVICE_FEE = 50_000n;

describe("developer fees, end to end", function () {
  this.timeout(300_000);
  let on: TestStack;
  let prover: Prover;
  let shop: Developer;
  let sinks: string[];
  const sinkSeed = newSeed();

  before(async () => {
    on = await startTestStack();
    prover = await developmentProver();
    shop = await addTestDeveloper(on, "shop");
  });
  after(async () => {
    await prover.close();
    await on.stop();
  });

  const wallet = (seed = newSeed(), feeSinks: readonly string[] = sinks): Promise<Wallet> =>
    createWallet({
      ...{ key: { seed }, client: shop.client, prover, storage: memoryStorage() },
      pins: { ...pinsOf(on.entry), feeSinks: [on.entry.service_address, ...feeSinks] },
    });

  it("reach the sink with every deposit, payment and withdrawal, and can be spent", async () => {
    const { viewing } = SpendingKey.fromSeed(sinkSeed);
    const address = viewing.addressText(on.entry.address_prefix);
    sinks = [address];
    const set = (operation: string, ...amounts: string[]): Promise<string> =>
      shop.fees(["set", "shop", "USDC", operation, "--sink", address, ...amounts]);
    await set("deposit", "--bps", "100");
    await set("transfer", "--flat", "20000");
    await set("withdraw", "--flat", "7", "--bps", "33");

    const [payer, payee, sink] = [await wallet(), await wallet(), await wallet(sinkSeed)];
    const deposit = await payer.deposit(20_000_001n, await on.depositor(20_000_001n));
    // One percent, rounded down.
    assert.equal(deposit.fees, SERVICE_FEE + 200_000n);
    await payer.pay(payee.address, 3_000_000n);
    await payee.sync();
    const withdrawal = await payee.withdraw(`0x${"ab".repeat(20)}`, 1_000_001n);
    assert.equal(withdrawal.fees, SERVICE_FEE + 7n + 3_300n);

    await sink.sync();
    const fees = 200_000n + 20_000n + 3_307n;
    assert.equal(sink.balance().total, fees);
    const openings = await shop.received();
    assert.deepEqual(
      openings.map(({ value }) => value),
      ["200000", "20000", "3307"],
    );
    assert.deepEqual(
      openings.map(({ leaf_index }) => leaf_index),
      sink.notes().map(({ leafIndex }) => leafIndex),
    );
    assert.equal(openings[0]?.ticket, deposit.ticket.ticket_id);

    const spent = await sink.pay(payer.address, 100_000n);
    assert.equal(spent.fees, SERVICE_FEE + 20_000n);
    await payer.sync();
    await sink.sync();
    // Its own fee comes back to it.
    assert.equal(sink.balance().total, fees - 100_000n - SERVICE_FEE);
    assert.equal(payer.balance().total, 20_000_001n - 250_000n - 3_000_000n - 70_000n + 100_000n);
  });

  it("are not paid to a sink that the wallet does not know", async () => {
    const careful = await wallet(newSeed(), []);
    await assert.rejects(careful.deposit(1_000_000n, await on.depositor(1_000_000n)), {
      code: "PIN_MISMATCH",
    });
  });

  it("can be spent even where the sink cannot read their ciphertexts", async () => {
    const seed = newSeed();
    const { viewing } = SpendingKey.fromSeed(seed);
    const other = SpendingKey.fromSeed(newSeed()).viewing;
    // Its own spending key, and somebody else's reading key: to this sink every ciphertext is garbage.
    const blind = encodeShieldedAddress(
      { owner: viewing.address.owner, viewingKey: other.address.viewingKey },
      on.entry.address_prefix,
    );
    sinks = [blind];
    await shop.fees(["set", "shop", "USDC", "deposit", "--flat", "300000", "--sink", blind]);
    const [payer, sink] = [await wallet(), await wallet(seed)];
    const { statement } = await payer.deposit(5_000_000n, await on.depositor(5_000_000n));
    await sink.sync();
    assert.equal(sink.balance().total, 0n);

    const opening = (await shop.received()).find((one) => one.statement === statement);
    assert.ok(opening);
    await sink.adopt(opening);
    assert.equal(sink.balance().total, 300_000n);
    await sink.pay(payer.address, 200_000n);
    await payer.sync();
    assert.equal(payer.balance().total, 5_000_000n - 350_000n + 200_000n);
    await assert.rejects(payer.adopt(opening), { code: "NOTE_UNKNOWN" });
  });

  it("can be spent from their openings alone, by a sink that never read the pool's history", async () => {
    const keys = SpendingKey.fromSeed(newSeed());
    const address = keys.viewing.addressText(on.entry.address_prefix);
    sinks = [address];
    await shop.fees(["set", "shop", "USDC", "deposit", "--flat", "300000", "--sink", address]);
    const payer = await wallet();
    const { statement } = await payer.deposit(5_000_000n, await on.depositor(5_000_000n));
    const opening = (await shop.received()).find((one) => one.statement === statement);
    assert.ok(opening?.leaf_index);

    const { client } = shop;
    const pins = { ...pinsOf(on.entry), feeSinks: [on.entry.service_address, address] };
    const note = {
      asset: asAddress(opening.asset)!,
      value: BigInt(opening.value),
      blinding: asField(BigInt(opening.blinding))!,
      leafIndex: opening.leaf_index,
    };
    const leaf = { leafIndex: note.leafIndex, commitment: noteCommitment(keys.owner, note) };
    const verifyRoot = poolRootVerifier(on.entry.chain_rpc, on.entry.chain_id, on.entry.pool);
    const { root, paths } = await merklePaths(client, [leaf], { verifyRoot });
    const recipient = asAddress(`0x${"ad".repeat(20)}`)!;
    const charged = { asset: note.asset, operation: "withdraw", amount: 200_000n } as const;
    const prepared = prepareSpend({
      ...{ home: homeOf(pins), keys, asset: note.asset, root, inputs: [{ note, path: paths[0]! }] },
      fees: feesFor((await client.whoami()).fees, charged, pins),
      payment: { type: "withdraw", recipient, value: charged.amount },
      deadline: Math.floor(Date.now() / 1000) + 600,
    });
    const proof = wireProof(await prover.prove(prepared.statement, prepared.witness));
    const ticket = await client.sequenceSpend(spendBody(prepared, proof));
    await until("the withdrawal", async () => (await on.usdc.balanceOf(recipient)) === charged.amount);
    assert.equal((await on.executions(ticket.statement)).length, 1);
  });
});

/**
 * P5. A depositor's signature moves money into the notes that it was given for and does nothing else. Whoever
 * sees it before it is mined can carry it, and can neither turn it elsewhere nor use it up.
 */
import assert from "node:assert/strict";
import { Signature, type JsonRpcSigner } from "ethers";
import { NO_UPDATE } from "../../scripts/stack/pool-transaction.ts";
import type { SpendingKey } from "../../shared/notes/keys.ts";
import {
  as,
  Battlefield,
  freshKeys,
  poolTransaction,
  revertOf,
  send,
  type Signed,
} from "../support/adversary.ts";

const AMOUNT = 25_000_000n;

describe("P5 a deposit's authorization serves its own statement only", function () {
  this.timeout(600_000);
  let field: Battlefield;
  let stranger: JsonRpcSigner;
  const victim: SpendingKey = freshKeys();
  const thief: SpendingKey = freshKeys();
  let deposit: Signed;
  /** By the thief: the same money into the thief's note, attested as properly as the other. */
  let theft: Signed;

  before(async () => {
    field = await Battlefield.start();
    stranger = await field.account(5);
    deposit = await field.deposit(victim, AMOUNT);
    theft = await field.deposit(thief, AMOUNT);
  });
  after(() => field.stop());

  const unchanged = async (work: () => Promise<void>): Promise<void> => {
    const before = await field.snapshot();
    await work();
    assert.deepEqual(await field.snapshot(), before);
  };

  it("P5 it cannot pay for another note, nor be left out", () =>
    unchanged(async () => {
      const { signature } = await field.attest(theft);
      const turned = poolTransaction(theft, signature, { authorization: deposit.authorization });
      assert.equal(await field.executeOne(turned, stranger), "TransferRefused");
      const silent = poolTransaction(theft, signature, { authorization: "0x" });
      assert.equal(await field.executeOne(silent, stranger), "AuthorizationMalformed");
      const short = poolTransaction(theft, signature, { authorization: deposit.authorization.slice(0, -2) });
      assert.equal(await field.executeOne(short, stranger), "TransferRefused");
    }));

  it("P5 an approval to the pool is not an approval to a stranger's note", () =>
    unchanged(async () => {
      const wallet = field.depositor.connect(field.provider);
      await send(as(field.usdc, wallet), "approve", field.home.pool, AMOUNT);
      const { signature } = await field.attest(theft);
      const silent = poolTransaction(theft, signature, { authorization: "0x" });
      assert.equal(await field.executeOne(silent, stranger), "AuthorizationMalformed");
      await send(as(field.usdc, wallet), "approve", field.home.pool, 0n);
    }));

  it("P5 nobody but the pool can hand it to the token, in either of the token's calls", () =>
    unchanged(async () => {
      const { statement, authorization } = deposit;
      assert.equal(statement.ext.kind, "deposit-shield");
      const { validAfter, validBefore } = statement.ext as { validAfter: bigint; validBefore: bigint };
      const { v, r, s } = Signature.from(authorization);
      const terms = (to: string): unknown[] => [
        field.depositor.address,
        to,
        AMOUNT,
        validAfter,
        validBefore,
        statement.hash,
        v,
        r,
        s,
      ];
      const token = as(field.usdc, stranger);
      const receive =
        "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)";
      const transfer =
        "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)";
      assert.equal(await revertOf(token, receive, ...terms(field.home.pool)), "CallerNotPayee");
      assert.equal(await revertOf(token, receive, ...terms(stranger.address)), "SignatureInvalid");
      assert.equal(await revertOf(token, transfer, ...terms(field.home.pool)), "SignatureInvalid");
      assert.equal(await revertOf(token, transfer, ...terms(stranger.address)), "SignatureInvalid");
      const cancel = "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)";
      assert.equal(
        await revertOf(token, cancel, field.depositor.address, statement.hash, v, r, s),
        "SignatureInvalid",
      );
    }));

  it("P5 carrying it broken, or with too little gas, does not use it up", () =>
    unchanged(async () => {
      const { signature } = await field.attest(deposit);
      const broken = deposit.authorization.replace(/^0x../, (byte) => (byte === "0x00" ? "0x01" : "0x00"));
      assert.equal(
        await field.executeOne(poolTransaction(deposit, signature, { authorization: broken }), stranger),
        "TransferRefused",
      );
      const pool = as(field.pool, stranger);
      const honest = poolTransaction(deposit, signature);
      for (const gasLimit of [250_000n, 400_000n, 560_000n]) {
        assert.equal(await revertOf(pool, "execute", [honest], NO_UPDATE, { gasLimit }), "GasShort");
      }
    }));

  it("P5 a front-runner who carries it makes the depositor's own note; the batch behind it loses nothing else", async () => {
    const copied = await field.transaction(deposit);
    const neighbour = await field.transaction(await field.deposit(victim, 1_000_000n));
    const update = await field.attestRoot(
      await field.rootRequest([copied, neighbour].flatMap(({ signals }) => signals.slice(3))),
    );
    assert.equal(await field.executeOne(copied, stranger), "executed");
    const { members, update: taken } = await field.execute([copied, neighbour], update);
    // What was executed already comes first in the queue as it would have, so even the root still fits.
    assert.deepEqual([...members, taken], ["StatementRepeated", "executed", "taken"]);
    const { balance } = await field.restore(victim);
    assert.equal(balance, AMOUNT + 1_000_000n);
    assert.equal((await field.restore(thief)).balance, 0n);
  });

  it("P5 used once, it is used", async () => {
    const again = await field.transaction({
      ...(await field.deposit(victim, AMOUNT)),
      authorization: deposit.authorization,
    });
    assert.equal(await field.executeOne(again), "TransferRefused");
  });
});

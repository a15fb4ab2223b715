import assert from "node:assert/strict";
import { Transaction } from "ethers";
import fc from "fast-check";
import { createGasWallet, firstFees, higherFees } from "../../../../../proxy/base/chain/gas-wallet.ts";
import { asAddress } from "../../../../../shared/protocol/host/text.ts";
import { toAddress, toHex } from "../../../../../shared/protocol/bytes.ts";

const GWEI = 1_000_000_000n;

describe("base/chain/gas-wallet", () => {
  it("signs a type 2 transaction of its own chain, with the hash that the chain will know", () => {
    const wallet = createGasWallet(`0x${"11".repeat(32)}`, 31_337n);
    const to = asAddress(`0x${"22".repeat(20)}`)!;
    const { raw, hash } = wallet.sign({
      nonce: 5,
      to,
      data: "0x1234",
      gasLimit: 50_000n,
      maxFeePerGas: 3n,
      maxPriorityFeePerGas: 1n,
    });
    const read = Transaction.from(raw);
    assert.equal(read.from?.toLowerCase(), wallet.address);
    assert.equal(read.chainId, 31_337n);
    assert.equal(read.nonce, 5);
    assert.equal(read.type, 2);
    assert.equal(read.hash, hash);
  });

  it("writes a transaction byte for byte as another implementation does", () => {
    const wallet = createGasWallet(`0x${"11".repeat(32)}`, 31_337n);
    const amount = fc.bigInt({ min: 0n, max: 1n << 90n });
    fc.assert(
      fc.property(
        fc.nat(),
        fc.uint8Array({ minLength: 20, maxLength: 20 }),
        fc.uint8Array({ maxLength: 300 }),
        fc.tuple(amount, amount, amount),
        (nonce, to, data, [gasLimit, maxFeePerGas, tip]) => {
          const fees = { maxFeePerGas, maxPriorityFeePerGas: tip < maxFeePerGas ? tip : maxFeePerGas };
          const fields = { nonce, to: toAddress(to), data: toHex(data), gasLimit, ...fees };
          const { raw, hash } = wallet.sign(fields);
          const read = Transaction.from(raw);
          assert.equal(read.serialized, raw);
          assert.equal(read.hash, hash);
          assert.equal(read.from?.toLowerCase(), wallet.address);
          assert.deepEqual(
            {
              nonce: read.nonce,
              to: read.to?.toLowerCase(),
              data: read.data,
              gasLimit: read.gasLimit,
              maxFeePerGas: read.maxFeePerGas,
              maxPriorityFeePerGas: read.maxPriorityFeePerGas,
            },
            fields,
          );
          assert.deepEqual([read.value, read.chainId, read.accessList], [0n, 31_337n, []]);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("bids room for the base fee to double, and never above the cap", () => {
    assert.deepEqual(firstFees(10n * GWEI, GWEI, 500n * GWEI), {
      maxFeePerGas: 21n * GWEI,
      maxPriorityFeePerGas: GWEI,
    });
    assert.deepEqual(firstFees(400n * GWEI, GWEI, 500n * GWEI).maxFeePerGas, 500n * GWEI);
    assert.ok(firstFees(0n, 9n, 5n).maxPriorityFeePerGas <= 5n);
  });

  it("replaces for at least an eighth more of both, whatever the size", () => {
    for (const old of [1n, 7n, 8n, 1_000n, 21n * GWEI]) {
      const fees = higherFees({ maxFeePerGas: old, maxPriorityFeePerGas: old }, 0n, 0n, 500n * GWEI)!;
      assert.ok(fees.maxFeePerGas * 8n >= old * 9n);
      assert.ok(fees.maxPriorityFeePerGas * 8n >= old * 9n);
    }
  });

  it("has no higher bid at the cap", () => {
    assert.equal(higherFees({ maxFeePerGas: 100n, maxPriorityFeePerGas: 1n }, 0n, 0n, 100n), undefined);
  });
});

import assert from "node:assert/strict";
import { acceptedSigners } from "../../../../proxy/chain/accepted-signers.ts";
import type { Address } from "../../../../shared/protocol/brands.ts";

const [A, B] = ["aa", "bb"].map((byte) => `0x${byte.repeat(20)}` as Address) as [Address, Address];

describe("chain/accepted-signers", () => {
  let asked: Address[];
  let accepted: Set<Address>;
  let tip: string | undefined;
  let isSigner: (signer: Address) => Promise<boolean>;
  beforeEach(() => {
    asked = [];
    accepted = new Set([A]);
    tip = "0x01";
    const pool = {
      isSigner: async (signer: Address) => {
        asked.push(signer);
        return accepted.has(signer);
      },
    };
    isSigner = acceptedSigners(pool, () => tip);
  });

  it("asks once a block, for each", async () => {
    assert.deepEqual(await Promise.all([isSigner(A), isSigner(B), isSigner(A)]), [true, false, true]);
    assert.deepEqual(asked, [A, B]);
  });

  it("learns of a revocation with the next block", async () => {
    assert.equal(await isSigner(A), true);
    accepted.clear();
    tip = "0x02";
    assert.equal(await isSigner(A), false);
  });

  it("asks each time while nobody knows the newest block", async () => {
    assert.equal(await isSigner(A), true);
    tip = undefined;
    accepted.clear();
    assert.equal(await isSigner(A), false);
    assert.equal(await isSigner(A), false);
    assert.deepEqual(asked, [A, A, A]);
  });
});

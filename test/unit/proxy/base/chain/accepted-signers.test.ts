import assert from "node:assert/strict";
import { acceptedSigners } from "../../../../../proxy/base/chain/accepted-signers.ts";
import type { Address } from "../../../../../shared/protocol/brands.ts";

const [A, B] = ["aa", "bb"].map((byte) => `0x${byte.repeat(20)}` as Address) as [Address, Address];

describe("base/chain/accepted-signers", () => {
  let asked: Address[];
  let accepted: Set<Address>;
  let tip: string | undefined;
  let kindOf: (signer: Address) => Promise<number | undefined>;
  beforeEach(() => {
    asked = [];
    accepted = new Set([A]);
    tip = "0x01";
    const pool = {
      signerKind: async (signer: Address) => {
        asked.push(signer);
        return accepted.has(signer) ? 2 : undefined;
      },
    };
    kindOf = acceptedSigners(pool, () => tip);
  });

  it("asks once a block, for each", async () => {
    assert.deepEqual(await Promise.all([kindOf(A), kindOf(B), kindOf(A)]), [2, undefined, 2]);
    assert.deepEqual(asked, [A, B]);
  });

  it("learns of a revocation with the next block", async () => {
    assert.equal(await kindOf(A), 2);
    accepted.clear();
    tip = "0x02";
    assert.equal(await kindOf(A), undefined);
  });

  it("asks each time while nobody knows the newest block", async () => {
    assert.equal(await kindOf(A), 2);
    tip = undefined;
    accepted.clear();
    assert.equal(await kindOf(A), undefined);
    assert.equal(await kindOf(A), undefined);
    assert.deepEqual(asked, [A, A, A]);
  });
});

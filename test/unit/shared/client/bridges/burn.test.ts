import assert from "node:assert/strict";
import { burnTransaction, type Burn } from "../../../../../shared/altchain/burn.ts";
import { checkSignedBurn } from "../../../../../shared/altchain/signing.ts";
import { parseAltchainAddress, tokenAccountOf } from "../../../../../shared/altchain/token.ts";
import { signBurn, type BurnTerms } from "../../../../../shared/client/bridges/burn.ts";
import {
  mustForeignKey,
  tokenAccountOf as ownAccountOf,
} from "../../../../../shared/client/bridges/deposit-account.ts";
import { DepositKey } from "../../../../../shared/notes/bridge-keys.ts";
import { SpendingKey } from "../../../../../shared/notes/keys.ts";
import type { Bytes32 } from "../../../../../shared/protocol/brands.ts";

const KEYS = SpendingKey.fromSeed(new Uint8Array(32).fill(1));
const MINT = parseAltchainAddress("So11111111111111111111111111111111111111112");
const PAYER = parseAltchainAddress(new DepositKey(KEYS, 900).text);
const OTHER = parseAltchainAddress(new DepositKey(KEYS, 901).text);
const RECIPIENT = `0x${"00".repeat(12)}${"ab".repeat(20)}` as Bytes32;
const key = new DepositKey(KEYS, 3);
const owner = parseAltchainAddress(key.text);

const burn: Burn = {
  ...{ token: { mint: MINT, decimals: 6 }, owner, amount: 9_000_000n, feePayer: PAYER },
  ...{ domain: 3, recipient: RECIPIENT, maxFee: 1_000n, finality: 1_000, blockhash: OTHER },
};
const expected = {
  ...{ token: burn.token, owner, domain: 3, recipient: RECIPIENT },
  ...{ feeCeiling: 1_000_000n, minimum: 5_000_000n },
};
let terms: BurnTerms;

describe("the burn that a deposit key signs", function () {
  before(async () => {
    const tokenAccount = await tokenAccountOf(owner, MINT);
    terms = {
      ...{ tokenAccount, mint: MINT, decimals: 6, domain: 3, recipient: RECIPIENT },
      ...{ feeCeiling: 1_000_000n, minimum: 5_000_000n },
    };
  });
  const written = (change: Partial<Burn> = {}) => burnTransaction({ ...burn, ...change });
  const refuses = (transaction: string, what: string): void =>
    assert.throws(
      () => signBurn(transaction, key, terms),
      (error: { code?: string }) => error.code === "BURN_REFUSED",
      what,
    );

  it("goes out of the account that that chain's own library computes, for whatever key", async () => {
    for (let index = 0; index < 12; index++) {
      const { text, publicKey } = new DepositKey(KEYS, index);
      const account = await tokenAccountOf(parseAltchainAddress(text), MINT);
      assert.equal(ownAccountOf(publicKey, mustForeignKey(MINT)), account);
    }
  });

  it("is signed as written by that chain's own library, and nothing in it is changed", async () => {
    for (const change of [{}, { finality: 2_000 }, { maxFee: 0n }, { amount: (1n << 64n) - 1n }]) {
      const transaction = await written(change);
      const { burn: checked } = await checkSignedBurn(signBurn(transaction, key, terms), {
        ...expected,
        feePayer: PAYER,
      });
      assert.deepEqual(checked, { ...burn, ...change });
    }
  });

  it("is refused when it is another", async () => {
    const other = `0x${"00".repeat(12)}${"cd".repeat(20)}`;
    for (const [what, change] of [
      ["recipient", { recipient: other }],
      ["domain", { domain: 6 }],
      ["fee above the ceiling", { maxFee: 1_000_001n }],
      ["amount below the minimum", { amount: 4_999_999n }],
      ["owner", { owner: OTHER }],
      ["mint", { token: { mint: OTHER, decimals: 6 } }],
      ["decimals", { token: { mint: MINT, decimals: 9 } }],
      ["finality", { finality: 1 }],
      ["payer: the deposit key itself", { feePayer: owner }],
    ] as const)
      refuses(await written(change), what);
  });

  it("is signed with any one bit changed only where that chain's library finds the same burn in it", async () => {
    const bytes = Buffer.from(await written(), "base64");
    let signed = 0;
    for (let at = 0; at < bytes.length; at++) {
      const bent = Buffer.from(bytes);
      bent.writeUInt8(bent.readUInt8(at) ^ 1, at);
      let transaction: string;
      try {
        transaction = signBurn(bent.toString("base64"), key, terms);
      } catch (error) {
        assert.equal((error as { code?: string }).code, "BURN_REFUSED", `byte ${at}`);
        continue;
      }
      signed += 1;
      const checked = await checkSignedBurn(transaction, expected);
      assert.equal(checked.burn.recipient, RECIPIENT, `byte ${at}`);
      assert.ok(checked.burn.maxFee <= terms.feeCeiling && checked.burn.amount >= terms.minimum);
    }
    // The payer's signature and key, the blockhash, low digits of amount and fee: the payer vouches for those.
    assert.ok(signed > 64 && signed < 64 + 64 + 32 + 32 + 8 + 5, String(signed));
  });

  it("is refused when bytes are missing or left over", async () => {
    const bytes = Buffer.from(await written(), "base64");
    for (const length of [0, 1, 64, 129, 200, bytes.length - 1])
      refuses(bytes.subarray(0, length).toString("base64"), `${length} bytes`);
    refuses(Buffer.concat([bytes, Buffer.alloc(1)]).toString("base64"), "one byte more");
    refuses("not base64!", "no base64");
    refuses(Buffer.alloc(2_000).toString("base64"), "too long");
  });
});

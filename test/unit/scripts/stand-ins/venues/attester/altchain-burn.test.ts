// Burns on the other blockchain as its own library writes them, and transactions that are none.
import assert from "node:assert/strict";
import {
  appendTransactionMessageInstructions,
  compileTransaction,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressEncoder,
  getTransactionEncoder,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  type Address,
  type Blockhash,
  type Instruction,
  type KeyPairSigner,
} from "@solana/kit";
import {
  getAddMemoInstruction,
  LEGACY_MEMO_PROGRAM_ADDRESS_V3,
  MEMO_PROGRAM_ADDRESS,
} from "@solana-program/memo";
import { getBurnCheckedInstruction, getTransferCheckedInstruction } from "@solana-program/token";
import { toHex } from "../../../../../../shared/protocol/bytes.ts";
import { burnIn } from "../../../../../../scripts/stand-ins/venues/attester/altchain-source.ts";

const RECIPIENT = `0x${"00".repeat(12)}${"ab".repeat(20)}`;
const MEMO = `cctp1:3:${RECIPIENT}:1300:1000`;

describe("a burn on the other blockchain", () => {
  let payer: KeyPairSigner;
  let owner: KeyPairSigner;
  let mint: KeyPairSigner;
  let account: KeyPairSigner;
  before(async () => {
    [payer, owner, mint, account] = await Promise.all([
      generateKeyPairSigner(),
      generateKeyPairSigner(),
      generateKeyPairSigner(),
      generateKeyPairSigner(),
    ]);
  });

  const read = (...instructions: readonly Instruction[]) =>
    burnIn(
      getTransactionEncoder().encode(
        compileTransaction(
          pipe(
            createTransactionMessage({ version: 0 }),
            (message) => setTransactionMessageFeePayerSigner(payer, message),
            (message) =>
              setTransactionMessageLifetimeUsingBlockhash(
                { blockhash: payer.address as string as Blockhash, lastValidBlockHeight: 100n },
                message,
              ),
            (message) => appendTransactionMessageInstructions(instructions, message),
          ),
        ),
      ),
      mint.address,
    );
  const burn = (of = mint): Instruction =>
    getBurnCheckedInstruction({
      account: account.address,
      mint: of.address,
      authority: owner,
      amount: 5_000_000n,
      decimals: 6,
    });
  const memo = (text = MEMO, programAddress: Address = LEGACY_MEMO_PROGRAM_ADDRESS_V3): Instruction => ({
    ...getAddMemoInstruction({ memo: text }),
    programAddress,
  });

  it("says who burnt how much, and where it goes", () => {
    assert.deepEqual(read(burn(), memo()), {
      owner: toHex(Uint8Array.from(getAddressEncoder().encode(owner.address))),
      amount: 5_000_000n,
      destinationDomain: 3,
      mintRecipient: RECIPIENT,
      maxFee: 1_300n,
      finality: 1_000,
    });
    assert.deepEqual(read(memo(), memo("thanks"), burn()), read(burn(), memo()));
  });

  it("is not a burn of another token, two burns, two orders, none, or a transfer", () => {
    const transfer = getTransferCheckedInstruction({
      source: account.address,
      mint: mint.address,
      destination: payer.address,
      authority: owner,
      amount: 5_000_000n,
      decimals: 6,
    });
    for (const instructions of [
      [burn(payer), memo()],
      [burn(), burn(), memo()],
      [burn(), memo(), memo()],
      [burn(), memo(), memo(`${MEMO} `)],
      [burn()],
      [memo()],
      [transfer, memo()],
      [burn(), memo(MEMO.replace("cctp1", "cctp2"))],
      [burn(), memo(MEMO.replace(":1000", ":999"))],
      [burn(), memo(MEMO.replace("abab", "ABAB"))],
      [burn(), memo(`${MEMO} `)],
      [burn(), memo(MEMO.replace(":3:", ":03:"))],
      [burn(), memo(MEMO, MEMO_PROGRAM_ADDRESS)],
    ])
      assert.equal(read(...instructions), undefined);
  });
});

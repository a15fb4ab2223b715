/**
 * The one transaction that moves money from a deposit key to the pool's chain: a burn of the token and a memo that
 * says where it is minted. It is a function of its terms, byte for byte, so that whoever signs can make it again.
 */
import { getAddMemoInstruction } from "@solana-program/memo";
import { getBurnCheckedInstruction } from "@solana-program/token";
import {
  appendTransactionMessageInstructions,
  compileTransaction,
  createNoopSigner,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
  type Address,
  type Blockhash,
  type Transaction,
} from "@solana/kit";
import { MEMO_PROGRAM, orderMemo, type BurnOrder } from "./memo.ts";
import { tokenAccountOf, type AltchainToken } from "./token.ts";

/** Wire form in base64, as the chain's nodes take it. */
export type EncodedTransaction = string;

export interface Burn extends BurnOrder {
  readonly token: AltchainToken;
  /** The deposit key: it alone can burn what is in its token account. */
  readonly owner: Address;
  readonly amount: bigint;
  /** Who pays the network's fee, and signs first. */
  readonly feePayer: Address;
  /** The transaction can land while this block is recent: 150 blocks, about a minute. */
  readonly blockhash: string;
}

/** Without signatures; the service makes it and the device signs it. */
export async function burnTransaction(burn: Burn): Promise<EncodedTransaction> {
  return getBase64EncodedWireTransaction(await compiledBurn(burn));
}

export async function compiledBurn(burn: Burn): Promise<Transaction> {
  const { token, owner, amount, feePayer, blockhash } = burn;
  const account = await tokenAccountOf(owner, token.mint);
  const authority = createNoopSigner(owner);
  // A legacy message has no tables of addresses: every account that it touches is written in it.
  const message = pipe(
    createTransactionMessage({ version: "legacy" }),
    (draft) => setTransactionMessageFeePayer(feePayer, draft),
    // How long it lives is not part of the bytes.
    (draft) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n },
        draft,
      ),
    (draft) =>
      appendTransactionMessageInstructions(
        [
          getBurnCheckedInstruction({
            account,
            mint: token.mint,
            authority,
            amount,
            decimals: token.decimals,
          }),
          getAddMemoInstruction({ memo: orderMemo(burn) }, { programAddress: MEMO_PROGRAM }),
        ],
        draft,
      ),
  );
  return compileTransaction(message);
}

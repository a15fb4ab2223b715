/**
 * What on the real chain others do: the minter of a bridge, who brings tokens into the world, and the giver of coins
 * for fees. Both send ordinary transactions; nothing is written into an account.
 */
import { randomUUID } from "node:crypto";
import { getAddMemoInstruction } from "@solana-program/memo";
import {
  getCreateAssociatedTokenIdempotentInstruction,
  getMintToCheckedInstruction,
} from "@solana-program/token";
import {
  AccountRole,
  appendTransactionMessageInstructions,
  createTransactionMessage,
  getSignatureFromTransaction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
  type Address,
  type Blockhash,
  type Instruction,
  type KeyPairSigner,
} from "@solana/kit";
import { MEMO_PROGRAM } from "../../../../shared/altchain/memo.ts";
import { tokenAccountOf } from "../../../../shared/altchain/token.ts";
import { SYSTEM_PROGRAM } from "./bank.ts";
import type { Chain } from "./chain.ts";
import { TOKEN_DECIMALS, type Genesis } from "./genesis.ts";

export interface Issuing {
  mint(owner: Address, amount: bigint): Promise<{ signature: string; tokenAccount: Address }>;
  airdrop(to: Address, coins: bigint): Promise<string>;
}

export function issuing(chain: Chain, { mint, mintAuthority, faucet }: Genesis): Issuing {
  async function send(payer: KeyPairSigner, instructions: readonly Instruction[]): Promise<string> {
    const { hash, height } = chain.ledger.blockAt("confirmed");
    const lifetime = { blockhash: hash as Blockhash, lastValidBlockHeight: height };
    // Two equal transactions in one block would be one.
    const unique = getAddMemoInstruction({ memo: randomUUID() }, { programAddress: MEMO_PROGRAM });
    const message = pipe(
      createTransactionMessage({ version: "legacy" }),
      (draft) => setTransactionMessageFeePayerSigner(payer, draft),
      (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
      (draft) => appendTransactionMessageInstructions([...instructions, unique], draft),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    const submission = chain.submit(transaction);
    if (submission.state !== "landed") throw new Error(`not landed: ${JSON.stringify(submission.failure)}`);
    return getSignatureFromTransaction(transaction);
  }

  return {
    mint: async (owner, amount) => {
      const tokenAccount = await tokenAccountOf(owner, mint);
      const create = { payer: mintAuthority, ata: tokenAccount, owner, mint };
      const make = { mint, token: tokenAccount, mintAuthority, amount, decimals: TOKEN_DECIMALS };
      const signature = await send(mintAuthority, [
        getCreateAssociatedTokenIdempotentInstruction(create),
        getMintToCheckedInstruction(make),
      ]);
      return { signature, tokenAccount };
    },

    airdrop: (to, coins) => {
      const data = new Uint8Array(12);
      new DataView(data.buffer).setUint32(0, 2, true);
      new DataView(data.buffer).setBigUint64(4, coins, true);
      const accounts = [
        { address: faucet.address, role: AccountRole.WRITABLE_SIGNER, signer: faucet },
        { address: to, role: AccountRole.WRITABLE },
      ];
      return send(faucet, [{ programAddress: SYSTEM_PROGRAM, accounts, data }]);
    },
  };
}

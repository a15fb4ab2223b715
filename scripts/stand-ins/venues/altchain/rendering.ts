/** Transactions, blocks and accounts in the forms that the chain's nodes answer in. */
import {
  getBase58Decoder,
  getBase64Decoder,
  getTransactionEncoder,
  type Address,
  type EncodedAccount,
} from "@solana/kit";
import { decodeMint, getMintSize, TOKEN_PROGRAM_ADDRESS } from "@solana-program/token";
import { MEMO_PROGRAM } from "../../../../shared/altchain/memo.ts";
import type { InnerInstruction, TokenBalance } from "./bank.ts";
import type { Json } from "./json.ts";
import type { Landed, Ledger } from "./ledger.ts";
import { parsedAccount, parsedInstruction, uiAmount } from "./parsed.ts";
import { invalidParams } from "./rpc-errors.ts";

export type TransactionEncoding = "json" | "jsonParsed" | "base58" | "base64";
export type AccountEncoding = "base58" | "base64" | "jsonParsed";
export interface Slice {
  readonly offset: number;
  readonly length: number;
}

export function decimalsOf(ledger: Ledger): (mint: Address | undefined) => number {
  return (mint) => {
    const account = mint === undefined ? undefined : ledger.account(mint, "processed");
    return account !== undefined && isMint(account) ? decodeMint(account).data.decimals : 0;
  };
}

export function isMint({ programAddress, data }: EncodedAccount): boolean {
  return programAddress === TOKEN_PROGRAM_ADDRESS && data.length === getMintSize();
}

export function accountJson(
  ledger: Ledger,
  account: EncodedAccount | undefined,
  encoding: AccountEncoding | undefined,
  slice: Slice | undefined,
): Json {
  if (account === undefined) return null;
  const { data, executable, lamports, programAddress, space } = account;
  const bytes = slice === undefined ? data : data.slice(slice.offset, slice.offset + slice.length);
  const shared = { executable, lamports, owner: programAddress, rentEpoch: 18446744073709551615n, space };
  const parsed = encoding === "jsonParsed" ? parsedAccount(account, decimalsOf(ledger)) : undefined;
  if (parsed !== undefined) return { data: parsed, ...shared };
  if (encoding === "base64" || encoding === "jsonParsed")
    return { data: [getBase64Decoder().decode(bytes), "base64"], ...shared };
  if (bytes.length > 128)
    throw invalidParams(
      "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding.",
    );
  const text = getBase58Decoder().decode(bytes);
  return { data: encoding === undefined ? text : [text, "base58"], ...shared };
}

/** With its `meta`; `accounts` leaves out the instructions, as a block's `transactionDetails` does. */
export function transactionJson(
  ledger: Ledger,
  landed: Landed,
  encoding: TransactionEncoding | "accounts",
): { readonly [key: string]: Json } {
  const { transaction } = landed;
  if (encoding === "base64" || encoding === "base58") {
    const bytes = getTransactionEncoder().encode(transaction);
    const text = encoding === "base64" ? getBase64Decoder().decode(bytes) : getBase58Decoder().decode(bytes);
    return { meta: metaJson(ledger, landed, "json"), transaction: [text, encoding] };
  }
  const signatures = Object.values(transaction.signatures).map((bytes) =>
    getBase58Decoder().decode(bytes ?? new Uint8Array(64)),
  );
  if (encoding === "accounts")
    return {
      meta: metaJson(ledger, landed, "accounts"),
      transaction: { accountKeys: keysJson(landed), signatures },
    };
  return {
    meta: metaJson(ledger, landed, encoding),
    transaction: { message: messageJson(ledger, landed, encoding), signatures },
  };
}

/** `[length] text` of every memo, as the history of an address shows it. */
export function memosOf({ message }: Landed): string | null {
  const memos = message.instructions
    .filter(({ programAddressIndex }) => message.staticAccounts[programAddressIndex] === MEMO_PROGRAM)
    .map(
      ({ data = new Uint8Array() }) =>
        `[${String(data.length)}] ${new TextDecoder().decode(Uint8Array.from(data))}`,
    );
  return memos.length === 0 ? null : memos.join("; ");
}

function metaJson(ledger: Ledger, landed: Landed, form: "json" | "jsonParsed" | "accounts"): Json {
  const { failure, fee, computeUnits, logs, inner, lamports, tokens } = landed.execution;
  const err = failure;
  const balances = (side: readonly TokenBalance[]): Json =>
    side.map(({ accountIndex, mint, owner, amount }) => ({
      accountIndex,
      mint,
      owner,
      programId: TOKEN_PROGRAM_ADDRESS,
      uiTokenAmount: uiAmount(amount, decimalsOf(ledger)(mint)),
    }));
  const shared = {
    err,
    status: failure === null ? { Ok: null } : { Err: err },
    fee,
    preBalances: lamports.before,
    postBalances: lamports.after,
    preTokenBalances: balances(tokens.before),
    postTokenBalances: balances(tokens.after),
  };
  if (form === "accounts") return shared;
  return {
    ...shared,
    computeUnitsConsumed: computeUnits,
    innerInstructions: inner.map(({ index, instructions }) => ({
      index,
      instructions: instructions.map((made) => instructionJson(ledger, landed, made, form)),
    })),
    loadedAddresses: { readonly: [], writable: [] },
    logMessages: logs,
    rewards: [],
  };
}

function messageJson(ledger: Ledger, landed: Landed, form: "json" | "jsonParsed"): Json {
  const { header, instructions, lifetimeToken, staticAccounts, version } = landed.message;
  const made = instructions.map(({ programAddressIndex, accountIndices = [], data = new Uint8Array() }) =>
    instructionJson(
      ledger,
      landed,
      {
        programIdIndex: programAddressIndex,
        accounts: accountIndices,
        data: Uint8Array.from(data),
        stackHeight: 1,
      },
      form,
    ),
  );
  const lookups = version === 0 ? { addressTableLookups: [] } : {};
  if (form === "jsonParsed")
    return { accountKeys: keysJson(landed), instructions: made, recentBlockhash: lifetimeToken, ...lookups };
  return {
    accountKeys: staticAccounts,
    header: {
      numReadonlySignedAccounts: header.numReadonlySignerAccounts,
      numReadonlyUnsignedAccounts: header.numReadonlyNonSignerAccounts,
      numRequiredSignatures: header.numSignerAccounts,
    },
    instructions: made,
    recentBlockhash: lifetimeToken,
    ...lookups,
  };
}

function instructionJson(
  ledger: Ledger,
  { message }: Landed,
  made: InnerInstruction,
  form: "json" | "jsonParsed",
): Json {
  const { programIdIndex, accounts, data, stackHeight } = made;
  if (form === "json")
    return { accounts, data: getBase58Decoder().decode(data), programIdIndex, stackHeight };
  const named = accounts.map((at) => message.staticAccounts[at]!);
  const program = message.staticAccounts[programIdIndex]!;
  return parsedInstruction({ program, accounts: named, data }, stackHeight, decimalsOf(ledger));
}

function keysJson({ message }: Landed): Json {
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header;
  const accounts = message.staticAccounts;
  return accounts.map((pubkey, at) => {
    const signer = at < numSignerAccounts;
    const writable = signer
      ? at < numSignerAccounts - numReadonlySignerAccounts
      : at < accounts.length - numReadonlyNonSignerAccounts;
    return { pubkey, signer, source: "transaction", writable };
  });
}

/**
 * The form `jsonParsed`: instructions and accounts of the programs that this chain uses, in words. What is not known is
 * shown as it is, as the chain's nodes do.
 */
import {
  ASSOCIATED_TOKEN_PROGRAM_ADDRESS,
  decodeMint,
  getMintSize,
  TOKEN_PROGRAM_ADDRESS,
} from "@solana-program/token";
import { getBase58Decoder, unwrapOption, type Address, type EncodedAccount } from "@solana/kit";
import { MEMO_PROGRAM } from "../../../../shared/altchain/memo.ts";
import { SYSTEM_PROGRAM, tokenAccount } from "./bank.ts";
import type { Json } from "./json.ts";

export interface PlainInstruction {
  readonly program: Address;
  readonly accounts: readonly Address[];
  readonly data: Uint8Array;
}

type Decimals = (mint: Address | undefined) => number;
interface Parsed {
  readonly program: string;
  readonly parsed: Json;
}

export function parsedInstruction(made: PlainInstruction, stackHeight: number, decimals: Decimals): Json {
  const parsed = parse(made, decimals);
  const { program: programId } = made;
  return parsed === undefined
    ? { accounts: made.accounts, data: getBase58Decoder().decode(made.data), programId, stackHeight }
    : { ...parsed, programId, stackHeight };
}

/** Undefined for accounts that are neither of the token program. */
export function parsedAccount(account: EncodedAccount, decimals: Decimals): Json | undefined {
  const { data } = account;
  const of = (type: string, info: Json): Json => ({
    program: "spl-token",
    parsed: { type, info },
    space: data.length,
  });
  const token = tokenAccount(account);
  if (token !== undefined) {
    const { mint, owner, amount } = token;
    const state = ["uninitialized", "initialized", "frozen"][token.state] ?? "initialized";
    const tokenAmount = uiAmount(amount, decimals(mint));
    return of("account", { isNative: false, mint, owner, state, tokenAmount });
  }
  if (account.programAddress !== TOKEN_PROGRAM_ADDRESS || data.length !== getMintSize()) return undefined;
  const mint = decodeMint(account).data;
  return of("mint", {
    decimals: mint.decimals,
    freezeAuthority: unwrapOption(mint.freezeAuthority),
    isInitialized: mint.isInitialized,
    mintAuthority: unwrapOption(mint.mintAuthority),
    supply: String(mint.supply),
  });
}

export function uiAmount(amount: bigint, decimals: number): { readonly [key: string]: Json } {
  const digits = String(amount).padStart(decimals + 1, "0");
  const whole = decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
  const text = whole.includes(".") ? whole.replace(/\.?0+$/, "") : whole;
  return {
    amount: String(amount),
    decimals,
    uiAmount: amount === 0n ? null : Number(text),
    uiAmountString: text,
  };
}

function parse(made: PlainInstruction, decimals: Decimals): Parsed | undefined {
  const { program } = made;
  if (program === TOKEN_PROGRAM_ADDRESS) return named("spl-token", tokenInstruction(made, decimals));
  if (program === SYSTEM_PROGRAM) return named("system", systemInstruction(made));
  if (program === ASSOCIATED_TOKEN_PROGRAM_ADDRESS)
    return named("spl-associated-token-account", associatedInstruction(made));
  if (program === MEMO_PROGRAM) return named("spl-memo", new TextDecoder().decode(made.data));
  return undefined;
}

function named(program: string, parsed: Json | undefined): Parsed | undefined {
  return parsed === undefined ? undefined : { program, parsed };
}

function tokenInstruction({ accounts, data }: PlainInstruction, decimals: Decimals): Json | undefined {
  const [first, second, third, fourth] = accounts;
  const amount = data.length >= 9 ? new DataView(data.buffer, data.byteOffset).getBigUint64(1, true) : 0n;
  const plain = { amount: String(amount) };
  const checked = (mint: Address | undefined) => ({ tokenAmount: uiAmount(amount, decimals(mint)) });
  const of = (type: string, info: Json): Json => ({ type, info });
  switch (data[0] ?? -1) {
    case 3:
      return of("transfer", { ...plain, source: first, destination: second, authority: third });
    case 7:
      return of("mintTo", { ...plain, mint: first, account: second, mintAuthority: third });
    case 8:
      return of("burn", { ...plain, account: first, mint: second, authority: third });
    case 12:
      return of("transferChecked", {
        ...{ ...checked(second), source: first, mint: second, destination: third, authority: fourth },
      });
    case 14:
      return of("mintToChecked", { ...checked(first), mint: first, account: second, mintAuthority: third });
    case 15:
      return of("burnChecked", { ...checked(second), account: first, mint: second, authority: third });
    case 9:
      return of("closeAccount", { account: first, destination: second, owner: third });
    case 18:
      return of("initializeAccount3", {
        ...{ account: first, mint: second, owner: getBase58Decoder().decode(data.subarray(1, 33)) },
      });
    case 22:
      return of("initializeImmutableOwner", { account: first });
    default:
      return undefined;
  }
}

function systemInstruction({ accounts, data }: PlainInstruction): Json | undefined {
  const [source, destination] = accounts;
  if (data.length < 12) return undefined;
  const view = new DataView(data.buffer, data.byteOffset);
  const coins = view.getBigUint64(4, true);
  if (view.getUint32(0, true) === 2)
    return { type: "transfer", info: { source, destination, lamports: coins } };
  if (view.getUint32(0, true) !== 0 || data.length !== 52) return undefined;
  const owner = getBase58Decoder().decode(data.subarray(20, 52));
  return {
    type: "createAccount",
    info: { source, newAccount: destination, lamports: coins, space: view.getBigUint64(12, true), owner },
  };
}

function associatedInstruction({ accounts, data }: PlainInstruction): Json | undefined {
  const [source, account, wallet, mint, systemProgram, tokenProgram] = accounts;
  const type = data[0] === 1 ? "createIdempotent" : data[0] === 0 || data.length === 0 ? "create" : undefined;
  if (type === undefined) return undefined;
  return { type, info: { source, account, wallet, mint, systemProgram, tokenProgram } };
}

/**
 * The one transaction that a deposit key signs: a burn whose money is minted to one address of the pool's chain. A service
 * writes it and pays its fee. Here it is written again from its few free fields, and every byte has to be the same, so
 * nothing that is not looked at can differ.
 */
import { base58, base64 } from "@scure/base";
import type { DepositKey } from "../../notes/bridge-keys.ts";
import type { Bytes32 } from "../../protocol/brands.ts";
import { concatBytes, equalBytes } from "../../protocol/bytes.ts";
import { ClientError } from "../base/errors.ts";
import { MEMO_PROGRAM, mustForeignKey, TOKEN_PROGRAM } from "./deposit-account.ts";

/** What the burn has to be. */
export interface BurnTerms {
  readonly tokenAccount: string;
  readonly mint: string;
  readonly decimals: number;
  /** The pool's chain, as the protocol numbers it. */
  readonly domain: number;
  readonly recipient: Bytes32;
  /** Less is not burned: fees could take all of it. */
  readonly minimum: bigint;
  readonly feeCeiling: bigint;
}

/** The free fields. */
export interface Burn {
  readonly amount: bigint;
  readonly maxFee: bigint;
  /** 1000 fast, 2000 when nothing can undo it. */
  readonly finality: number;
  /** Who pays the network's fee, and signs first. */
  readonly payer: string;
  readonly blockhash: string;
}

const SIGNATURE_BYTES = 64;
const BURN_CHECKED = 15;
/** Largest transaction of that chain. */
const MOST_BYTES = 1_232;
/** Signers, and who of them and of the others may only be read. */
const HEADER = Uint8Array.of(2, 1, 2);
const ACCOUNTS = 6;
const BLOCKHASH_AT = HEADER.length + 1 + ACCOUNTS * 32;
/** Behind the blockhash: how many instructions, program, three accounts, length of the data, kind. */
const AMOUNT_AT = BLOCKHASH_AT + 32 + 1 + 1 + 4 + 1 + 1;
/** Behind amount and decimals: program, no accounts, length of the text. */
const MEMO_AT = AMOUNT_AT + 8 + 1 + 1 + 1;
const MEMO = /^cctp1:[0-9]+:0x[0-9a-f]{64}:(0|[1-9][0-9]{0,19}):(1000|2000)$/;

/** The message without signatures. Accounts stand as that chain's own library orders them, so there is one spelling. */
export function burnMessage(
  { amount, maxFee, finality, payer, blockhash }: Burn,
  owner: string,
  terms: BurnTerms,
) {
  const { tokenAccount, mint, decimals, domain, recipient } = terms;
  const written = [tokenAccount, mint].sort(ORDER);
  const accounts = [payer, owner, ...written, ...[TOKEN_PROGRAM, MEMO_PROGRAM].sort(ORDER)];
  const at = (account: string): number => accounts.indexOf(account);
  const burn = Uint8Array.of(BURN_CHECKED, ...writeU64(amount), decimals);
  const memo = new TextEncoder().encode(`cctp1:${domain}:${recipient}:${maxFee}:${finality}`);
  return concatBytes(
    HEADER,
    Uint8Array.of(ACCOUNTS),
    ...accounts.map(mustForeignKey),
    mustForeignKey(blockhash),
    Uint8Array.of(2),
    Uint8Array.of(at(TOKEN_PROGRAM), 3, at(tokenAccount), at(mint), at(owner), burn.length),
    burn,
    Uint8Array.of(at(MEMO_PROGRAM), 0, ...length(memo.length)),
    memo,
  );
}

/** Signatures in the order of the signers: payer, owner. */
export function signedTransaction(
  message: Uint8Array,
  signatures: readonly [Uint8Array, Uint8Array],
): string {
  return base64.encode(concatBytes(Uint8Array.of(signatures.length), ...signatures, message));
}

/** The transaction with the key's signature in it, base64. Throws BURN_REFUSED for any other transaction. */
export function signBurn(transaction: string, key: DepositKey, terms: BurnTerms): string {
  const bytes = decode(transaction);
  const message = bytes.slice(1 + 2 * SIGNATURE_BYTES);
  if (bytes[0] !== 2) throw refused("other signers than a payer and the deposit key");
  const burn = freeFields(message);
  if (burn.payer === key.text) throw refused("the deposit key would pay for it");
  if (!equalBytes(burnMessage(burn, key.text, terms), message)) throw refused("not the burn of this deposit");
  if (burn.maxFee > terms.feeCeiling) throw refused("a fee above the address's ceiling");
  // A signed burn of a small part would let the fee take most of it.
  if (burn.amount < terms.minimum) throw refused("less than the address's minimum");
  return signedTransaction(message, [bytes.slice(1, 1 + SIGNATURE_BYTES), key.sign(message)]);
}

/** Only read here; that nothing else is in the transaction follows from writing it again. */
function freeFields(message: Uint8Array): Burn {
  if (message.length < MEMO_AT + 1) throw refused("it ends early");
  // A text of 128 bytes and more has a length of two.
  const text = new TextDecoder().decode(message.slice(MEMO_AT + (message[MEMO_AT]! < 0x80 ? 1 : 2)));
  const [, maxFee, finality] = MEMO.exec(text) ?? [];
  if (maxFee === undefined) throw refused("a memo that is no order");
  return {
    amount: readU64(message.subarray(AMOUNT_AT, AMOUNT_AT + 8)),
    ...{ maxFee: BigInt(maxFee), finality: Number(finality) },
    payer: base58.encode(message.slice(HEADER.length + 1, HEADER.length + 33)),
    blockhash: base58.encode(message.slice(BLOCKHASH_AT, BLOCKHASH_AT + 32)),
  };
}

function decode(text: string): Uint8Array {
  try {
    const bytes = base64.decode(text);
    if (bytes.length <= MOST_BYTES) return bytes;
  } catch {
    // Said below.
  }
  throw refused("no transaction in base64");
}

/** As that chain's library sorts accounts of one rank. */
const COLLATOR = new Intl.Collator("en", {
  ...{ caseFirst: "lower", ignorePunctuation: false, localeMatcher: "best fit" },
  ...{ numeric: false, sensitivity: "variant", usage: "sort" },
});
const ORDER = (a: string, b: string): number => COLLATOR.compare(a, b);

/** Seven bits a byte, lowest first; no text here has 2^14 bytes. */
function length(value: number): number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, value >> 7];
}

function readU64(bytes: Uint8Array): bigint {
  return bytes.reduceRight((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
}

function writeU64(value: bigint): number[] {
  if (value < 0n || value >= 1n << 64n) throw new RangeError("not 64 bits");
  return Array.from({ length: 8 }, (_, at) => Number((value >> BigInt(8 * at)) & 0xffn));
}

function refused(detail: string): ClientError {
  return new ClientError("BURN_REFUSED", detail);
}

/**
 * Decides whether a transaction is exactly the burn that was agreed to. Both sides need it: a hostile service would
 * have the device sign a transfer, a hostile device would have the service pay for something else. The check makes the
 * transaction again from its few free fields and compares every byte, so nothing that is not looked at can differ.
 */
import {
  getBase64Decoder,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  getTransactionEncoder,
  isAddress,
  isBlockhash,
  type Address,
  type ReadonlyUint8Array,
  type Transaction,
} from "@solana/kit";
import { compiledBurn, type Burn } from "./burn.ts";
import { parseOrderMemo } from "./memo.ts";
import { AltchainRefusal } from "./refusals.ts";
import type { AltchainToken } from "./token.ts";

/** What the one who checks knows by himself: from his own key, pinned terms and the chain, never from the other side. */
export interface ExpectedBurn {
  readonly token: AltchainToken;
  readonly owner: Address;
  readonly domain: number;
  /** `0x` and 64 lower-case hex digits. */
  readonly recipient: string;
  readonly feeCeiling: bigint;
  /** Less is refused. A signed burn of a small part would let `maxFee` take most of it. */
  readonly minimum: bigint;
  /** Undefined: anybody but the owner, whose coins are not to be spent for it. */
  readonly feePayer?: Address;
}

export const FINALITIES: readonly number[] = [1000, 2000];
/** Longest transaction that the network passes on. */
const MAX_BYTES = 1232;

export interface CheckedBurn {
  readonly burn: Burn;
  readonly transaction: Transaction;
}

/** Throws `AltchainRefusal` unless it is the expected burn and nothing else. Does not look at the signatures. */
export async function checkBurn(encoded: unknown, expected: ExpectedBurn): Promise<CheckedBurn> {
  const transaction = decodeTransaction(encoded);
  const burn = freeFields(transaction, expected);
  const again = await compiledBurn(burn);
  if (!isSame(again.messageBytes, transaction.messageBytes)) throw new AltchainRefusal("NOT_THE_BURN");
  if (burn.domain !== expected.domain || burn.recipient !== expected.recipient)
    throw new AltchainRefusal("WRONG_DESTINATION");
  const paidWrongly =
    expected.feePayer === undefined ? burn.feePayer === burn.owner : burn.feePayer !== expected.feePayer;
  if (paidWrongly) throw new AltchainRefusal("WRONG_FEE_PAYER");
  if (burn.maxFee > expected.feeCeiling) throw new AltchainRefusal("FEE_ABOVE_CEILING");
  if (burn.amount < expected.minimum || burn.amount <= burn.maxFee)
    throw new AltchainRefusal("BELOW_MINIMUM");
  return { burn, transaction };
}

/** One encoding a transaction: bytes that are left over, or a second spelling of base64, are refused. */
export function decodeTransaction(encoded: unknown): Transaction {
  if (typeof encoded !== "string" || encoded.length > Math.ceil(MAX_BYTES / 3) * 4)
    throw new AltchainRefusal("TRANSACTION_UNREADABLE");
  try {
    const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(encoded));
    const again = getBase64Decoder().decode(getTransactionEncoder().encode(transaction));
    if (again !== encoded) throw new AltchainRefusal("TRANSACTION_UNREADABLE");
    return transaction;
  } catch (cause) {
    throw cause instanceof AltchainRefusal ? cause : new AltchainRefusal("TRANSACTION_UNREADABLE", { cause });
  }
}

/** Only read here; that nothing else is in the transaction follows from making it again. */
function freeFields(transaction: Transaction, expected: ExpectedBurn): Burn {
  const message = readMessage(transaction);
  const [feePayer] = message.staticAccounts;
  const { lifetimeToken } = message;
  if (message.version !== "legacy" || feePayer === undefined || !isAddress(feePayer))
    throw new AltchainRefusal("NOT_THE_BURN");
  if (!isBlockhash(lifetimeToken)) throw new AltchainRefusal("NOT_THE_BURN");
  const [burn, memo, ...others] = message.instructions;
  if (burn?.data?.length !== 10 || memo?.data === undefined || others.length > 0)
    throw new AltchainRefusal("NOT_THE_BURN");
  const order = parseOrderMemo(new TextDecoder().decode(Uint8Array.from(memo.data)));
  if (order === undefined || !FINALITIES.includes(order.finality)) throw new AltchainRefusal("NOT_THE_BURN");
  const amount = new DataView(Uint8Array.from(burn.data).buffer).getBigUint64(1, true);
  return {
    ...order,
    token: expected.token,
    owner: expected.owner,
    amount,
    feePayer,
    blockhash: lifetimeToken,
  };
}

function readMessage(transaction: Transaction) {
  try {
    return getCompiledTransactionMessageDecoder().decode(transaction.messageBytes);
  } catch (cause) {
    throw new AltchainRefusal("TRANSACTION_UNREADABLE", { cause });
  }
}

function isSame(one: ReadonlyUint8Array, other: ReadonlyUint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

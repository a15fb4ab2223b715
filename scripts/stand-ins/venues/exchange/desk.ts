// What an action of a user does to the books, and what a deposit does: the exchange's awkward rules, in its own words
// where it refuses. Nothing here knows a chain.
import { base58 } from "@scure/base";
import type { Address, Bytes32 } from "../../../../shared/protocol/brands.ts";
import { asAddress } from "../../../../shared/protocol/host/text.ts";
import {
  concatBytes,
  mustFromHex,
  toBytes32,
  toHex,
  uintToBytes,
} from "../../../../shared/protocol/bytes.ts";
import { asksForForward, FORWARD_WORDS } from "../../../../shared/protocol/host/cctp-forward.ts";
import { addressToWord } from "../../../../shared/protocol/host/cctp.ts";
import { nonceOfAction, type Action } from "./actions.ts";
import { readAmount, writeAmount } from "./amounts.ts";
import type { Posting } from "./ledger.ts";
import type { ExchangeSettings } from "./settings.ts";
import type { ExchangeState, Withdrawal } from "./state.ts";

type Terms = Pick<ExchangeSettings, "fees" | "own">;

export interface Deposit {
  readonly account: Address;
  readonly amount: bigint;
  readonly to: "perps" | "spot";
  readonly hash: string;
}

export interface Asked {
  /** Who signed. */
  readonly user: Address;
  readonly action: Action;
  readonly nowMs: number;
}

/** Undefined when it was done; else the exchange's refusal, and nothing is changed but, perhaps, nothing. */
export function act(state: ExchangeState, terms: Terms, asked: Asked): string | undefined {
  const { user, action, nowMs } = asked;
  if (state.paused) return "The exchange is paused";
  if (action.hyperliquidChain !== "Testnet") return "Invalid chain";
  if (!state.ledger.isKnown(user)) return `User or API Wallet ${user} does not exist.`;
  if (!isFresh(state.nonces.get(user) ?? [], nonceOfAction(action), nowMs)) return "Invalid nonce";
  const amount = readAmount(action.amount);
  if (amount === undefined || amount === 0n) return "Invalid amount";
  const refusal = done(state, terms, asked, amount);
  if (refusal === undefined) remember(state, user, nonceOfAction(action));
  return refusal;
}

function done(state: ExchangeState, terms: Terms, asked: Asked, amount: bigint): string | undefined {
  switch (asked.action.type) {
    case "usdSend":
      return sent(state, terms, asked, asked.action, amount);
    case "sendToEvmWithData":
      return sentToEvm(state, terms, asked, asked.action, amount);
  }
}

type ActionOf<T extends Action["type"]> = Extract<Action, { readonly type: T }>;

function sent(
  { ledger, updates }: ExchangeState,
  { fees }: Terms,
  { user, nowMs }: Asked,
  action: ActionOf<"usdSend">,
  amount: bigint,
): string | undefined {
  const destination = asAddress(action.destination);
  if (destination === undefined || destination === user) return "Invalid destination";
  // The sender pays for an account that this makes.
  const fee = ledger.isKnown(destination) ? 0n : fees.new_account;
  const isPosted = ledger.post(
    { from: `perps:${user}`, to: `perps:${destination}`, amount },
    { from: `perps:${user}`, to: "fees", amount: fee },
  );
  if (!isPosted) return "Insufficient balance for transfer";
  updates.push({
    time: nowMs,
    hash: `action:${user}:${String(action.time)}`,
    users: [user, destination],
    delta: { type: "internalTransfer", usdc: writeAmount(amount), user, destination, fee: writeAmount(fee) },
  });
  return undefined;
}

function sentToEvm(
  state: ExchangeState,
  terms: Terms,
  { user, nowMs }: Asked,
  action: ActionOf<"sendToEvmWithData">,
  amount: bigint,
): string | undefined {
  const { fees, own } = terms;
  const recipient = recipientOf(action);
  if (!/^USDC(:0x[0-9a-fA-F]{32})?$/.test(action.token)) return "Invalid token";
  if (action.sourceDex !== "" && action.sourceDex !== "spot") return "Invalid source dex";
  if (recipient === undefined) return "Invalid destination recipient";
  if (action.destinationChainId === own.domain) return "Invalid destination chain";
  const burnt = amount - fees.send_to_evm;
  const data = mustFromHex(action.data);
  if (data.length > MOST_DATA_BYTES) return "Data length exceeds MAX_HOOK_DATA_SIZE";
  const isForwarded = data.length === 0 || asksForForward(data);
  const maxFee = isForwarded ? fees.forward : 0n;
  if (burnt <= maxFee) return "Amount must exceed the fee";
  const way = {
    domain: action.destinationChainId,
    recipient,
    hook: toHex(withdrawalHook({ isForwarded, user, nonce: action.nonce, data })),
    max_fee: maxFee,
  } as const;
  const from = action.sourceDex === "spot" ? "spot" : "perps";
  const leaving = { user, from, fee: fees.send_to_evm, nonce: action.nonce, way } as const;
  if (!leave(state, { ...leaving, amount: burnt })) return "Insufficient balance for transfer";
  state.updates.push({
    time: nowMs,
    hash: `action:${user}:${String(action.nonce)}`,
    users: [user],
    delta: {
      type: "send",
      user,
      destination: action.destinationRecipient,
      sourceDex: action.sourceDex,
      destinationDex: "",
      token: "USDC",
      amount: writeAmount(burnt),
      usdcValue: writeAmount(burnt),
      fee: writeAmount(fees.send_to_evm),
      nonce: action.nonce,
    },
  });
  return undefined;
}

const MOST_DATA_BYTES = 1_024;

/** github.com/circlefin/hyperevm-circle-contracts at ffcc978, `src/messages/CrossChainWithdrawalHookData.sol`: 60 bytes, and the user's. */
function withdrawalHook(of: {
  readonly isForwarded: boolean;
  readonly user: Address;
  readonly nonce: number;
  readonly data: Uint8Array;
}): Uint8Array {
  return concatBytes(
    of.isForwarded ? FORWARD_WORDS : new Uint8Array(FORWARD_WORDS.length),
    uintToBytes(0n, 4),
    uintToBytes(28n + BigInt(of.data.length), 4),
    mustFromHex(of.user),
    uintToBytes(BigInt(of.nonce), 8),
    of.data,
  );
}

function recipientOf(action: ActionOf<"sendToEvmWithData">): Bytes32 | undefined {
  if (action.addressEncoding === "hex") {
    const address = asAddress(action.destinationRecipient);
    return address === undefined ? undefined : addressToWord(address);
  }
  try {
    const bytes = base58.decode(action.destinationRecipient);
    return bytes.length === 32 ? toBytes32(bytes) : undefined;
  } catch {
    return undefined;
  }
}

function leave(state: ExchangeState, leaving: Omit<Withdrawal, "id" | "sent" | "state">): boolean {
  const { user, from, amount, fee } = leaving;
  const isPosted = state.ledger.post(
    { from: `${from}:${user}`, to: "leaving", amount },
    { from: `${from}:${user}`, to: "fees", amount: fee },
  );
  if (isPosted) state.withdrawals.push({ ...leaving, id: state.withdrawals.length, state: "open" });
  return isPosted;
}

/** It is on its chain permanently, or can never be: then the money, the fee too, is back where it was. */
export function settle(state: ExchangeState, withdrawal: Withdrawal, isPaid: boolean): void {
  const { user, from, amount, fee } = withdrawal;
  const postings: Posting[] = isPaid
    ? [{ from: "leaving", to: "outside", amount }]
    : [
        { from: "leaving", to: `${from}:${user}`, amount },
        { from: "fees", to: `${from}:${user}`, amount: fee },
      ];
  if (withdrawal.state !== "open" || !state.ledger.post(...postings))
    throw new RangeError("a withdrawal that is not open");
  withdrawal.state = isPaid ? "paid" : "returned";
}

/** As the exchange does it: a new account costs, and what is no more than that is lost. */
export function credit(state: ExchangeState, terms: Terms, deposit: Deposit, nowMs: number): void {
  const { account, amount, to, hash } = deposit;
  const { ledger } = state;
  const from = "outside";
  const fee = ledger.isKnown(account) ? 0n : terms.fees.new_account;
  if (amount <= fee) {
    ledger.post({ from, to: "lost", amount });
    return;
  }
  ledger.post({ from, to: `${to}:${account}`, amount: amount - fee }, { from, to: "fees", amount: fee });
  state.updates.push({
    time: nowMs,
    hash,
    users: [account],
    delta: { type: "deposit", usdc: writeAmount(amount - fee) },
  });
}

const KEPT = 100;
const DAY_MS = 24 * 60 * 60_000;

/** Within two days before and one after, never used, and not below the oldest of the hundred that are kept. */
function isFresh(kept: readonly number[], nonce: number, nowMs: number): boolean {
  const oldest = kept.length < KEPT ? -1 : Math.min(...kept);
  const isInTime = nonce > nowMs - 2 * DAY_MS && nonce < nowMs + DAY_MS;
  return isInTime && nonce > oldest && !kept.includes(nonce);
}

function remember(state: ExchangeState, user: Address, nonce: number): void {
  const newest = [...(state.nonces.get(user) ?? []), nonce].sort((a, b) => b - a).slice(0, KEPT);
  state.nonces.set(user, newest);
}

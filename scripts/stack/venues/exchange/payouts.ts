// How a booked withdrawal leaves: step by step, each step taken from what the chain says now. Killed anywhere, it goes
// on from there.
import { z } from "zod";
import { quantity, type JsonRpc } from "../json-rpc.ts";
import { bridgeView, burnCall, finalizeCall, requestCall, type Bridge } from "./doors.ts";
import { settle } from "./desk.ts";
import type { ExchangeKeys } from "./keys.ts";
import { broadcast, firstNonce, signCall, standingOf, type Call } from "./sender.ts";
import type { ExchangeSettings } from "./settings.ts";
import type { ExchangeState, Withdrawal } from "./state.ts";

export interface Payouts {
  readonly state: ExchangeState;
  readonly settings: ExchangeSettings;
  readonly keys: ExchangeKeys;
  readonly rpc: Readonly<Record<"own" | "bridge", JsonRpc>>;
  /** Resolves when the state is on disk. */
  readonly save: () => Promise<void>;
}

/** One step for each that is open. */
export async function payOut(payouts: Payouts): Promise<void> {
  for (const withdrawal of payouts.state.withdrawals.filter(({ state }) => state === "open")) {
    if (withdrawal.way.kind === "cctp") await burn(payouts, withdrawal);
    else if (payouts.settings.bridge !== null) await bridge(payouts, payouts.settings.bridge, withdrawal);
  }
}

async function burn(payouts: Payouts, withdrawal: Withdrawal): Promise<void> {
  const { state, settings, rpc, save } = payouts;
  const [sent] = withdrawal.sent;
  if (sent === undefined) {
    const call = burnCall(settings.own, settings.finality, withdrawal);
    if (call !== undefined) await submit(payouts, "own", withdrawal, call);
    return;
  }
  const standing = await standingOf(rpc.own, sent.hash, settings.own.final_blocks);
  if (standing === "missing") return broadcast(rpc.own, sent);
  if (standing === "mined") return;
  settle(state, withdrawal, standing === "done");
  return save();
}

/** Its transactions succeed also when the bridge refuses, so only the bridge's own state counts. */
async function bridge(payouts: Payouts, terms: Bridge, withdrawal: Withdrawal): Promise<void> {
  const { state, keys, rpc, save } = payouts;
  const head = await rpc.bridge.call(blockShape, "eth_getBlockByNumber", ["latest", false]);
  const settled = Math.max(head.number - terms.final_blocks, terms.from_block);
  const before = await bridgeView(rpc.bridge, terms, withdrawal, settled);
  if (before.isPaid || before.isStopped) {
    settle(state, withdrawal, before.isPaid);
    return save();
  }
  const now = await bridgeView(rpc.bridge, terms, withdrawal, head.number);
  if (now.isPaid || now.isStopped) return;
  // The last transaction first, as long as the chain may still take it.
  const last = withdrawal.sent.at(-1);
  if (last !== undefined) {
    const standing = await standingOf(rpc.bridge, last.hash, terms.final_blocks);
    if (standing === "missing") return broadcast(rpc.bridge, last);
    if (standing === "mined") return;
  }
  if (now.payableAfter === undefined)
    return submit(payouts, "bridge", withdrawal, requestCall(terms, keys, withdrawal, now.message));
  if (head.timestamp > now.payableAfter)
    return submit(payouts, "bridge", withdrawal, finalizeCall(terms, now.message));
}

const blockShape = z.object({ number: quantity, timestamp: quantity });

async function submit(
  payouts: Payouts,
  where: "own" | "bridge",
  withdrawal: Withdrawal,
  call: Call,
): Promise<void> {
  const { state, settings, keys, rpc, save } = payouts;
  const chain = settings[where];
  if (chain === null) return;
  const nonce = state.senders[where] ?? (await firstNonce(rpc[where], keys.reserve.address));
  const sent = signCall(keys.reserve, chain.chain_id, nonce, call);
  withdrawal.sent.push(sent);
  state.senders[where] = nonce + 1;
  await save();
  await broadcast(rpc[where], sent);
}

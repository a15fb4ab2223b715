// How a booked withdrawal leaves: step by step, each step taken from what the chain says now. Killed anywhere, it goes
// on from there.
import type { JsonRpc } from "../json-rpc.ts";
import { burnCall } from "./doors.ts";
import { settle } from "./desk.ts";
import type { VenueKey } from "../key-file.ts";
import { broadcast, firstNonce, signCall, standingOf } from "./sender.ts";
import type { ExchangeSettings } from "./settings.ts";
import type { ExchangeState, Withdrawal } from "./state.ts";

export interface Payouts {
  readonly state: ExchangeState;
  readonly settings: ExchangeSettings;
  readonly reserve: VenueKey;
  readonly rpc: JsonRpc;
  /** Resolves when the state is on disk. */
  readonly save: () => Promise<void>;
}

/** One step for each that is open. */
export async function payOut(payouts: Payouts): Promise<void> {
  for (const withdrawal of payouts.state.withdrawals.filter(({ state }) => state === "open"))
    await burn(payouts, withdrawal);
}

async function burn(payouts: Payouts, withdrawal: Withdrawal): Promise<void> {
  const { state, settings, rpc, save } = payouts;
  const { sent } = withdrawal;
  if (sent === undefined) return submit(payouts, withdrawal);
  const standing = await standingOf(rpc, sent.hash, settings.own.final_blocks);
  if (standing === "missing") return broadcast(rpc, sent);
  if (standing === "mined") return;
  settle(state, withdrawal, standing === "done");
  return save();
}

async function submit(
  { state, settings, reserve, rpc, save }: Payouts,
  withdrawal: Withdrawal,
): Promise<void> {
  const { own } = settings;
  const nonce = state.nonce ?? (await firstNonce(rpc, reserve.address));
  const sent = signCall(reserve, own.chain_id, nonce, burnCall(own, withdrawal));
  withdrawal.sent = sent;
  state.nonce = nonce + 1;
  await save();
  await broadcast(rpc, sent);
}

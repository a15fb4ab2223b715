// The exchange at work: credits what arrives on its chain, does what its users sign, and pays out. Its clock says when
// to look again, and stamps its records; nothing happens because time has passed.
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { JsonRpc, quantity, RpcError } from "../json-rpc.ts";
import { StateFile } from "../state-file.ts";
import type { ExchangeApi } from "./api.ts";
import { act, credit } from "./desk.ts";
import { forwardedIn } from "./doors.ts";
import { openReserve } from "./keys.ts";
import { payOut, type Payouts } from "./payouts.ts";
import type { ExchangeSettings } from "./settings.ts";
import { ExchangeState, stateShape } from "./state.ts";

export interface Exchange extends ExchangeApi {
  stop(): Promise<void>;
}

/** Nodes refuse more at once. */
const MAX_RANGE = 10_000;

/** `onFault`: a chain was away; it is asked again. */
export async function runExchange(
  folder: string,
  settings: ExchangeSettings,
  onFault: (where: string, error: unknown) => void,
): Promise<Exchange> {
  const { own } = settings;
  const file = new StateFile(path.join(folder, "state.json"), stateShape);
  const state = new ExchangeState(await file.load());
  const rpc = new JsonRpc(own.rpc);
  const save = (): Promise<void> => file.save(state.toJson());
  const payouts: Payouts = { state, settings, rpc, save, reserve: await openReserve(folder) };
  let isStopping = false;

  async function receive(): Promise<void> {
    const from = state.position ?? own.from_block;
    const head = await rpc.call(quantity, "eth_blockNumber", []);
    const to = Math.min(head - own.final_blocks, from + MAX_RANGE - 1);
    if (to < from) return;
    const deposits = await forwardedIn(rpc, own, { from, to });
    // Before the first is credited nothing is awaited: credit and position are saved as one.
    for (const deposit of deposits) credit(state, settings, deposit, Date.now());
    state.position = to + 1;
    if (deposits.length > 0) await save();
  }

  async function attempt(where: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      onFault(where, error);
    }
  }

  async function work(): Promise<void> {
    while (!isStopping) {
      if (!state.paused) {
        await attempt("own chain", receive);
        await attempt("payouts", () => payOut(payouts));
      }
      await sleep(settings.poll_ms);
    }
  }
  const working = work();

  return {
    settings,
    state,
    nowMs: Date.now,
    act: async (user, { action }) => {
      const refusal = act(state, settings, { user, action, nowMs: Date.now() });
      if (refusal === undefined) await save();
      return refusal;
    },
    pause: async (paused) => {
      state.paused = paused;
      await save();
    },
    stop: async () => {
      isStopping = true;
      await working;
      await save();
    },
  };
}

// The exchange's HTTP API as far as bridges use it: what it tells about an account, and what a user signs. Words and
// shapes are those of the public one.
import { z } from "zod";
import type { Address } from "../../../../shared/protocol/brands.ts";
import type { VenueAnswer, VenueRequest } from "../json-server.ts";
import { addressShape } from "../shapes.ts";
import { signedActionShape, signerOf, type SignedAction, nonceOfAction } from "./actions.ts";
import { writeAmount } from "./amounts.ts";
import type { ExchangeSettings } from "./settings.ts";
import type { ExchangeState } from "./state.ts";

export interface ExchangeApi {
  readonly settings: ExchangeSettings;
  readonly state: ExchangeState;
  /** Undefined when it was done and is on disk; else the refusal. */
  act(user: Address, signed: SignedAction): Promise<string | undefined>;
  pause(paused: boolean): Promise<void>;
  readonly nowMs: () => number;
}

const user = addressShape;
const infoShape = z.discriminatedUnion("type", [
  z.object({ type: z.literal("clearinghouseState"), user, dex: z.literal("").optional() }),
  z.object({ type: z.literal("spotClearinghouseState"), user }),
  z.object({
    type: z.literal("userNonFundingLedgerUpdates"),
    user,
    startTime: z.int().optional(),
    endTime: z.int().nullish(),
  }),
  z.object({ type: z.literal("preTransferCheck"), user, source: addressShape.optional() }),
  z.object({ type: z.literal("userRole"), user }),
  z.object({ type: z.literal("exchangeStatus") }),
]);
type Info = z.output<typeof infoShape>;

const pauseShape = z.strictObject({ paused: z.boolean() });

export async function answerExchange(api: ExchangeApi, request: VenueRequest): Promise<VenueAnswer> {
  const { method, path, body } = request;
  if (method !== "POST") return { status: 404, body: null };
  switch (path) {
    case "/info": {
      const read = infoShape.safeParse(body);
      return read.success ? { status: 200, body: told(api, read.data) } : UNREADABLE;
    }
    case "/exchange": {
      const read = signedActionShape.safeParse(body);
      return read.success ? { status: 200, body: await acted(api, read.data) } : UNREADABLE;
    }
    case "/dev/pause": {
      const read = pauseShape.safeParse(body);
      if (!read.success) return UNREADABLE;
      await api.pause(read.data.paused);
      return { status: 200, body: read.data };
    }
    default:
      return { status: 404, body: null };
  }
}

const UNREADABLE: VenueAnswer = {
  status: 422,
  body: "Failed to deserialize the JSON body into the target type",
};

async function acted(api: ExchangeApi, signed: SignedAction): Promise<object> {
  const refused = (response: string): object => ({ status: "err", response });
  if (signed.nonce !== nonceOfAction(signed.action)) return refused("Nonce does not match the action");
  // A wrong signature is somebody's, so what comes of it is an account that does not exist.
  const signer = signerOf(signed);
  if (signer === undefined) return refused("Invalid signature");
  const refusal = await api.act(signer, signed);
  return refusal === undefined ? { status: "ok", response: { type: "default" } } : refused(refusal);
}

function told({ state, settings, nowMs }: ExchangeApi, info: Info): unknown {
  const { ledger, updates } = state;
  switch (info.type) {
    case "clearinghouseState": {
      const value = writeAmount(ledger.balance(`perps:${info.user}`));
      const summary = { accountValue: value, totalNtlPos: "0.0", totalRawUsd: value, totalMarginUsed: "0.0" };
      return {
        marginSummary: summary,
        crossMarginSummary: summary,
        crossMaintenanceMarginUsed: "0.0",
        withdrawable: value,
        assetPositions: [],
        time: nowMs(),
      };
    }
    case "spotClearinghouseState": {
      const total = ledger.balance(`spot:${info.user}`);
      const usdc = { coin: "USDC", token: 0, total: writeAmount(total), hold: "0.0", entryNtl: "0.0" };
      return { balances: total === 0n ? [] : [usdc] };
    }
    case "userNonFundingLedgerUpdates": {
      const { startTime = 0, endTime } = info;
      return updates
        .filter(
          ({ users, time }) => users.includes(info.user) && time >= startTime && time <= (endTime ?? time),
        )
        .map(({ time, hash, delta }) => ({ time, hash, delta }));
    }
    case "preTransferCheck":
      return {
        fee: writeAmount(ledger.isKnown(info.user) ? 0n : settings.fees.new_account),
        isSanctioned: false,
        userExists: ledger.isKnown(info.user),
        userHasSentTx: state.nonces.has(info.user),
      };
    case "userRole":
      return { role: ledger.isKnown(info.user) ? "user" : "missing" };
    case "exchangeStatus":
      return { specialStatuses: state.paused ? ["paused"] : null, time: nowMs() };
  }
}

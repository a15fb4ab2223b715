/**
 * What the ways take, as the attester says: estimates for the answer, asked seldom and never waited for long. Nothing
 * depends on them, since a fee above the ceiling is refused by the forwarder itself.
 */
import { z } from "zod";
import type { BridgeRecord } from "../../base/store/bridge-records.ts";
import type { BridgeSettings } from "../../base/bridge/bridge.settings.ts";
import type { VenueFee } from "./bridge.view.ts";

const DEADLINE_MS = 1_000;
const KEPT_MS = 60_000;
/** Of the fast way; the slow one is free. */
const FAST = 1_000;
const answerShape = z
  .array(z.object({ finalityThreshold: z.int(), minimumFee: z.number().min(0).max(10_000) }))
  .max(16);

/** Basis points, undefined while they are not known. */
type Rate = number | undefined;

export function createVenueFees(settings: BridgeSettings, now: () => number) {
  const known = new Map<string, { readonly at: number; readonly rate: Promise<Rate> }>();

  function rateOf(from: number, to: number): Promise<Rate> {
    const key = `${String(from)}/${String(to)}`;
    const kept = known.get(key);
    if (kept !== undefined && now() - kept.at < KEPT_MS) return kept.rate;
    const rate = ask(`${settings.attesterUrl.replace(/\/$/, "")}/v2/burn/USDC/fees/${key}`);
    known.set(key, { at: now(), rate });
    return rate;
  }

  return async ({ way }: BridgeRecord): Promise<readonly VenueFee[]> => {
    const { home } = settings;
    if (way.direction === "out") {
      return feeAt("home", await rateOf(home.domain, way.home.exit.domain), way.home.minimum);
    }
    if (way.kind === "from-altchain") {
      if (settings.altchain === undefined) return [];
      return feeAt("altchain", await rateOf(settings.altchain.domain, home.domain), way.home.minimum);
    }
    const chains = settings.chains.filter(
      ({ chainId }) => way.source?.terms.lanes.some((lane) => lane.chainId === BigInt(chainId)) === true,
    );
    const estimates = await Promise.all(
      chains.map(async ({ name, domain, minimum }) =>
        feeAt(name, await rateOf(domain, home.domain), minimum),
      ),
    );
    return estimates.flat();
  };
}

function feeAt(chain: string, rate: Rate, amount: bigint): VenueFee[] {
  if (rate === undefined) return [];
  // Rates have parts of a basis point. Rounded up: nobody is to be surprised by more.
  const parts = BigInt(Math.round(rate * 1_000));
  const fee = (amount * parts + 9_999_999n) / 10_000_000n;
  return [{ chain, fee, of: "attester, for a fast transfer of the minimum" }];
}

async function ask(url: string): Promise<Rate> {
  try {
    const response = await fetch(url, { redirect: "error", signal: AbortSignal.timeout(DEADLINE_MS) });
    if (!response.ok) return undefined;
    const rates = answerShape.parse(await response.json());
    return rates.find(({ finalityThreshold }) => finalityThreshold === FAST)?.minimumFee;
  } catch {
    // An estimate that is not there is left out.
    return undefined;
  }
}

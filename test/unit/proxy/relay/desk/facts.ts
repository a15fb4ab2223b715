/** Requests and what chains say of them, made by hand: builders with defaults for the tests of planning. */
import { bridgeForm, HOME_CHAIN, type BridgeRecord } from "../../../../../proxy/base/store/bridge-records.ts";
import type {
  Arrival,
  BridgeFacts,
  Burn,
  Leaving,
  Spot,
  Vault,
  VaultFacts,
} from "../../../../../proxy/relay/fold/facts.ts";
import { factsAbout } from "../../../../support/bridge-facts.ts";
import type { Snapshot } from "../../../../../proxy/relay/desk/steps.ts";

const address = (n: number): string => `0x${n.toString(16).padStart(40, "0")}`;
const bytes32 = (n: number): string => `0x${n.toString(16).padStart(64, "0")}`;
export const POOL = address(1);
export const USDC = address(2);
export const COLLECTOR = address(3);
export const REFUND = address(4);
export const ACCOUNT = address(5);
export const IN = address(16);
export const SOURCE = address(17);
export const OUT = address(18);
export const RELAY = address(19);
export const MINIMUM = 1_000_000n;
export const LANE_MINIMUM = 2_000_000n;
export const CEILING = 200_000n;
export const SECOND = "second";
export const SECOND_ID = 31_338;
export const NOW = 1_800_000_000;

const receiver = { npk: "7", ephemeralKey: bytes32(8).slice(2), ciphertext: "09".repeat(53) };
const common = {
  owner: { developerId: "d" },
  since: {},
  createdAt: 0,
  watchUntil: 0,
};
const home = {
  ...{ pool: POOL, asset: USDC, receiver, feeCeiling: String(CEILING), minimum: String(MINIMUM) },
  ...{ collector: COLLECTOR, refund: REFUND },
};
const lane = {
  ...{ chainId: String(SECOND_ID), token: address(20), messenger: address(21), domain: 3 },
  ...{ minimum: String(LANE_MINIMUM), feeCeiling: String(CEILING) },
};
const exit = {
  messenger: address(22),
  domain: 6,
  recipient: bytes32(23),
  caller: bytes32(0),
  hook: "",
};
const out = {
  ...{
    pool: POOL,
    asset: USDC,
    exit,
    feeCeiling: String(CEILING),
    minimum: String(MINIMUM),
    refund: receiver,
  },
};

function recordOf(id: string, place: string, way: unknown): BridgeRecord {
  return bridgeForm.read(JSON.stringify({ id, address: place, way, ...common }), id);
}

export const inRecord = (id = "in"): BridgeRecord =>
  recordOf(id, IN, {
    ...{ kind: "from-evm", venue: "perpvenue", direction: "in", home },
    source: {
      address: SOURCE,
      terms: {
        recipient: bytes32(16),
        lanes: [{ ...lane, chainId: "1" }, lane],
        refund: REFUND,
      },
    },
  });
export const altRecord = (): BridgeRecord =>
  recordOf("alt", IN, {
    ...{ kind: "from-altchain", venue: "altchain", direction: "in", home },
    ...{ depositKey: "key", tokenAccount: "account" },
  });
export const chainRecord = (): BridgeRecord =>
  recordOf("chain", OUT, {
    ...{ kind: "to-chain", venue: "chain", direction: "out", home: out },
    to: { chainId: SECOND_ID, recipient: ACCOUNT },
  });
export const exchangeRecord = (): BridgeRecord =>
  recordOf("exchange", OUT, {
    ...{ kind: "to-exchange", venue: "perpvenue", direction: "out", account: ACCOUNT },
    home: {
      ...out,
      exit: { ...exit, domain: 19, caller: `0x${"00".repeat(12)}${RELAY.slice(2)}`, hook: "ab" },
    },
  });
export const refused = (record: BridgeRecord): BridgeRecord => ({
  ...record,
  screening: { isRefused: true, at: 1 },
});

export function placeOf(block: number, bend: Partial<Spot> = {}): Spot {
  const blockHash = bytes32(block);
  const base = { chain: HOME_CHAIN, block, blockHash, tx: bytes32(block + 1_000), logIndex: 0, at: NOW - 60 };
  return { ...base, confirmations: 5, isFinal: true, ...bend };
}

export const arrival = (
  amount: bigint,
  block = 5,
  bend: Partial<Spot> = {},
  from = address(99),
): Arrival => ({
  ...{ place: placeOf(block, bend), from, amount, brought: undefined },
});

/** Of the address `at`, with what this file's requests say of it; what the home address is on the way out says `factsOf`. */
export function vault(chain: string, at: string, bend: Partial<VaultFacts> = {}): VaultFacts {
  const balance = bend.balance ?? (bend.arrivals ?? []).reduce((sum, { amount }) => sum + amount, 0n);
  return {
    ...{ chain, confirmations: 3, blockSecs: 2, address: at, token: USDC, ...termsAt(at) },
    ...{ balance, finalBalance: balance, arrivals: [], burns: [], leavings: [], skips: [] },
    clock: undefined,
    ...bend,
  };
}

function termsAt(at: string): Pick<VaultFacts, "role" | "minimum" | "contract" | "lane"> {
  const { way } = inRecord();
  if (at === "account") return { role: "deposit", minimum: MINIMUM, contract: undefined, lane: undefined };
  if (at !== SOURCE || way.kind !== "from-evm")
    return { role: "home", minimum: MINIMUM, contract: undefined, lane: undefined };
  const { terms } = way.source!;
  const contract: Vault = { kind: "source", terms, lane: 1 };
  return { role: "source", minimum: LANE_MINIMUM, contract, lane: terms.lanes[1] };
}

export const leaving = (what: Leaving["what"], place: Spot, amount: bigint): Leaving => ({
  ...{ what, place, amount, leafIndex: 0, burn: undefined },
});

export const holding = (
  chain: string,
  at: string,
  amount: bigint,
  bend: Partial<VaultFacts> = {},
): VaultFacts => vault(chain, at, { arrivals: [arrival(amount)], ...bend });

export interface Made {
  readonly home?: VaultFacts;
  readonly before?: readonly VaultFacts[];
  readonly incoming?: readonly Burn[];
}

export const factsOf = (
  record: BridgeRecord,
  { home = vault(HOME_CHAIN, IN), ...found }: Made,
): BridgeFacts => factsAbout(record, { home, ...found });

export function burn(bend: Partial<Burn> = {}): Burn {
  return {
    ...{
      id: "burn-1",
      place: placeOf(7, { chain: SECOND }),
      to: HOME_CHAIN,
      amount: 3_000_000n,
    },
    ...{ sourceDomain: 6, destinationDomain: 3, burner: bytes32(17), recipient: bytes32(16), maxFee: 0n },
    ...{ minFinality: 2_000, message: "0x01", delivery: undefined },
    ...bend,
  };
}

const TIP = { number: 100, timestamp: NOW };

/** Everything in reach, open and free of fees. */
export function viewOf(bend: Partial<Snapshot> = {}): Snapshot {
  return {
    tipOf: () => TIP,
    isServed: () => true,
    domainOf: (chain) => (chain === HOME_CHAIN ? 3 : 6),
    attestationOf: () => ({ status: "complete", message: "0x02", attestation: "0x03" }),
    feesOf: () => new Map(),
    leastFeeOf: () => 0n,
    screeningOf: () => "open",
    exitOf: () => "open",
    isAttesterAway: () => false,
    gasOn: () => 10n ** 9n,
    isHeld: () => false,
    refusalOf: () => undefined,
    ...bend,
  };
}

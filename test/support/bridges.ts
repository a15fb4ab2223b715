// Bridge requests and their settings for tests: terms as the service makes them, of keys that are nobody's.
import { bridgeSettingsOf, type BridgeSettings } from "../../proxy/base/bridge/bridge.settings.ts";
import { Terms, type Planned } from "../../proxy/api/bridge/terms.ts";
import type { BridgeRecord } from "../../proxy/base/store/bridge-records.ts";
import { mustField, type Address, type Bytes32 } from "../../shared/protocol/brands.ts";
import type { Receiver } from "../../shared/protocol/host/forwarders.ts";

export const DAY_MS = 86_400_000;
export const madeAddress = (n: number): Address => `0x${n.toString(16).padStart(40, "0")}` as Address;
export const BRIDGE_POOL = madeAddress(0xb001);
export const BRIDGE_USDC = madeAddress(0xc01);
export const GAS_WALLET = madeAddress(0x6a5);
const MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
/** Public keys of the other blockchain; whose does not matter. */
export const FOREIGN_KEYS = [
  "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM",
  "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
] as const;

const bounds = { minimum: "1000000", feeCeiling: "500000" };
const evmChain = (chainId: number) => ({
  ...{ chainId, rpcUrl: "http://127.0.0.1:1", confirmations: 2, blockSecs: 2 },
  ...{ transmitter: madeAddress(chainId + 1), token: madeAddress(chainId + 2), senderKeyFile: "key" },
});

/** A good file, whole. */
export const BRIDGES_FILE = {
  factory: madeAddress(0xfac),
  vaultCodeHash: `0x${"ab".repeat(32)}`,
  collector: GAS_WALLET,
  home: { domain: 3, messenger: madeAddress(0x301), transmitter: madeAddress(0x302) },
  assets: [{ asset: BRIDGE_USDC, ...bounds }],
  chains: [
    {
      ...{ name: "second", ...evmChain(31_338), messenger: madeAddress(0x601), domain: 6 },
      ...{ ...bounds, exit: { minimum: "2000000", feeCeiling: "900000" }, estimatedSecs: 30 },
    },
    {
      ...{ name: "other", ...evmChain(31_339), messenger: madeAddress(0x701), domain: 7 },
      ...{ minimum: "3000000", feeCeiling: "700000" },
    },
  ],
  perpvenue: {
    apiUrl: "http://127.0.0.1:1",
    chain: evmChain(31_340),
    exit: { domain: 19, forwarder: madeAddress(0x1901) },
    ...{ minimum: "5000000", feeCeiling: "400000", estimatedSecs: 60 },
  },
  altchain: {
    ...{
      rpcUrl: "http://127.0.0.1:1",
      mint: MINT,
      decimals: 6,
      domain: 5,
      ...bounds,
      feePayerKeyFile: "key",
    },
  },
  attesterUrl: "http://127.0.0.1:1",
  limits: { openPerUser: 5, openPerDeveloper: 50, openPerInstance: 50, watchDays: 30 },
};

export const BRIDGE_HOME = {
  chainId: 31_337,
  gasWallet: GAS_WALLET,
  assets: [{ address: BRIDGE_USDC, decimals: 6 }],
};

export const bridgeSettings = (change: object = {}): BridgeSettings =>
  bridgeSettingsOf({ ...BRIDGES_FILE, ...change }, BRIDGE_HOME);

export const madeReceiver = (n: number): Receiver => ({
  npk: mustField(BigInt(n) + 1n),
  ephemeralKey: new Uint8Array(32).fill(n % 256),
  ciphertext: new Uint8Array(53).fill(n % 256),
});

const terms = new Terms(bridgeSettings(), BRIDGE_POOL);
const PLANS = {
  "from-evm": (n: number) => terms.fromEvm(BRIDGE_USDC, madeReceiver(n), madeAddress(n)),
  "from-altchain": (n: number): Planned => ({
    address: madeAddress(0xa0000 + n),
    way: {
      ...{ kind: "from-altchain", venue: "altchain", direction: "in" },
      home: {
        ...{ pool: BRIDGE_POOL, asset: BRIDGE_USDC, receiver: madeReceiver(n), feeCeiling: 5n, minimum: 10n },
        ...{ collector: GAS_WALLET, refund: madeAddress(n) },
      },
      ...{ depositKey: FOREIGN_KEYS[0], tokenAccount: FOREIGN_KEYS[1] },
    },
  }),
  "to-exchange": (n: number) => terms.toExchange(madeAddress(n), madeReceiver(n)),
  "to-chain": (n: number) => terms.toChain(31_338, madeAddress(n), madeReceiver(n)),
} as const satisfies Record<BridgeRecord["way"]["kind"], (n: number) => Planned | undefined>;

export function bridgeDraft(
  n: number,
  { kind = "from-evm", sub = "user" }: { readonly kind?: keyof typeof PLANS; readonly sub?: string },
): BridgeRecord {
  const planned = PLANS[kind](n);
  if (planned === undefined) throw new RangeError("these settings have no such way");
  return {
    id: `0190a0a0-0000-7000-8000-${n.toString(16).padStart(12, "0")}`,
    owner: { developerId: "d", sub },
    ...planned,
    since: { home: 7, second: 9 },
    createdAt: 1_000 + n,
    watchUntil: 1_000 + n + 30 * DAY_MS,
  };
}

export const madeHash = (n: number): Bytes32 => `0x${n.toString(16).padStart(64, "0")}` as Bytes32;

// The test service and wallets on it, for tests whose point is neither a proof nor an enclave: a test that wants
// a real proof gives `prover` and sets `service.verifiesProofs`.
import {
  createClient,
  createWallet,
  memoryStorage,
  type Pins,
  type Prover,
  type Wallet,
  type WalletStorage,
} from "../../../shared/client/index.ts";
import { vouchedPins } from "../../support/vouching.ts";
import { CHAIN_ID, POOL, USDC, WETH } from "./chain.ts";
import { PREFIX } from "./checks.ts";
import { API_KEY, TestService } from "./service.ts";
import { standInProver } from "./stand-in.ts";

export interface WalletWishes {
  /** Which key: wallets of one number are copies of each other. */
  readonly key?: number;
  readonly prover?: Prover;
  /** Wallets on one storage are the tabs of one person. */
  readonly storage?: WalletStorage;
  readonly rebuild?: boolean;
  readonly now?: () => number;
  readonly fetch?: typeof fetch;
  readonly pins?: Partial<Pins>;
}

export type OpenWallet = (wishes?: WalletWishes) => Promise<Wallet>;

const flat = { flat: 100_000n, bps: 0 };

/** A fresh service on a port of its own; to be closed. */
export async function startWallets(): Promise<{
  service: TestService;
  baseUrl: string;
  open: OpenWallet;
}> {
  const service = new TestService();
  const baseUrl = await service.listen();
  service.verifiesProofs = false;
  return {
    service,
    baseUrl,
    open: ({
      key = 1,
      prover = standInProver,
      storage = memoryStorage(),
      rebuild = false,
      now,
      fetch,
      pins = {},
    } = {}) =>
      createWallet({
        key: { seed: new Uint8Array(32).fill(key) },
        client: createClient({
          ...{ baseUrl, credential: { apiKey: API_KEY }, tries: 2 },
          wait: async () => undefined,
          ...(fetch === undefined ? {} : { fetch }),
        }),
        ...{ storage, prover, rebuild },
        ...(now === undefined ? {} : { now }),
        pins: {
          ...{ chainId: CHAIN_ID, pool: POOL, assets: [USDC, WETH], addressPrefix: PREFIX },
          enclaves: vouchedPins(),
          feeCeiling: { deposit: flat, transfer: flat, withdraw: flat, swap: { flat: 2_000n, bps: 20 } },
          ...pins,
        },
      }),
  };
}

// A tab of the bridges test: a wallet on the IndexedDB that all tabs of this origin share, which takes bridge addresses.
import {
  createClient,
  createWallet,
  indexedDbStorage,
  type BridgeDeposit,
  type Pins,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";

export interface GivenBridges {
  readonly baseUrl: string;
  readonly seed: readonly number[];
  readonly pins: Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix" | "enclaves" | "bridges">;
}

/** What a page would show, or the code of the error: then it shows nothing. */
export type Shown =
  Pick<BridgeDeposit, "address" | "tokenAccount" | "refundAddress"> | { readonly code: string };

declare global {
  interface Window {
    /** The developer's server: a new session token. */
    sessionToken(): Promise<string>;
    bridging: typeof bridging;
  }
}

const violated: string[] = [];
document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
  violated.push(`${effectiveDirective} ${blockedURI}`),
);

/** Nothing is proved here. */
const prover: Prover = {
  prepare: () => Promise.resolve(),
  checkInfo: () => undefined,
  close: () => Promise.resolve(),
  prove: () => Promise.reject(new Error("no proof is asked for")),
};
let wallet: Wallet;

const bridging = {
  async open({ baseUrl, seed, pins }: GivenBridges): Promise<void> {
    wallet = await createWallet({
      ...{ key: { seed: Uint8Array.from(seed) }, prover },
      client: createClient({ baseUrl, credential: { sessionProvider: () => window.sessionToken() } }),
      storage: indexedDbStorage(indexedDB, "cloister", "wallet"),
      pins: { ...pins, feeCeiling: { transfer: { flat: 100_000n, bps: 0 } } },
    });
  },
  async take(from: "fromExchange" | "fromOtherBlockchain"): Promise<Shown> {
    try {
      const { address, tokenAccount, refundAddress } = await wallet.bridges[from]();
      return { address, tokenAccount, refundAddress };
    } catch (error) {
      return { code: (error as { code?: string }).code ?? String(error) };
    }
  },
  /** Addresses that the storage has. */
  async list(): Promise<string[]> {
    await wallet.sync();
    return (await wallet.bridges.list()).map(({ address }) => address);
  },
  /** Account of the key that spends what an address was refunded. */
  refundAccount: async (address: string): Promise<string> =>
    (await wallet.bridges.refundKey(address)).address,
  violations: (): readonly string[] => violated,
};
window.bridging = bridging;

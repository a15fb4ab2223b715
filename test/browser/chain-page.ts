// The page of the chain test: a person's wallet that has a key, a node and no service. The page and its proving files come
// from the application's origin, all else from the node on another; transactions are sent by a key of the page's own.
import { JsonRpcProvider, Wallet as Account } from "ethers";
import {
  createProver,
  createWallet,
  fetchArtefacts,
  indexedDbStorage,
  type ArtefactManifest,
  type Pins,
  type Wallet,
  type WithoutService,
} from "../../shared/client/index.ts";
import { poolChain } from "../../shared/client/chain.ts";

/** What the test gives the page. */
export interface GivenChain {
  readonly node: string;
  readonly fromBlock: number;
  readonly finality: number;
  readonly manifest: ArtefactManifest;
  readonly seed: readonly number[];
  /** Of the account that sends, and pays the gas. */
  readonly accountKey: string;
  readonly database: string;
  readonly pins: Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix" | "verifyingKeys">;
}

type Paid = { readonly hash: string } | { readonly code: string; readonly message: string };

declare global {
  interface Window {
    lone: typeof lone;
  }
}

const violated: string[] = [];
document.addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) =>
  violated.push(`${effectiveDirective} ${blockedURI}`),
);

let wallet: Wallet;
let alone: WithoutService;

const lone = {
  /** What its storage has, before the node is asked anything. */
  async open(given: GivenChain): Promise<string> {
    wallet = await createWallet({
      key: { seed: Uint8Array.from(given.seed) },
      chain: poolChain({ rpc: given.node, fromBlock: given.fromBlock, finality: given.finality }),
      storage: indexedDbStorage(indexedDB, given.database, "wallet"),
      prover: createProver({
        source: fetchArtefacts(`${location.origin}/artefacts`),
        manifest: given.manifest,
      }),
      pins: { ...given.pins, enclaves: "unverified", feeCeiling: {} },
    });
    const stored = String(wallet.balance().total);
    const provider = new JsonRpcProvider(given.node, given.pins.chainId, { staticNetwork: true });
    alone = await wallet.withoutService(new Account(given.accountKey, provider));
    return stored;
  },
  /** From the node. */
  async balance(): Promise<string> {
    await alone.sync();
    return String(wallet.balance().total);
  },
  async pay(to: string, value: string): Promise<Paid> {
    try {
      return { hash: (await alone.pay(to, BigInt(value))).transactionHash ?? "" };
    } catch (error) {
      const { code, message } = error as { code: string; message: string };
      return { code, message };
    }
  },
  violations: () => violated,
};
window.lone = lone;

// The page of the long-tasks test: opens a wallet from its phrase, scans, loads a key and pays, and says of each how long
// its longest task was, how often it gave the thread back, and who derived the key.
import {
  createClient,
  createProver,
  createWallet,
  fetchArtefacts,
  indexedDbStorage,
  type ArtefactManifest,
  type Pins,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";

/** What the test gives the page. */
export interface Given {
  readonly service: string;
  readonly manifest: ArtefactManifest;
  readonly phrase: string;
  readonly pins: Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix" | "enclaves">;
}

export interface Step {
  /** Longest task of the page's thread, in milliseconds; 0 when none was over 50, of which the browser tells. */
  readonly longestTaskMs: number;
  readonly ms: number;
  /** How often it gave the thread back before it was done. */
  readonly yields: number;
  /** Derivations by the browser's own code, which are not on this thread. */
  readonly derivations: number;
}

declare global {
  interface Window {
    /** The developer's server: a new session token. */
    sessionToken(): Promise<string>;
    longTasks: typeof longTasks;
  }
}

const told: PerformanceEntry[] = [];
const observer = new PerformanceObserver((list) => told.push(...list.getEntries()));
observer.observe({ type: "longtask" });

let derivations = 0;
const deriveBits = crypto.subtle.deriveBits.bind(crypto.subtle);
crypto.subtle.deriveBits = (...given) => {
  derivations += 1;
  return deriveBits(...given);
};

let yields = 0;
const { scheduler } = globalThis as unknown as { scheduler: { yield(): Promise<void> } };
const giveBack = scheduler.yield.bind(scheduler);
scheduler.yield = () => {
  yields += 1;
  return giveBack();
};

async function step(work: () => Promise<unknown>): Promise<Step> {
  await idle();
  told.length = 0;
  derivations = 0;
  yields = 0;
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  await idle();
  const longestTaskMs = Math.max(0, ...told.map(({ duration }) => duration));
  return { longestTaskMs, ms, yields, derivations };
}

/** Entries come in a task of their own behind what they tell of. */
async function idle(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  told.push(...observer.takeRecords());
}

let wallet: Wallet;
let prover: Prover;

export const longTasks = {
  open: ({ service, manifest, phrase, pins }: Given): Promise<Step> =>
    step(async () => {
      prover = createProver({ source: fetchArtefacts(`${location.origin}/artefacts`), manifest });
      wallet = await createWallet({
        ...{ key: { phrase }, prover },
        client: createClient({
          baseUrl: service,
          credential: { sessionProvider: () => window.sessionToken() },
        }),
        storage: indexedDbStorage(indexedDB, "cloister", "wallet"),
        pins: { ...pins, feeCeiling: { transfer: { flat: 100_000n, bps: 0 } } },
      });
    }),
  scan: (): Promise<Step> => step(() => wallet.sync()),
  loadKey: (): Promise<Step> => step(() => prover.prepare("spend")),
  pay: (): Promise<Step> => step(() => wallet.pay(wallet.address, 1_000_000n)),
  address: () => wallet.address,
  total: () => String(wallet.balance().total),
  close: () => wallet.close(),
};
window.longTasks = longTasks;

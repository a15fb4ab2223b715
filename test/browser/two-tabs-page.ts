// A tab of the two-tabs test: a wallet on the IndexedDB that all tabs of this origin share. Its proofs are worth
// nothing (the test is not about them) and are held back until the test lets them go.
import {
  createClient,
  createWallet,
  indexedDbStorage,
  type Pins,
  type Prover,
  type Wallet,
} from "../../shared/client/index.ts";
import { standInProof } from "../contract/client/stand-in-proof.ts";

export interface GivenTab {
  readonly baseUrl: string;
  readonly seed: readonly number[];
  readonly pins: Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix" | "enclaves">;
}

declare global {
  interface Window {
    /** The developer's server: a new session token. */
    sessionToken(): Promise<string>;
    tab: typeof tab;
  }
}

let wallet: Wallet;
let proving = 0;
let isHeld = false;
let go: () => void = () => undefined;

const prover: Prover = {
  prepare: () => Promise.resolve(),
  checkInfo: () => undefined,
  close: () => Promise.resolve(),
  async prove() {
    proving += 1;
    if (isHeld) await new Promise<void>((resolve) => (go = resolve));
    return standInProof;
  },
};

const tab = {
  async open({ baseUrl, seed, pins }: GivenTab): Promise<string> {
    const ceiling = { flat: 100_000n, bps: 0 };
    wallet = await createWallet({
      ...{ key: { seed: Uint8Array.from(seed) }, prover },
      client: createClient({ baseUrl, credential: { sessionProvider: () => window.sessionToken() } }),
      storage: indexedDbStorage(indexedDB, "cloister", "wallet"),
      pins: { ...pins, feeCeiling: { transfer: ceiling } },
    });
    return wallet.address;
  },
  sync: () => wallet.sync(),
  balance(): { spendable: string; inFlight: string } {
    const { spendable, inFlight } = wallet.balance();
    return { spendable: String(spendable), inFlight: String(inFlight) };
  },
  /** The state of the ticket, or the code of the error. */
  async pay(amount: string, until: "queued" | "confirmed" = "confirmed"): Promise<string> {
    try {
      return (await wallet.pay(wallet.address, BigInt(amount), { until })).ticket.state;
    } catch (error) {
      return (error as { code?: string }).code ?? String(error);
    }
  },
  hold(): void {
    isHeld = true;
  },
  release(): void {
    isHeld = false;
    go();
  },
  proving: () => proving,
};
window.tab = tab;

// The page of the restore test: a wallet from its seed on an empty storage, and who read the history for it.
import {
  createClient,
  createWallet,
  indexedDbStorage,
  type Pins,
  type Prover,
} from "../../shared/client/index.ts";

/** What the test gives the page. */
export interface Given {
  readonly service: string;
  readonly session: string;
  readonly seed: readonly number[];
  /** A name for each wallet. */
  readonly storage: string;
  readonly pins: Pick<Pins, "chainId" | "pool" | "assets" | "addressPrefix" | "enclaves">;
}

export interface Restored {
  readonly values: readonly string[];
  readonly ms: number;
  readonly fractions: readonly number[];
  /** Workers that the page started, and X25519 of the platform in its own thread. */
  readonly workers: number;
  readonly agreements: number;
  readonly asked: readonly string[];
}

declare global {
  interface Window {
    restore: typeof restore;
  }
}

let workers = 0;
const OwnWorker = Worker;
window.Worker = class extends OwnWorker {
  constructor(...given: ConstructorParameters<typeof Worker>) {
    super(...given);
    workers += 1;
  }
};
let agreements = 0;
const deriveBits = crypto.subtle.deriveBits.bind(crypto.subtle);
crypto.subtle.deriveBits = (...given) => {
  if ((given[0] as Algorithm).name === "X25519") agreements += 1;
  return deriveBits(...given);
};

const nothing = (): never => {
  throw new Error("nothing is proved here");
};
const prover: Prover = {
  ...{ prepare: nothing, prove: nothing, checkInfo: () => undefined, close: () => Promise.resolve() },
};

/** Read anew on an empty storage; read again from what was saved, where it is not empty. */
export async function restore({ service, session, seed, storage, pins }: Given): Promise<Restored> {
  const asked: string[] = [];
  const fractions: number[] = [];
  [workers, agreements] = [0, 0];
  const client = createClient({
    ...{ baseUrl: service, credential: { sessionProvider: async () => session } },
    fetch: (input, init) => {
      asked.push(new URL(input instanceof Request ? input.url : input).pathname);
      return fetch(input, init);
    },
  });
  const began = performance.now();
  const wallet = await createWallet({
    ...{ key: { seed: Uint8Array.from(seed) }, client, prover },
    storage: indexedDbStorage(indexedDB, "cloister", storage),
    pins: { ...pins, feeCeiling: {} },
  });
  await wallet.sync({
    progress: ({ fraction }) => {
      if (fraction !== undefined) fractions.push(fraction);
    },
  });
  const ms = performance.now() - began;
  const values = wallet.notes().map(({ value }) => String(value));
  await wallet.close();
  return { values, ms, fractions, workers, agreements, asked };
}
window.restore = restore;

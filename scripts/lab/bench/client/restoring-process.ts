// A wallet restored from its seed, in a process of its own: opened on an empty storage and read up to now, over HTTP, saved.

import {
  createClient,
  createWallet,
  memoryStorage,
  type Client,
  type Prover,
} from "../../../../shared/client/index.ts";
import { answer } from "../answering.ts";
import { ASSET, CHAIN_ID, POOL, SEED } from "./restored-wallet.ts";

export interface RestoreQuestion {
  readonly port: number;
  /** From the stream alone, as a service of an earlier release has it. */
  readonly byStream: boolean;
}

export interface Restored {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly notes: number;
  /** Of this process since it began, its workers included. */
  readonly peakMb: number;
}

const none = (): never => {
  throw new Error("nothing is proved here");
};
const prover: Prover = { prepare: none, prove: none, checkInfo: none, close: () => Promise.resolve() };
const free = { flat: 0n, bps: 0 };

answer(async ({ port, byStream }: RestoreQuestion): Promise<Restored> => {
  const client = createClient({
    baseUrl: `http://127.0.0.1:${String(port)}`,
    credential: { apiKey: "ck_none" },
  });
  const old: Partial<Client> = { ...client };
  // As a client that knows no chunks.
  delete old.history;
  const began = performance.now();
  const cpu = process.cpuUsage();
  const wallet = await createWallet({
    ...{ key: { seed: SEED }, storage: memoryStorage(), prover },
    client: byStream ? (old as Client) : client,
    pins: {
      ...{ chainId: CHAIN_ID, pool: POOL, assets: [ASSET], addressPrefix: "cl", enclaves: "unverified" },
      feeCeiling: { deposit: free, transfer: free, withdraw: free },
    },
  });
  await wallet.sync();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - began) / 1_000;
  const notes = wallet.notes().length;
  await wallet.close();
  const peakMb = process.resourceUsage().maxRSS / 1e3;
  return { seconds, cpuSeconds: (user + system) / 1e6, notes, peakMb };
});

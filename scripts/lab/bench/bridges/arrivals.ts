// Money that arrives at open addresses: how soon the service says that it has seen it, and how soon a crowd that arrives
// in one block is swept. That it is swept is read from the pool's chain, not taken from the service.

import { setTimeout as delay } from "node:timers/promises";
import { Interface, type JsonRpcProvider } from "ethers";
import { FORWARDERS_ABI } from "../../../../shared/contracts/abi.ts";
import type { Payer } from "./payer.ts";
import { openAddresses, type Listener } from "./user.ts";

const AMOUNT = 5_000_000n;
const SWEPT_WITHIN_MS = 600_000;
const LOOK_EVERY_MS = 50;
const forwarders = new Interface(FORWARDERS_ABI);

export interface Detected {
  /** Blocks that stood on the one with the arrival when it was told of. */
  readonly blocks: number;
  readonly ms: number;
}

/** One arrival on each chain, at an address of its own. */
export async function detect(listener: Listener, home: Payer, other: Payer): Promise<readonly Detected[]> {
  const addresses = await openAddresses(listener.client, 2);
  const [atHome, atOther] = addresses;
  const source = atOther?.source;
  if (atHome === undefined || atOther === undefined || !source) throw new Error("no address was opened");
  return [
    await detectOne(listener, home, atHome.bridge_id, atHome.address),
    await detectOne(listener, other, atOther.bridge_id, source.address),
  ];
}

/** Resolves when it is a note, so that it is in nobody's way afterwards. */
async function detectOne(listener: Listener, payer: Payer, id: string, address: string): Promise<Detected> {
  const told = listener.until(id, (state) => state !== "awaiting_funds");
  const completed = listener.until(id, (state) => state === "completed");
  completed.catch(() => undefined);
  const { block, at } = await payer.payInOneBlock([address], AMOUNT);
  const heard = await told;
  const blocks = (await payer.chain.getBlockNumber()) - block;
  await completed;
  return { blocks, ms: heard.at - at };
}

export interface Crowd {
  /** From the block of the arrivals to the last sweep on the chain. */
  readonly seconds: number;
  /** And to the last status that says `completed`: that block is final then. */
  readonly completedSeconds: number;
  /** Blocks of the pool's chain from the first to the last, and calls that carried the sweeps. */
  readonly blocks: number;
  readonly transactions: number;
  readonly gasPerSweep: number;
}

/** So many arrivals in one block of a chain, each at an address of its own. */
export async function crowd(
  listener: Listener,
  payer: Payer,
  { factory, home, from, count }: CrowdTerms,
): Promise<Crowd> {
  const addresses = await openAddresses(listener.client, count);
  const completed = Promise.all(
    addresses.map(({ bridge_id: id }) => listener.until(id, (state) => state === "completed")),
  );
  completed.catch(() => undefined);
  const places = addresses.map(({ address, source }) =>
    from === "home" ? address : (source?.address ?? ""),
  );
  const firstBlock = await home.getBlockNumber();
  const { at } = await payer.payInOneBlock(places, AMOUNT);
  const ours = new Set(addresses.map(({ address }) => address.toLowerCase()));
  const swept = await untilSwept(home, factory, firstBlock, ours);
  const seconds = (swept.at - at) / 1000;
  const told = await completed;
  const last = Math.max(...told.map((one) => one.at));
  return {
    ...{ seconds, completedSeconds: (last - at) / 1000, blocks: swept.block - firstBlock },
    ...{
      transactions: swept.transactions.size,
      gasPerSweep: (await gasOf(home, swept.transactions)) / count,
    },
  };
}

export interface CrowdTerms {
  readonly factory: string;
  readonly home: JsonRpcProvider;
  readonly from: "home" | "other";
  readonly count: number;
}

interface SweptAll {
  readonly at: number;
  readonly block: number;
  readonly transactions: ReadonlySet<string>;
}

async function untilSwept(
  chain: JsonRpcProvider,
  factory: string,
  fromBlock: number,
  vaults: ReadonlySet<string>,
): Promise<SweptAll> {
  const event = forwarders.getEvent("Swept");
  if (event === null) throw new Error("the contract has no such event");
  const filter = { address: factory, topics: [event.topicHash], fromBlock };
  for (const end = performance.now() + SWEPT_WITHIN_MS; performance.now() < end;) {
    const logs = (await chain.getLogs(filter)).filter((log) =>
      vaults.has(String(forwarders.parseLog(log)?.args["vault"]).toLowerCase()),
    );
    const at = performance.now();
    if (logs.length === vaults.size) {
      const transactions = new Set(logs.map(({ transactionHash }) => transactionHash));
      return { at, block: Math.max(...logs.map(({ blockNumber }) => blockNumber)), transactions };
    }
    await delay(LOOK_EVERY_MS);
  }
  throw new Error("not everything was swept");
}

async function gasOf(chain: JsonRpcProvider, hashes: ReadonlySet<string>): Promise<number> {
  let gas = 0n;
  for (const hash of hashes) gas += (await chain.getTransactionReceipt(hash))?.gasUsed ?? 0n;
  return Number(gas);
}

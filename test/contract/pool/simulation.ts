// A call tried on the chain as it stands, with what it would log; nothing is kept.
import { toQuantity, type LogDescription } from "ethers";
import { mustAddress, type World } from "./world.ts";

export interface Simulated {
  readonly isDone: boolean;
  /** Of the pool. */
  readonly said: readonly LogDescription[];
  /** Every contract's log as it stands, without hashes of the simulated block. */
  readonly log: string;
  readonly gasUsed: bigint;
}

export interface Tried {
  readonly data: string;
  readonly from?: string;
  readonly gas?: bigint;
  /** Seen by a second call after it: what the first left behind. */
  readonly then?: readonly { readonly to: string; readonly data: string }[];
}

interface Answer {
  readonly status: string;
  readonly gasUsed: string;
  readonly returnData: string;
  readonly logs: readonly { readonly address: string; readonly topics: string[]; readonly data: string }[];
}

/** eth_simulateV1: the call to the pool, and what the calls in `then` answer after it. */
export async function simulate(
  world: World,
  { data, from = world.owner.address, gas = 16_000_000n, then = [] }: Tried,
): Promise<Simulated & { readonly after: readonly string[] }> {
  const calls = [
    { from, to: world.setting.home.pool, data, gas: toQuantity(gas) },
    ...then.map((each) => ({ from, ...each })),
  ];
  const answer: unknown = await world.provider.send("eth_simulateV1", [
    { blockStateCalls: [{ calls }], validation: false },
    "latest",
  ]);
  const [call, ...rest] = (answer as [{ calls: Answer[] }])[0].calls;
  const logs = call!.logs.map(({ address, topics, data: bytes }) => ({ address, topics, data: bytes }));
  const own = logs.filter(({ address }) => mustAddress(address) === world.setting.home.pool);
  return {
    isDone: call!.status === "0x1",
    said: own.flatMap((log) => world.pool.interface.parseLog(log) ?? []),
    log: JSON.stringify(logs),
    gasUsed: BigInt(call!.gasUsed),
    after: rest.map(({ returnData }) => returnData),
  };
}

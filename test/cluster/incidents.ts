// How each incident of the operator's guide comes about, and how it ends: on real parts, by what really happens to them.
import { Contract, type Wallet } from "ethers";
import { POOL_ABI } from "../../shared/contracts/abi.ts";
import { startByteRelay, type ByteRelay } from "../support/byte-relay.ts";
import { frozenProcesses } from "../support/frozen.ts";
import type { RedisServer } from "../support/redis.ts";
import type { SmallDisk } from "../support/small-disk.ts";
import type { TestCluster } from "../support/stack.ts";
import { Proxies } from "./proxies.ts";

export interface Stage {
  readonly on: TestCluster;
  /** Between all proxies and their node. */
  readonly node: ByteRelay;
  /** Of the limits. */
  readonly limits: RedisServer;
  /** Under the data folder of the second proxy. */
  readonly disk: SmallDisk;
  readonly guardian: Wallet;
}

export interface Incident {
  begin(): Promise<void> | void;
  /** What has to happen meanwhile for the alarm to be due: callers who ask. */
  meanwhile?(): Promise<unknown>;
  /** Absent where it cannot be undone within a test. */
  end?(): Promise<void> | void;
}

/** By the alarm that announces it. */
export function incidents({ on, node, limits, disk, guardian }: Stage): Readonly<Record<string, Incident>> {
  const { local, cluster } = on;
  const still = frozenProcesses();
  const bridges = local.bridges!;
  const proxies = new Proxies(on, 2);
  let coins = 0n;
  return {
    CloisterProxyDown: {
      begin: () => local.proxy(1).kill(),
      end: () => local.restartProxy(1),
    },
    CloisterUnreachable: {
      begin: async () => {
        await Promise.all([local.proxy(0).kill(), local.proxy(1).kill()]);
      },
      end: async () => {
        await Promise.all([local.restartProxy(0), local.restartProxy(1)]);
      },
    },
    CloisterEnclaveBusyOrUnreachable: {
      begin: () => local.enclave().kill(),
      meanwhile: () => on.client.health().catch(() => undefined),
      end: () => local.restartEnclave(),
    },
    CloisterNodeSilent: { begin: () => node.cut(), end: () => node.repair() },
    CloisterStoreUnreachable: {
      begin: () => cluster.redis().kill(),
      end: () => cluster.restartRedis(),
    },
    CloisterLimitsAlone: {
      begin: () => limits.kill(),
      // It is noticed by whoever is counted.
      meanwhile: () => Promise.all([proxies.at(0).whoami(), proxies.at(1).whoami()]),
      end: () => limits.start(),
    },
    CloisterGasLow: {
      begin: async () => {
        coins = await on.chain.getBalance(await on.sender());
        await setCoins(0n);
      },
      end: () => setCoins(coins),
    },
    CloisterDiskNearlyFull: { begin: () => disk.fill(0.1), end: () => disk.free() },
    CloisterBridgeVenueAway: {
      begin: () => still.freeze(bridges.chains.other.pid),
      end: () => still.thaw(),
    },
    CloisterAttestedPathClosed: {
      begin: async () => {
        const pool = new Contract(on.entry.pool, POOL_ABI, guardian.connect(on.chain));
        const sent = (await pool.getFunction("pause")()) as { wait(): Promise<unknown> };
        await sent.wait();
      },
    },
  };

  async function setCoins(wei: bigint): Promise<void> {
    await on.chain.send("anvil_setBalance", [await on.sender(), `0x${wei.toString(16)}`]);
  }
}

/** Before a cluster starts: relays its proxies' questions to the node, wherever that will listen. */
export function relayTo(url: string): Promise<ByteRelay> {
  return startByteRelay(0, Number(new URL(url).port));
}

/** The other blockchain as a process, with slots that pass when a test says so, and the parties of a deposit. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startService, type Service } from "../../scripts/base/service.ts";
import type { ExpectedBurn } from "../../shared/altchain/checking.ts";
import { altchainNode, type AltchainNode } from "../../shared/altchain/node.ts";
import { keyFromSeed, type AltchainKey } from "../../shared/altchain/signing.ts";
import { parseAltchainAddress, type AltchainToken } from "../../shared/altchain/token.ts";

export interface TestAltchain {
  readonly node: AltchainNode;
  readonly token: AltchainToken;
  readonly url: string;
  develop(call: "mint" | "slots" | "reorganise", body: object): Promise<Record<string, unknown>>;
  /** Kills it as a crash does and starts it on the same folder and port. */
  crash(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestAltchain(): Promise<TestAltchain> {
  const folder = await mkdtemp(path.join(tmpdir(), "cloister-altchain-"));
  const start = (port?: string): Promise<Service> =>
    startService({
      name: "altchain",
      program: "scripts/stand-ins/venues/altchain/main.ts",
      args: [
        "--folder",
        path.join(folder, "chain"),
        "--slot-ms",
        "0",
        ...(port === undefined ? [] : ["--port", port]),
      ],
      logFile: path.join(folder, "altchain.log"),
      isReady: (line) => typeof line["url"] === "string",
    });
  let service = await start();
  const url = String(service.ready["url"]);
  const token = {
    mint: parseAltchainAddress(service.ready["mint"]),
    decimals: Number(service.ready["decimals"]),
  };
  return {
    node: altchainNode(url),
    token,
    url,
    develop: async (call, body) => {
      const response = await fetch(`${url}/dev/${call}`, { method: "POST", body: JSON.stringify(body) });
      const said = (await response.json()) as Record<string, unknown>;
      if (!response.ok) throw new Error(JSON.stringify(said));
      return said;
    },
    crash: async () => {
      await service.kill();
      service = await start(new URL(url).port);
    },
    stop: async () => {
      await service.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A key whose seed is a text; for tests. */
export function altchainKey(name: string): Promise<AltchainKey> {
  return keyFromSeed(new TextEncoder().encode(name.padEnd(32, ".")).slice(0, 32));
}

export const RECIPIENT = `0x${"00".repeat(12)}${"ab".repeat(20)}`;
export const HOME_DOMAIN = 3;

/** What a client and a service of these tests expect of a burn. */
export function expectedBurn(token: AltchainToken, owner: AltchainKey): ExpectedBurn {
  return {
    token,
    owner: owner.address,
    domain: HOME_DOMAIN,
    recipient: RECIPIENT,
    feeCeiling: 50_000n,
    minimum: 1_000_000n,
  };
}

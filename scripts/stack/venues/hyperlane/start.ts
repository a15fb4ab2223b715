// Starts Hyperlane's validator and relayer as a process of its own.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { Wallet } from "ethers";
import { startService, type Service } from "../../service.ts";
import type { HyperlaneEnd } from "./deploy.ts";

export interface HyperlaneOptions {
  /** Its own; nobody else looks in. */
  readonly folder: string;
  readonly validatorKey: string;
  /** Of an account with coins on every chain: it pays for deliveries. */
  readonly senderKey: string;
  readonly ends: readonly (Pick<HyperlaneEnd, "domain" | "mailbox" | "merkleTreeHook"> & {
    readonly rpc: string;
  })[];
}

export async function startHyperlane(options: HyperlaneOptions): Promise<Service> {
  const { folder, validatorKey, senderKey, ends } = options;
  const file = path.join(folder, "config.json");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, JSON.stringify({ validatorKey, senderKey, ends }), { mode: 0o600 });
  const { address } = new Wallet(validatorKey);
  return startService({
    name: "hyperlane",
    program: "scripts/stack/venues/hyperlane/main.ts",
    args: ["--config", file],
    logFile: path.join(folder, "hyperlane.log"),
    isReady: ({ validator }) => validator === address,
  });
}

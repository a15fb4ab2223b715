// Starts the attester as a process of its own. Its keys can be made before, as the contracts have to know them.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Address } from "../../../../shared/protocol/brands.ts";
import { startService, type Service } from "../../service.ts";
import { openKeys } from "./keys.ts";
import { parseSettings, type AttesterSettingsFile } from "./settings.ts";

export interface AttesterOptions {
  /** Its own; nobody else looks in. */
  readonly folder: string;
  readonly settings: AttesterSettingsFile;
  /** Default: a free one. */
  readonly port?: number;
  readonly logFile: string;
}

export interface RunningAttester extends Service {
  readonly url: string;
}

/** Whom the contracts must accept, in rising order. */
export async function attesterAddresses(folder: string): Promise<readonly Address[]> {
  return (await openKeys(folder)).addresses;
}

export async function startAttester(options: AttesterOptions): Promise<RunningAttester> {
  const { folder, settings, port = 0, logFile } = options;
  // A mistake in it shows here and not in a log.
  parseSettings(settings);
  const file = path.join(folder, "settings.json");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, `${JSON.stringify(settings, undefined, 2)}\n`, { mode: 0o600 });
  const service = await startService({
    name: "attester",
    program: "scripts/stack/venues/attester/main.ts",
    args: ["--folder", folder, "--settings", file, "--port", String(port)],
    logFile,
    isReady: ({ url }) => typeof url === "string",
  });
  return { ...service, url: String(service.ready["url"]) };
}

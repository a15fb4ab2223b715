// Starts the exchange as a process of its own. Its keys can be made before, as contracts have to know them.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { startService, type Service } from "../../service.ts";
import { openExchangeKeys, type ExchangeAddresses } from "./keys.ts";
import { parseSettings, type ExchangeSettingsFile } from "./settings.ts";

export interface ExchangeOptions {
  /** Its own; nobody else looks in. */
  readonly folder: string;
  readonly settings: ExchangeSettingsFile;
  /** Default: a free one. */
  readonly port?: number;
  readonly logFile: string;
}

export interface RunningExchange extends Service {
  readonly url: string;
}

/** Who holds its money, and its validators in the bridge's order. */
export async function exchangeAddresses(folder: string): Promise<ExchangeAddresses> {
  const { reserve, validators } = await openExchangeKeys(folder);
  return { reserve: reserve.address, validators: validators.map(({ address }) => address) };
}

export async function startExchange(options: ExchangeOptions): Promise<RunningExchange> {
  const { folder, settings, port = 0, logFile } = options;
  // A mistake in it shows here and not in a log.
  parseSettings(settings);
  const file = path.join(folder, "settings.json");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, `${JSON.stringify(settings, undefined, 2)}\n`, { mode: 0o600 });
  const service = await startService({
    name: "exchange",
    program: "scripts/stack/venues/exchange/main.ts",
    args: ["--folder", folder, "--settings", file, "--port", String(port)],
    logFile,
    isReady: ({ url }) => typeof url === "string",
  });
  return { ...service, url: String(service.ready["url"]) };
}

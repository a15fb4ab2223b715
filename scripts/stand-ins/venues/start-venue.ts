// Starts a venue's program as a process of its own, on a folder that nobody else looks in.
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { startService, type Service } from "../../base/service.ts";

export interface VenueOptions<Settings> {
  /** Its own; nobody else looks in. */
  readonly folder: string;
  readonly settings: Settings;
  /** Default: a free one. */
  readonly port?: number;
  readonly logFile: string;
}

export interface RunningVenue extends Service {
  readonly url: string;
}

/** `name` is that of its folder beside this file, too. */
export async function startVenue(
  name: "attester" | "exchange",
  { folder, settings, port = 0, logFile }: VenueOptions<unknown>,
): Promise<RunningVenue> {
  const file = path.join(folder, "settings.json");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(file, `${JSON.stringify(settings, undefined, 2)}\n`, { mode: 0o600 });
  const service = await startService({
    name,
    program: `scripts/stand-ins/venues/${name}/main.ts`,
    args: ["--folder", folder, "--settings", file, "--port", String(port)],
    logFile,
    isReady: ({ url }) => typeof url === "string",
  });
  return { ...service, url: String(service.ready["url"]) };
}

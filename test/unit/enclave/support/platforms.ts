// The real platform of the enclave against the simulated security module, both in this process.
import { nitroPlatform } from "../../../../enclave/nitro.ts";
import type { Platform } from "../../../../enclave/platform.ts";
import { makeRoot } from "../../../../scripts/dev/certificates.ts";
import { serveModule, simulatedModule } from "../../../../scripts/dev/simulated-nsm.ts";
import type { SocketFolder } from "./sockets.ts";

export const MEASUREMENT = { pcr0: "10".repeat(48), pcr1: "11".repeat(48), pcr2: "12".repeat(48) };

export async function aPlatform(folder: SocketFolder): Promise<Platform> {
  const module = serveModule(simulatedModule(makeRoot(new Date()), MEASUREMENT));
  const nsmPath = await folder.listen("nsm.sock", module);
  return nitroPlatform({ listenPath: folder.at("guest.sock"), nsmPath });
}

/** One that answers nothing: neither randomness nor documents. */
export const DEAD_PLATFORM: Platform = {
  randomBytes: async () => undefined,
  attestationDocument: async () => undefined,
  listen: async () => undefined,
  turn: async () => undefined,
};

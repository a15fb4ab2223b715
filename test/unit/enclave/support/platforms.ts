// The real platform of the enclave against the simulated security module, both in this process.
import { fileURLToPath } from "node:url";
import { nitroPlatform } from "../../../../enclave/nitro.ts";
import type { Platform } from "../../../../enclave/platform.ts";
import { makeRoot } from "../../../../scripts/product/image/certificates.ts";
import { serveModule, simulatedModule } from "../../../../scripts/stack/simulated-nsm.ts";
import type { SocketFolder } from "./sockets.ts";

/** From source: a forked process inherits the loader. */
const VERIFIER = fileURLToPath(new URL("../../../../enclave/verifier.ts", import.meta.url));

export const MEASUREMENT = { pcr0: "10".repeat(48), pcr1: "11".repeat(48), pcr2: "12".repeat(48) };

export async function aPlatform(folder: SocketFolder): Promise<Platform> {
  const module = serveModule(simulatedModule(makeRoot(new Date()), MEASUREMENT));
  const nsmPath = await folder.listen("nsm.sock", module);
  return nitroPlatform({ listenPath: folder.at("guest.sock"), nsmPath, verifierPath: VERIFIER });
}

/** One that answers nothing, neither randomness nor documents, and whose processes end at once. */
export const DEAD_PLATFORM: Platform = {
  randomBytes: async () => undefined,
  attestationDocument: async () => undefined,
  listen: async () => undefined,
  turn: async () => undefined,
  processors: 1,
  startVerifier: ({ ended }) => {
    queueMicrotask(ended);
    return { send: () => undefined, kill: () => undefined };
  },
  after: () => () => undefined,
};

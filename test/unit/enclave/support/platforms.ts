// The real platform of the enclave against the simulated security module, both in this process.
import { fileURLToPath } from "node:url";
import { nitroPlatform } from "../../../../enclave/nitro.ts";
import type { Platform } from "../../../../enclave/platform.ts";
import { makeRoot } from "../../../../scripts/image/certificates.ts";
import { serveModule, simulatedModule } from "../../../../scripts/stand-ins/platform/nsm.ts";
import {
  verifierLauncher,
  type VerifierFile,
} from "../../../../scripts/stand-ins/platform/verifier-launcher.ts";
import type { SocketFolder } from "./sockets.ts";

/** From source, by the loader of these tests. */
const LOADER = ["--import", "tsx"];
export const VERIFIER: VerifierFile = {
  file: fileURLToPath(new URL("../../../../enclave/verifier.ts", import.meta.url)),
  flags: LOADER,
};
export const SECOND_VERIFIER: VerifierFile = {
  file: fileURLToPath(new URL("../../../../enclave/second/process.ts", import.meta.url)),
  flags: LOADER,
};

export const MEASUREMENT = { pcr0: "10".repeat(48), pcr1: "11".repeat(48), pcr2: "12".repeat(48) };

export async function aPlatform(folder: SocketFolder, verifier = VERIFIER): Promise<Platform> {
  const module = serveModule(simulatedModule(makeRoot(new Date()), MEASUREMENT));
  const nsmPath = await folder.listen("nsm.sock", module);
  return nitroPlatform({
    listenPath: folder.at("guest.sock"),
    nsmPath,
    verifiersPath: await folder.listen("verifiers.sock", verifierLauncher(verifier)),
  });
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

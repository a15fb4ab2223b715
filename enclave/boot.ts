/** From nothing to serving: the pinned keys, the verifier, a signing key. Whatever fails here halts the program. */
import type { Life } from "./phase.ts";
import type { Platform } from "./platform.ts";
import { Signer } from "./signer.ts";
import { loadVerificationKeys } from "./verification-keys.ts";
import { buildVerifier } from "./verify.ts";

export async function boot(life: Life, platform: Platform): Promise<void> {
  try {
    const verifier = await buildVerifier(loadVerificationKeys());
    const signer = await Signer.draw(platform);
    life.serve({ platform, signer, verifier });
  } catch {
    // Nobody reads a log here; the host sees the phase.
    life.halt();
  }
}

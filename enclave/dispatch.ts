/** One exhaustive switch over every request. A refusal is a value; a throw is our own fault and halts. */
import type { EnclaveReply, EnclaveRequest } from "../shared/protocol/enclave-messages.ts";
import { attest } from "./attest.ts";
import { attestRoot } from "./attest-root.ts";
import { liveDocument } from "./live-document.ts";
import { ANSWERED, type Life } from "./phase.ts";
import { CONFIGURATION_HASH } from "./verification-keys.ts";

const WRONG_PHASE: EnclaveReply = { type: "refused", code: "WRONG_PHASE" };

export async function dispatch(life: Life, request: EnclaveRequest): Promise<EnclaveReply> {
  if (!ANSWERED[life.phase].has(request.type)) return WRONG_PHASE;
  try {
    switch (request.type) {
      case "status":
        return {
          type: "status",
          phase: life.phase,
          signer: life.signer,
          configurationHash: CONFIGURATION_HASH,
        };
      case "attestation":
        return await liveDocument(life.tools, request.nonce);
      case "attest":
        return attest(life.tools, request);
      case "attest-root":
        return attestRoot(life.tools, request);
    }
  } catch {
    // Whoever can make us throw may have found more than that: sign nothing until a fresh boot.
    life.halt();
    return WRONG_PHASE;
  }
}

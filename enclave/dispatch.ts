/** One exhaustive switch over every request. A refusal is a value; a throw is our own fault and halts. */
import { ZERO_BYTES32 } from "../shared/protocol/brands.ts";
import { refused, type EnclaveReply, type EnclaveRequest } from "../shared/protocol/enclave-messages.ts";
import { attest } from "./attest.ts";
import { attestRoot } from "./attest-root.ts";
import { genesis } from "./genesis.ts";
import { liveDocument } from "./live-document.ts";
import { ANSWERED, type Life } from "./phase.ts";
import { restore } from "./restore.ts";

export async function dispatch(life: Life, request: EnclaveRequest): Promise<EnclaveReply> {
  if (!ANSWERED[life.phase].has(request.type)) return refused("WRONG_PHASE");
  try {
    switch (request.type) {
      case "status":
        return {
          type: "status",
          phase: life.phase,
          signer: life.signer,
          configurationHash: life.configuration?.hash ?? ZERO_BYTES32,
          circuitsHash: life.configuration?.circuitsHash ?? ZERO_BYTES32,
        };
      case "genesis":
        return await genesis(life.booting, request.challenge);
      case "release-request":
        return await life.booting.releases.request(life.booting.platform, life.booting.configuration);
      case "restore": {
        const { releases, configuration } = life.booting;
        const release = releases.take();
        const signer = release && restore(configuration, release, request);
        if (signer === undefined) return refused("RESTORE_REFUSED");
        life.serve(signer);
        return { type: "restore", signer: signer.address };
      }
      case "attestation":
        return await liveDocument(life.serving, request.nonce);
      case "attest":
        return await attest(life.serving, request);
      case "attest-root":
        return attestRoot(life.serving, request);
    }
  } catch {
    // Whoever can make us throw may have found more than that: sign nothing until a fresh boot.
    life.halt();
    return refused("WRONG_PHASE");
  }
}

/** One exhaustive switch over every request. A refusal is a value; a throw is our own fault and halts. */
import { ZERO_BYTES32 } from "../shared/protocol/brands.ts";
import { refused, type EnclaveReply, type EnclaveRequest } from "../shared/protocol/enclave-messages.ts";
import { attest } from "./attest.ts";
import { attestRoot } from "./attest-root.ts";
import { genesis } from "./genesis.ts";
import { liveDocument } from "./live-document.ts";
import { ANSWERED, type Enclave } from "./phase.ts";
import { restore } from "./restore.ts";

export async function dispatch(enclave: Enclave, request: EnclaveRequest): Promise<EnclaveReply> {
  if (!ANSWERED[enclave.phase].has(request.type)) return refused("WRONG_PHASE");
  try {
    switch (request.type) {
      case "status":
        return {
          type: "status",
          phase: enclave.phase,
          signer: enclave.signer,
          configurationHash: enclave.configuration?.hash ?? ZERO_BYTES32,
          circuitsHash: enclave.configuration?.circuitsHash ?? ZERO_BYTES32,
        };
      case "genesis":
        return await genesis(enclave.booting, request.challenge);
      case "release-request": {
        const { releases, platform, configuration } = enclave.booting;
        return await releases.request(platform, configuration);
      }
      case "restore": {
        const { releases, configuration } = enclave.booting;
        const release = releases.take();
        const signer = release && restore(configuration, release, request);
        if (signer === undefined) return refused("RESTORE_REFUSED");
        enclave.serve(signer);
        return { type: "restore", signer: signer.address };
      }
      case "attestation":
        return await liveDocument(enclave.serving, request.nonce);
      case "attest":
        return await attest(enclave.serving, request);
      case "attest-root":
        return attestRoot(enclave.serving, request);
    }
  } catch {
    // Whoever can make us throw may have found more than that: sign nothing until a fresh boot.
    enclave.halt();
    return refused("WRONG_PHASE");
  }
}

/** One exhaustive switch over every request. A refusal is a value; a throw is our own fault and halts. */
import { ZERO_BYTES32 } from "../shared/protocol/brands.ts";
import { refused, type EnclaveReply, type EnclaveRequest } from "../shared/protocol/enclave-messages.ts";
import { genesis } from "./genesis.ts";
import { liveDocument } from "./live-document.ts";
import { ANSWERED, type Enclave } from "./phase.ts";
import { restore } from "./restore.ts";

/** `payload` is what `request` was read from. */
export async function dispatch(
  enclave: Enclave,
  request: EnclaveRequest,
  payload: Uint8Array,
): Promise<EnclaveReply> {
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
      case "attest-root":
        return await enclave.serving.judge(enclave.serving.signer, request, payload);
    }
  } catch {
    // Whoever can make us throw may have found more than that: sign nothing until a fresh boot.
    enclave.halt();
    return refused("WRONG_PHASE");
  }
}

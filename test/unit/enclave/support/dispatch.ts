// A request to an enclave in this process, with the bytes that it would have been read from.
import { dispatch as dispatchFrame } from "../../../../enclave/dispatch.ts";
import type { Enclave } from "../../../../enclave/phase.ts";
import {
  FRAME_HEADER_BYTES,
  type EnclaveReply,
  type EnclaveRequest,
} from "../../../../shared/protocol/enclave-messages.ts";
import { encodeRequest } from "../../../../shared/protocol/host/enclave-host.ts";

export function dispatch(enclave: Enclave, request: EnclaveRequest): Promise<EnclaveReply> {
  return dispatchFrame(enclave, request, encodeRequest(1, request).slice(FRAME_HEADER_BYTES));
}

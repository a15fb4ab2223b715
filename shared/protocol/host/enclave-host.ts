/**
 * The host's half of the language between proxy and enclave: requests to bytes, bytes to replies. The
 * enclave does not use it, so it stays outside the image. A reply is untrusted until it is read here.
 */
import { ByteReader } from "../bytes.ts";
import {
  MESSAGE_TYPES,
  REFUSALS,
  REFUSED,
  REPLIES,
  REPLY,
  REQUESTS,
  typeCode,
  writeFrame,
  type EnclaveReply,
  type EnclaveRequest,
  type Enveloped,
} from "../enclave-messages.ts";
import type { Codec } from "../layouts.ts";

/** The vsock port an enclave listens on. */
export const ENCLAVE_PORT = 5000;

/** A whole frame. Throws when a field does not fit its layout, which is a fault of the sender's own code. */
export function encodeRequest(requestId: number, request: EnclaveRequest): Uint8Array {
  const codec = REQUESTS[request.type] as Codec<EnclaveRequest>;
  return writeFrame(requestId, typeCode(request.type), codec.write(request));
}

/** `payload` is a frame without version and length. Undefined means a reply that no honest enclave sends. */
export function decodeReply(payload: Uint8Array): Enveloped<EnclaveReply> | undefined {
  const reader = new ByteReader(payload);
  const requestId = reader.number(4);
  const message = readReply(reader.number(1), reader);
  return message !== undefined && reader.done() ? { requestId, message } : undefined;
}

function readReply(code: number, reader: ByteReader): EnclaveReply | undefined {
  if (code === REFUSED) return { type: "refused", code: reader.accept(REFUSALS[reader.number(1)]) };
  const type = code < REPLY ? undefined : MESSAGE_TYPES[code - REPLY - 1];
  return type && ({ type, ...REPLIES[type].read(reader) } as EnclaveReply);
}

/**
 * Everything the enclave takes from outside its own memory: randomness, attestation documents and
 * connections. There is no clock, no environment and no file here, and nothing else reaches out.
 */
import type { Socket } from "node:net";

export interface AttestationRequest {
  /** The one field a caller of the enclave chooses. */
  readonly nonce: Uint8Array;
  readonly userData: Uint8Array;
  readonly publicKey?: Uint8Array;
}

export interface Platform {
  /** Exactly `length` bytes (at most 256) from the platform's own source; undefined when it does not answer. */
  randomBytes(length: number): Promise<Uint8Array | undefined>;
  /** A signed document over this program's measurement; undefined when the platform does not answer. */
  attestationDocument(request: AttestationRequest): Promise<Uint8Array | undefined>;
  /** Resolves once connections are accepted. Whoever connects is untrusted. */
  listen(onConnection: (socket: Socket) => void): Promise<void>;
  /** Lets waiting bytes in before the next piece of work, which holds the only thread. */
  turn(): Promise<void>;
}

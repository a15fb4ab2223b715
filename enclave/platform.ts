/**
 * Everything the enclave takes from outside its own memory: randomness, attestation documents,
 * connections, and the processes that verify for it. There is no clock but for deadlines, no environment
 * and no file here, and nothing else reaches out.
 */
import type { Socket } from "node:net";

export interface AttestationRequest {
  /** The one field a caller of the enclave chooses; absent where nobody does. */
  readonly nonce?: Uint8Array;
  readonly userData: Uint8Array;
  readonly publicKey?: Uint8Array;
}

/** A process that verifies. Both may be called when it has ended, and do nothing then. */
export interface VerifierProcess {
  send(message: Uint8Array): void;
  /** Whatever it is doing. `ended` follows. */
  kill(): void;
}

export interface VerifierEvents {
  readonly answered: (message: Uint8Array) => void;
  /** Once, for whatever reason; nothing is answered after it. */
  readonly ended: () => void;
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
  /** How many processes can work at the same time. */
  readonly processors: number;
  /** Starts a process of this image's verifier, under another user, with nothing but a stream to this one. */
  startVerifier(events: VerifierEvents): VerifierProcess;
  /** Runs `then` after so long, unless the function it returns is called before. */
  after(ms: number, then: () => void): () => void;
}

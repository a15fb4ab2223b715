/**
 * Where the program is in its life, and what it answers there. Only `booting → serving` and
 * `→ halted` exist; what the serving phase works with cannot be reached in any other.
 */
import { ZERO_ADDRESS, type Address } from "../shared/protocol/brands.ts";
import type { EnclavePhase, EnclaveRequest } from "../shared/protocol/enclave-messages.ts";
import type { Platform } from "./platform.ts";
import type { Signer } from "./signer.ts";
import type { Verifier } from "./verify.ts";

/** What each phase answers. Everything absent from a row is refused with WRONG_PHASE. */
export const ANSWERED: Readonly<Record<EnclavePhase, ReadonlySet<EnclaveRequest["type"]>>> = {
  booting: new Set(["status"]),
  serving: new Set(["status", "attestation", "attest", "attest-root"]),
  halted: new Set(["status"]),
};

export interface Tools {
  readonly platform: Platform;
  readonly signer: Signer;
  readonly verifier: Verifier;
}

export class Life {
  #phase: EnclavePhase = "booting";
  #tools: Tools | undefined;
  #signer = ZERO_ADDRESS;

  get phase(): EnclavePhase {
    return this.#phase;
  }

  /** Zero before there is a key; stays after a halt, so that the host can see whose key is gone. */
  get signer(): Address {
    return this.#signer;
  }

  /** Throws outside the serving phase: the table above lets nothing come here then. */
  get tools(): Tools {
    if (this.#tools === undefined) throw new Error("no tools outside the serving phase");
    return this.#tools;
  }

  serve(tools: Tools): void {
    if (this.#phase !== "booting") throw new Error("serving follows booting only");
    this.#phase = "serving";
    this.#tools = tools;
    this.#signer = tools.signer.address;
  }

  /** For good. Drops the only reference to the key. */
  halt(): void {
    this.#phase = "halted";
    this.#tools = undefined;
  }
}

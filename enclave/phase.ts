/**
 * The program's phase, and what it answers in each. Only `booting → serving` and `→ halted` exist, and
 * only a restored key opens the first; what a phase works with cannot be reached in any other.
 */
import { ZERO_ADDRESS, type Address } from "../shared/protocol/brands.ts";
import type { EnclavePhase, EnclaveRequest } from "../shared/protocol/enclave-messages.ts";
import type { Configuration } from "./configuration.ts";
import type { Judge } from "./judge.ts";
import type { Platform } from "./platform.ts";
import { Releases } from "./release.ts";
import type { Signer } from "./signer.ts";

/** What each phase answers. Everything absent from a row is refused with WRONG_PHASE. */
export const ANSWERED: Readonly<Record<EnclavePhase, ReadonlySet<EnclaveRequest["type"]>>> = {
  booting: new Set(["status", "genesis", "release-request", "restore"]),
  serving: new Set(["status", "attestation", "attest", "attest-root"]),
  halted: new Set(["status"]),
};

/** What boot made, and every phase but `halted` works with. */
export interface Parts {
  readonly platform: Platform;
  readonly configuration: Configuration;
  readonly judge: Judge;
}

export interface BootingParts extends Parts {
  readonly releases: Releases;
}

export interface ServingParts extends Parts {
  readonly signer: Signer;
}

/** The running program: one phase at a time, with its parts. */
export class Enclave {
  /** Public facts; they stay after a halt, so that the host can see what halted. Absent if it was unreadable. */
  readonly configuration: Configuration | undefined;
  #booting: BootingParts | undefined;
  #serving: ServingParts | undefined;
  #signer = ZERO_ADDRESS;

  /** Without parts it begins halted: its own files or its platform are not as they should be. */
  constructor(parts: Parts | undefined) {
    this.configuration = parts?.configuration;
    this.#booting = parts && { ...parts, releases: new Releases() };
  }

  get phase(): EnclavePhase {
    if (this.#booting !== undefined) return "booting";
    return this.#serving === undefined ? "halted" : "serving";
  }

  /** Zero before there is a key; stays after a halt, so that the host can see whose key is gone. */
  get signer(): Address {
    return this.#signer;
  }

  /** Throws in another phase, as the next does: the table above lets nothing come here then. */
  get booting(): BootingParts {
    if (this.#booting === undefined) throw new Error("not booting");
    return this.#booting;
  }

  get serving(): ServingParts {
    if (this.#serving === undefined) throw new Error("not serving");
    return this.#serving;
  }

  serve(signer: Signer): void {
    this.#serving = { ...this.booting, signer };
    this.#booting = undefined;
    this.#signer = signer.address;
  }

  /** Permanently. A request that is under way finds no key any more. */
  halt(): void {
    this.#serving?.signer.wipe();
    this.#booting = this.#serving = undefined;
  }
}

/**
 * What `/info` and `/health` say about the enclaves: who signs, in which phase, with which attestation
 * document. The documents are passed on, not judged: a client verifies them against its own pinned root.
 */
import type { Address, Bytes32 } from "../../../shared/protocol/brands.ts";
import type { EnclavePhase, EnclaveReply } from "../../../shared/protocol/enclave-messages.ts";
import { readMeasurements } from "./measurement.ts";
import { EnclaveUnreachable, type EnclaveLink } from "./link.ts";

export interface EnclaveDescription {
  readonly signer: Address;
  /** Whether the pool accepts this signer now. */
  readonly accepted: boolean;
  readonly configurationHash: Bytes32;
  /** As the document claims them, `PCR0` and so on, in hex. */
  readonly measurements: Readonly<Record<string, string>>;
  /** COSE_Sign1. */
  readonly document: Uint8Array;
}

export interface EnclaveDirectory {
  /** The enclaves that answer, with documents over `nonce`. */
  describe(nonce: Uint8Array): Promise<EnclaveDescription[]>;
  /** Phase by enclave in order of configuration, undefined for one that is unreachable. */
  phases(): Promise<(EnclavePhase | undefined)[]>;
  /** Hash of the circuits each one knows, in the same order; undefined for one that is unreachable. */
  circuits(): Promise<(Bytes32 | undefined)[]>;
}

type Status = Extract<EnclaveReply, { type: "status" }>;

export function createDirectory(
  links: readonly EnclaveLink[],
  isSigner: (signer: Address) => Promise<boolean>,
): EnclaveDirectory {
  async function orUnreachable<T>(question: Promise<T>): Promise<T | undefined> {
    try {
      return await question;
    } catch (error) {
      if (error instanceof EnclaveUnreachable) return undefined;
      throw error;
    }
  }

  function statuses(): Promise<(Status | undefined)[]> {
    return Promise.all(
      links.map(async (link) => {
        const reply = await orUnreachable(link.ask({ type: "status" }));
        return reply?.type === "status" ? reply : undefined;
      }),
    );
  }

  async function describeOne(link: EnclaveLink, nonce: Uint8Array): Promise<EnclaveDescription | undefined> {
    const [status, live] = await Promise.all([
      orUnreachable(link.ask({ type: "status" })),
      orUnreachable(link.ask({ type: "attestation", nonce })),
    ]);
    if (status?.type !== "status" || live?.type !== "attestation") return undefined;
    return {
      signer: status.signer,
      accepted: await isSigner(status.signer),
      configurationHash: status.configurationHash,
      measurements: readMeasurements(live.document),
      document: live.document,
    };
  }

  return {
    async describe(nonce) {
      const found = await Promise.all(links.map((link) => describeOne(link, nonce)));
      return found.filter((one) => one !== undefined);
    },
    phases: async () => (await statuses()).map((status) => status?.phase),
    circuits: async () => (await statuses()).map((status) => status?.circuitsHash),
  };
}

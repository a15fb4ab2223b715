/**
 * Whether the enclaves know the circuits that we know; asked once, at the start. One that was built for others
 * signs what the pool does not take, and would look like an enclave that is unreachable.
 */
import { mustFromHex } from "../../../shared/protocol/bytes.ts";
import { keccakHex } from "../../../shared/protocol/hash.ts";
import type { Bytes32 } from "../../../shared/protocol/brands.ts";
import { KIND_NAMES, KINDS, type Kind } from "../../../shared/protocol/statements.ts";
import type { Logger } from "../../base/logging.ts";
import type { EnclaveDirectory } from "./directory.ts";

/** As an enclave hashes its own: keccak256 over the hashes of its verification keys in order of kind id. */
export function circuitsHashOf(keyHashes: ReadonlyMap<Kind, string>): Bytes32 {
  const kinds = [...KIND_NAMES].sort((a, b) => KINDS[a].id - KINDS[b].id);
  return keccakHex(...kinds.map((kind) => mustFromHex(keyHashes.get(kind) ?? "")));
}

/** Told and not fatal: the enclaves may be exchanged while this proxy runs. Never throws, so nobody has to wait for it. */
export async function warnOfOtherCircuits(
  directory: Pick<EnclaveDirectory, "circuits">,
  expected: Bytes32,
  logger: Logger,
): Promise<void> {
  try {
    for (const [enclave, circuits] of (await directory.circuits()).entries()) {
      if (circuits === undefined) logger.warn({ enclave }, "an enclave is unreachable");
      else if (circuits !== expected) logger.error({ enclave }, "an enclave knows other circuits than we do");
    }
  } catch (error) {
    logger.error({ err: error }, "the enclaves could not be asked for their circuits");
  }
}
